from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from understudy.engine.lane import TIMESTAMP, InputKind
from understudy.engine.schemas import stream_schemas, stream_specs
from understudy.model.job import StreamJob
from understudy.model.load import load

pytestmark = pytest.mark.spark

JOB = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: whole}
spec:
  sources:
    - {name: ecg, generator: {rate: 100, fields: {patient: "concat('p', _seq % 4)", mv: "sin(_seq)", at: ts}}}
    - {name: log, files: {path: log, schema: "patient string, sys int, ts timestamp"}}
  subjobs:
    - name: alerts
      inputs: [beats, log]
      operators: [{join: {with: log, on: "beats.patient = log.patient", within: 300ms}}]
    - name: beats
      inputs: [ecg]
      operators:
        - aggregate:
            window: {on: ts, size: 2s}
            groupBy: [patient]
            select: {n: "count(*)", peak: "max(mv)"}
        - aggregate:
            window: {on: _seq, size: 10}
            groupBy: [patient]
            select: {most: "max(n)"}
  sinks: [{name: out, input: alerts, files: {path: out}}]
"""


def test_the_columns_of_every_stream_are_known_without_running_anything(spark: SparkSession) -> None:
    job = load(JOB)
    assert isinstance(job, StreamJob)
    count = pa.field("window_start", pa.int64()), pa.field("window_end", pa.int64())
    span = pa.field("window_start", TIMESTAMP), pa.field("window_end", TIMESTAMP)
    patient, most = pa.field("patient", pa.string()), pa.field("most", pa.int64())
    assert stream_schemas(spark, job) == {
        "ecg": pa.schema([patient, pa.field("mv", pa.float64()), pa.field("at", TIMESTAMP)]),
        "log": pa.schema([patient, pa.field("sys", pa.int32()), pa.field("ts", TIMESTAMP)]),
        "beats.1": pa.schema([patient, *span, pa.field("n", pa.int64()), pa.field("peak", pa.float64())]),
        "beats": pa.schema([patient, *count, most]),
        "alerts": pa.schema(
            [
                patient,
                *count,
                most,
                pa.field("log_patient", pa.string()),
                pa.field("sys", pa.int32()),
                pa.field("ts", TIMESTAMP),
            ]
        ),
    }
    specs = stream_specs(spark, job)
    assert {name: spec.kind for name, spec in specs.items() if spec.kind is not InputKind.STREAM} == {
        "ecg": InputKind.GENERATOR
    }
    assert {name for name, spec in specs.items() if spec.ordered} == {"ecg", "beats.1", "beats"}
