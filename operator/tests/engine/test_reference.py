"""The batch execution of a whole job against plain Python: two filters, count and time windows, and a
join."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from understudy.model.job import StreamJob
from understudy.model.load import load
from understudy_lab.verify.batch_queries import reference
from understudy_lab.verify.plain import operators as oracle
from understudy_lab.verify.plain.operators import Row

from .rig import Host, run_job

pytestmark = pytest.mark.spark

JOB = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: whole}
spec:
  sources:
    - {name: a, generator: {rate: 100, limit: 700, fields: {k: "_seq % 4", v: "_seq * 3 % 17"}}}
    - {name: b, generator: {rate: 30, limit: 200, fields: {k: "_seq % 4", w: "_seq * 5 % 11"}}}
  subjobs:
    - name: counts
      inputs: [a]
      operators:
        - filter: {where: "v > 4"}
        - aggregate:
            window: {on: _seq, size: 60, slide: 25}
            groupBy: [k]
            select: {n: "count(*)", s: "sum(v)"}
    - name: seconds
      inputs: [b]
      operators: [{aggregate: {window: {on: ts, size: 2s, slide: 500ms}, select: {m: "max(w)"}}}]
    - name: pairs
      inputs: [counts, b]
      merge: eventTime
      operators: [{join: {with: b, on: "counts.k = b.k", within: 300ms}}]
  sinks:
    - {name: one, input: counts, files: {path: one}}
    - {name: two, input: seconds, files: {path: two}}
    - {name: three, input: pairs, files: {path: three}}
"""


def in_python() -> dict[str, list[Row]]:
    a = oracle.generator(100, 700, lambda n, _: {"k": n % 4, "v": n * 3 % 17})
    b = oracle.generator(30, 200, lambda n, _: {"k": n % 4, "w": n * 5 % 11})
    kept = oracle.filtered(a, lambda row: row.columns["v"] > 4)
    counts = oracle.count_windows(
        a, kept, 60, 25, ["k"], lambda rows: {"n": len(rows), "s": sum(r.columns["v"] for r in rows)}
    )
    seconds = oracle.time_windows(
        b, b, 2_000_000, 500_000, 0, [], lambda rows: {"m": max(r.columns["w"] for r in rows)}
    )
    pairs = oracle.joined(
        oracle.merged_by_event_time([counts, b]),
        lambda left, right: left.columns["k"] == right.columns["k"],
        300_000,
        lambda left, right: {**left.columns, "b_k": right.columns["k"], "w": right.columns["w"]},
    )
    return {"counts": counts, "seconds": seconds, "pairs": pairs}


def test_a_whole_job_in_batch_gives_what_plain_python_gives(spark: SparkSession, tmp_path: Path) -> None:
    job = load(JOB)
    assert isinstance(job, StreamJob)
    made = reference(spark, job, tmp_path)
    for stream, rows in in_python().items():
        assert rows, stream
        assert [_plain(row) for row in made[stream].to_pylist()] == [
            {"_seq": r.seq, **r.columns} for r in rows
        ], stream


ARRIVING = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: arriving}
spec:
  sources:
    - {name: a, generator: {rate: 10, limit: 60, fields: {v: "_seq"}}}
    - {name: b, generator: {rate: 10, limit: 40, fields: {v: "-_seq"}}}
  subjobs:
    - {name: both, inputs: [a, b], operators: [{union: {}}]}
    - name: seconds
      inputs: [both]
      operators: [{aggregate: {window: {on: ts, size: 1s}, select: {s: "sum(v)"}}}]
  sinks:
    - {name: one, input: both, files: {path: one}}
    - {name: two, input: seconds, files: {path: two}}
"""


@pytest.mark.parametrize("ahead", [None, "a", "b"])
def test_tuples_of_the_other_inputs_are_late_if_one_input_is_ahead(
    spark: SparkSession, tmp_path: Path, ahead: str | None
) -> None:
    job = load(ARRIVING)
    assert isinstance(job, StreamJob)
    a = oracle.generator(10, 60, lambda n, _: {"v": n})
    b = oracle.generator(10, 40, lambda n, _: {"v": -n})
    merged = oracle.merged_by_event_time([a, b])
    if ahead is not None:
        merged.sort(key=lambda pair: pair[0] != "ab".index(ahead))
    both = oracle.union(merged, ["v"])
    second = 1_000_000
    seconds = oracle.time_windows(
        both, both, second, second, 0, [], lambda rows: {"s": sum(r.columns["v"] for r in rows)}
    )
    made = reference(spark, job, tmp_path, ahead)
    for stream, rows in (("both", both), ("seconds", seconds)):
        assert [_plain(row) for row in made[stream].to_pylist()] == [
            {"_seq": r.seq, **r.columns} for r in rows
        ], stream


WORKED = JOB.replace('v: "_seq * 3 % 17"', 'v: "_seq * 3 % 17 / 0.7D"')


def test_the_engine_makes_what_the_batch_execution_makes_to_the_last_digit(
    host: Host, spark: SparkSession, tmp_path: Path
) -> None:
    job = load(WORKED)
    assert isinstance(job, StreamJob)
    made, meant = run_job(host, job), reference(spark, job, tmp_path)
    for stream, table in meant.items():
        assert table.num_rows, stream
        assert made[stream].select(table.column_names).to_pylist() == table.to_pylist(), stream


def _plain(row: dict[str, object]) -> dict[str, object]:
    return {k: int(v.timestamp() * 1_000_000) if hasattr(v, "timestamp") else v for k, v in row.items()}
