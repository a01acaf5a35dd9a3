"""The columns of every stream of a job, found by analysing the plans on empty frames: no process waits for
another."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from understudy.engine.compile import compile_element, raw_type, shape_of
from understudy.engine.function import declared
from understudy.engine.lane import InputKind, InputSpec
from understudy.engine.progress import is_ordered
from understudy.model.elements import Element, elements_of
from understudy.model.job import StreamJob
from understudy.model.sources import Generator, Source


def stream_schemas(spark: SparkSession, job: StreamJob) -> dict[str, pa.Schema]:
    """Stream or inner element → its payload columns."""
    return {name: spec.schema for name, spec in stream_specs(spark, job).items()}


def stream_specs(spark: SparkSession, job: StreamJob) -> dict[str, InputSpec]:
    """Stream or inner element → how a consumer sees it."""
    specs = {source.name: _source(spark, source) for source in job.sources}
    waiting = [element for subjob in job.subjobs for element in elements_of(subjob)]
    while waiting:
        ready = [e for e in waiting if all(name in specs for name in e.inputs)]
        if not ready:
            raise ValueError(f"no order for {', '.join(e.name for e in waiting)}")
        for element in ready:
            specs[element.name] = _output(spark, element, specs)
        waiting = [e for e in waiting if e not in ready]
    return specs


def inputs_of(element: Element, specs: Mapping[str, InputSpec]) -> tuple[InputSpec, ...]:
    return tuple(specs[name] for name in element.inputs)


def _output(spark: SparkSession, element: Element, specs: Mapping[str, InputSpec]) -> InputSpec:
    inputs = inputs_of(element, specs)
    empty = spark.createDataFrame([], raw_type(element, inputs))
    shape = shape_of(compile_element(element, inputs, [empty], call=declared))
    return InputSpec(element.name, InputKind.STREAM, shape.payload, ordered=is_ordered(element, inputs))


def _source(spark: SparkSession, source: Source) -> InputSpec:
    match source.origin:
        case Generator(rate=rate, fields=fields) as origin:
            frame = spark.range(0).selectExpr("id AS _seq", "timestamp_micros(id) AS ts")
            schema = frame.selectExpr(*(f"({text}\n) AS `{name}`" for name, text in fields.items())).schema
            made = tuple(fields.items())
            return InputSpec(
                source.name, InputKind.GENERATOR, _arrow(schema), rate, made, ordered=origin.ordered
            )
        case origin:
            schema = StructType.fromDDL(origin.declared.all)
            return InputSpec(source.name, InputKind.STREAM, _arrow(schema), ordered=origin.ordered)


def _arrow(schema: StructType) -> pa.Schema:
    return pa.schema([pa.field(f.name, f.type) for f in to_arrow_schema(schema, timezone="UTC")])
