from __future__ import annotations

import pyarrow as pa
import pytest

from understudy.engine.sql import rewritten
from understudy_lab.verify.plain import operators as oracle
from understudy_lab.verify.plain.operators import Row

from .rig import Host, element, expected, plain, run, stream_spec

INPUTS = {"beats": ["a", "xs"], "other": ["b", "ts"]}


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        (
            "select a from beats where ts > '2026'",
            "SELECT a, _row FROM _input0 AS `beats` WHERE _row._ts > '2026'",
        ),
        ("select *, ts from beats", "SELECT * EXCEPT (_row), _row._ts AS ts, _row FROM _input0 AS `beats`"),
        ("select o.* , o.ts t from other o", "SELECT o.* EXCEPT (_row), o.ts AS t, _row FROM _input1 AS `o`"),
        ("select b._seq from beats b", "SELECT `b`._row._seq AS _seq, _row FROM _input0 AS `b`"),
        (
            "select a from beats union all select b from other",
            "SELECT a, _row FROM _input0 AS `beats` UNION ALL SELECT b, _row FROM _input1 AS `other`",
        ),
        (
            "with q as (select a, ts from beats) select ts from q",
            "WITH q AS (SELECT a, _row._ts AS ts, _row FROM _input0 AS `beats`) SELECT ts, _row FROM q",
        ),
        (
            "select t from (select ts as t from beats) as z",
            "SELECT t, _row FROM (SELECT _row._ts AS t, _row FROM _input0 AS `beats`) AS z",
        ),
    ],
)
def test_every_select_passes_on_the_origin_of_its_rows(text: str, becomes: str) -> None:
    assert rewritten(text, INPUTS) == becomes


@pytest.mark.spark
def test_exploded_rows_keep_the_order_of_their_row_and_of_the_array(host: Host) -> None:
    spec = stream_spec("beats", a=pa.int64(), xs=pa.list_(pa.int64()))
    rows = oracle.stream(
        (n * 1000, {"a": n, "xs": [n * 31 % 7 - i for i in range(n % 4)]}) for n in range(200)
    )
    chain = element(
        ["beats"], [{"sql": "select a, x, ts as at, _seq as n from beats lateral view explode(xs) t as x"}]
    )
    exploded = [
        Row(0, row.ts, {"a": row.columns["a"], "x": x, "at": row.ts, "n": row.seq})
        for row in rows
        for x in row.columns["xs"]
    ]
    assert plain(run(host, chain, [spec], {"beats": rows}).table) == expected(exploded)
