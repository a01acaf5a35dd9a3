from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from understudy.engine.function import Unsuited
from understudy.engine.schemas import stream_schemas
from understudy.model.job import StreamJob
from understudy.model.load import load
from understudy_lab.verify.batch_queries import reference
from understudy_lab.verify.plain import operators as oracle
from understudy_lab.verify.plain.operators import Row

from .rig import Host, element, expected, plain, run, run_job, stream_spec

pytestmark = pytest.mark.spark

SPEC = stream_spec("beats", a=pa.int64(), xs=pa.list_(pa.int64()))
ROWS = oracle.stream(
    (n * 1000, {"a": n * 31 % 101, "xs": [n % 7 - i for i in range(n % 4)]}) for n in range(300)
)


def made_by(
    host: Host, function: str, schema: str | None, *more: dict[str, object]
) -> list[tuple[int | None, object]]:
    named = {"function": f"tests.engine.functions:{function}"} | ({"schema": schema} if schema else {})
    chain = element(["beats"], [{"python": named}, *more])
    return list(plain(run(host, chain, [SPEC], {"beats": ROWS}).table))


def test_rows_of_rows_come_out_in_the_order_of_the_stream_however_it_is_cut(host: Host) -> None:
    scored = [
        Row(0, row.ts, {"grade": f"grade {a % 3}", "a": a, "n": row.seq * 2})
        for row in ROWS
        if (a := row.columns["a"]) % 5
    ]
    assert made_by(host, "scored", "grade string, a bigint, n bigint") == expected(scored)
    several = [Row(0, row.ts, {"a": row.columns["a"], "x": x}) for row in ROWS for x in row.columns["xs"]]
    assert made_by(host, "spread", "a bigint, x bigint") == expected(several)


def test_arrow_may_work_on_the_rows_and_operators_may_follow(host: Host) -> None:
    doubled = [Row(0, row.ts, {"a": row.columns["a"] * 2}) for row in ROWS if row.columns["a"] > 20]
    assert made_by(host, "in_arrow", "a bigint", {"filter": {"where": "a > 40"}}) == expected(doubled)


@pytest.mark.parametrize(
    ("function", "schema", "why"),
    [
        ("forgets_where_rows_came_from", "a bigint", "hand on the column _row"),
        ("counts", "a bigint", "more than rows of rows (Aggregate)"),
        ("sorts", None, "more than rows of rows (Sort)"),
        ("deals_out", None, "more than rows of rows (Repartition)"),
        ("gives_nothing", None, "NoneType instead of a DataFrame"),
        ("gives_text", None, "gave a as string instead of bigint"),
        ("scored", "mark string", "gave no column mark"),
        ("missing", None, "has no function missing"),
    ],
)
def test_a_function_that_does_not_work_row_by_row_is_refused(
    host: Host, function: str, schema: str | None, why: str
) -> None:
    with pytest.raises(Unsuited) as refused:
        made_by(host, function, schema)
    assert why in str(refused.value)


def test_a_module_that_is_not_there_is_named(host: Host) -> None:
    chain = element(["beats"], [{"python": {"function": "nowhere:at_all"}}])
    with pytest.raises(Unsuited, match="there is no module nowhere"):
        run(host, chain, [SPEC], {"beats": ROWS})


JOB = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: calls}
spec:
  sources: [{name: beats, generator: {rate: 100, limit: 700, fields: {a: "_seq * 31 % 101"}}}]
  subjobs:
    - name: graded
      inputs: [beats]
      operators: [{python: {function: "FUNCTION", schema: "grade string, a bigint", deterministic: true}}]
    - name: counted
      inputs: [graded]
      operators:
        - aggregate: {window: {on: _seq, size: 20, slide: 10}, groupBy: [grade], select: {total: "sum(a)"}}
  sinks: [{name: end, input: counted, files: {path: out}}]
"""


def calling(function: str) -> StreamJob:
    job = load(JOB.replace("FUNCTION", function))
    assert isinstance(job, StreamJob)
    return job


def test_the_engine_makes_what_the_batch_execution_makes(
    host: Host, spark: SparkSession, tmp_path: Path
) -> None:
    job = calling("tests.engine.functions:scored")
    meant = reference(spark, job, tmp_path)["counted"]
    assert meant.num_rows > 100
    assert run_job(host, job)["counted"].select(meant.column_names).to_pylist() == meant.to_pylist()


def test_a_reader_of_the_stream_does_not_need_the_function(spark: SparkSession) -> None:
    columns = stream_schemas(spark, calling("nowhere:at_all"))["graded"]
    assert columns == pa.schema([("grade", pa.string()), ("a", pa.int64())])
