from __future__ import annotations

import pytest

from understudy.model.network import columns, consumers, find_cycle, in_order, producers, walk
from understudy.model.query import analyse

from .manifests import job, manifest, subjob

CHAIN = """
- {name: c, inputs: [b], operators: [{filter: {where: "mv > 1"}}]}
- {name: b, inputs: [a, ecg], operators: [{union: {}}]}
- {name: a, inputs: [ecg], operators: [{filter: {where: "mv > 1"}}]}
"""


def test_subjobs_come_after_those_they_read() -> None:
    assert [subjob.name for subjob in in_order(job(manifest(subjobs=CHAIN, sinks="[]")))] == ["a", "b", "c"]


def test_the_readers_of_a_stream_are_subjobs_and_sinks() -> None:
    one = job(manifest(subjobs=CHAIN, sinks="- {name: out, input: a, console: {}}"))
    assert [reader.name for reader in consumers(one, "ecg")] == ["b", "a"]
    assert [reader.name for reader in consumers(one, "a")] == ["b", "out"]
    assert producers(one)["b"] == ("a", "ecg")


def test_a_ring_is_found_and_has_no_order() -> None:
    ring = job(manifest(subjobs=CHAIN.replace("name: a, inputs: [ecg]", "name: a, inputs: [c]"), sinks="[]"))
    assert set(find_cycle(ring)) == {"a", "b", "c"}
    assert in_order(ring) == ()


@pytest.mark.parametrize(
    ("operators", "inputs", "names"),
    [
        ('[{filter: {where: "mv > 1"}}]', "[ecg]", "patient mv ts"),
        ("[{sample: {fraction: 0.5}}]", "[ecg]", "patient mv ts"),
        ('[{map: {select: {p: patient, k: "_seq"}}}]', "[ecg]", "p k"),
        (
            '[{aggregate: {window: {on: _seq, size: 1}, groupBy: [patient], select: {n: "count(*)"}}}]',
            "[ecg]",
            "patient window_start window_end n",
        ),
        (
            '[{aggregate: {window: {on: ts, size: 1s}, select: {n: "count(*)"}}}]',
            "[ecg]",
            "window_start window_end n",
        ),
        (
            '[{join: {with: pressure, on: "ecg.patient = pressure.patient", within: 1s}}]',
            "[ecg, pressure]",
            "patient mv ts pressure_patient sys pressure_ts",
        ),
        (
            '[{join: {with: pressure, on: "true", within: 1s, select: {a: mv, b: sys}}}]',
            "[ecg, pressure]",
            "a b",
        ),
        ('[{sql: "select *, mv * 2 as twice from ecg"}]', "[ecg]", "patient mv ts twice"),
        (
            '[{filter: {where: "mv > 1"}}, {sql: "select mv as x from ecg"}, {filter: {where: "x > 1"}}]',
            "[ecg]",
            "x",
        ),
        (
            '[{sql: "select patient from ecg union all select patient from pressure"}]',
            "[ecg, pressure]",
            "patient",
        ),
        ('[{sql: "select patient from log"}]', "[log]", "patient"),
    ],
)
def test_the_columns_of_a_stream_are_known_without_spark(operators: str, inputs: str, names: str) -> None:
    assert columns(job(subjob(operators, inputs)))["beats"] == tuple(names.split())


def test_inner_elements_have_columns_too() -> None:
    count = '{aggregate: {window: {on: _seq, size: 1}, groupBy: [patient], select: {n: "count(*)"}}}'
    again = '{aggregate: {window: {on: _seq, size: 1}, select: {most: "max(n)"}}}'
    found = columns(job(subjob(f"[{count}, {again}]")))
    assert found["beats.1"] == ("patient", "window_start", "window_end", "n")
    assert found["beats"] == ("window_start", "window_end", "most")


def test_event_time_follows_the_streams() -> None:
    one = job(subjob('[{sql: "select patient from ecg union all select patient from log"}]', "[ecg, log]"))
    assert walk(one).event_time == {"ecg": True, "pressure": True, "log": False, "beats": False}


TABLES = {"a": ("x", "y", "arr"), "b": ("x", "z")}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("select x, Y from a", "x Y"),
        ("select A.x from a", "x"),
        ("from a select x", "x"),
        ("select t.x from a as t where t._seq > 1 and ts is not null", "x"),
        ("select * except (arr) from a", "x y"),
        ("select x, e from a lateral view explode(arr) t as e", "x e"),
        ("select x, t.e from a lateral view outer posexplode(arr) t as i, e", "x e"),
        ("select posexplode(arr) as (i, e) from a", "i e"),
        ("select case when x > 1 then 'a' else 'b' end as kind from a", "kind"),
        ("with t as (select x, y as w from a) select * from t", "x w"),
        ("select x from (select x from a where y > 1) t", "x"),
        ("select x as p, p + 1 as q from a", "p q"),
        ("select transform(arr, v -> v.f + x) as more from a", "more"),
        ("select named_struct('f', x).f as f from a", "f"),
        ("select arr[0].f as f from a", "f"),
        ("select _seq as n, ts from a", "n ts"),
    ],
)
def test_a_query_that_makes_rows_of_rows_is_read(query: str, names: str) -> None:
    found = analyse(query, {"a": TABLES["a"]})
    assert found.faults == []
    assert found.columns == tuple(names.split())


@pytest.mark.parametrize(
    "query",
    [
        "select x from a union select x from b",
        "select x from a intersect select x from b",
        "select x from a where x in (select x from b)",
        "select x from a where exists (select 1 from b)",
        "select (select max(x) from b) as m from a",
        "select x from a, b",
        "select x from a tablesample (10 rows)",
        "select x from a having x > 1",
        "select sum(x) as s from a",
        "select x from a cluster by x",
        "select x from a offset 3",
        "select x from range(10)",
        "select 1 as one",
        "select x from db.a",
        "select _seq from (select x from a) t",
        "select x from a union all select x, z from b",
        "values (1)",
        "table a",
        "insert into a select 1",
        "select window(ts, '10 seconds') as w from a",
        "select nope(x) as n from a",
        "select arr[0].f from a",
    ],
)
def test_a_query_that_would_need_more_than_rows_is_refused(query: str) -> None:
    assert analyse(query, TABLES).faults
