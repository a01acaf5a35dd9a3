from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from understudy_lab.verify.plain import operators as oracle
from understudy_lab.verify.plain.operators import Row

from .rig import Host, element, expected, generator_spec, plain, run, stream_spec

pytestmark = pytest.mark.spark

BEATS = stream_spec("beats", patient=pa.string(), peak=pa.float64())
PRESSURE = generator_spec("pressure", 50, patient="concat('p', _seq % 4)", sys="cast(100 + _seq % 40 AS int)")
MS = 1000


def beats(count: int) -> list[Row]:
    """Every 10 ms, up to 50 ms out of order."""
    rows: list[tuple[int | None, dict[str, Any]]] = [
        (oracle.ORIGIN + (n * 10 - n * 31 % 6 * 10) * MS, {"patient": f"p{n % 7}", "peak": n / 3})
        for n in range(count)
    ]
    return oracle.stream(rows)


def pressure(count: int) -> list[Row]:
    return oracle.generator(50, count, lambda n, _: {"patient": f"p{n % 4}", "sys": 100 + n % 40})


STREAMS = {"beats": beats(300), "pressure": pressure(150)}


def merged_as(output: Any) -> list[tuple[int, Row]]:
    """The order in which the inbox took the tuples."""
    streams = list(STREAMS.values())
    runs = [run for plan in output.plans for run in plan.runs]
    return [(run.place, streams[run.place][seq]) for run in runs for seq in range(run.start, run.stop)]


def pairs(merged: list[tuple[int, Row]], within: int) -> list[Row]:
    return oracle.joined(
        merged,
        lambda left, right: left.columns["patient"] == right.columns["patient"],
        within * MS,
        lambda left, right: {
            "patient": left.columns["patient"],
            "peak": left.columns["peak"],
            "pressure_patient": right.columns["patient"],
            "sys": right.columns["sys"],
        },
    )


@pytest.mark.parametrize("merge", ["eventTime", "arrival"])
def test_a_join_gives_each_pair_once_in_the_order_of_the_later(host: Host, merge: str) -> None:
    chain = element(
        ["beats", "pressure"],
        [{"join": {"with": "pressure", "on": "beats.patient = pressure.patient", "within": "60ms"}}],
        merge,
    )
    output = run(host, chain, [BEATS, PRESSURE], STREAMS, seed=1, most=60)
    merged = merged_as(output)
    assert len(merged) == 450
    if merge == "eventTime":
        assert merged == oracle.merged_by_event_time(list(STREAMS.values()))
    rows = pairs(merged, 60)
    assert len(rows) > 100
    assert plain(output.table) == expected(rows)


def test_a_join_takes_any_condition_and_chosen_columns(host: Host) -> None:
    chain = element(
        ["beats", "pressure"],
        [
            {"filter": {"where": "_seq % 2 = 0"}},
            {
                "join": {
                    "with": "pressure",
                    "on": "beats.peak > pressure.sys - 70",
                    "within": "30ms",
                    "select": {"a": "beats.peak", "b": "pressure.sys", "apart": "beats.ts > pressure.ts"},
                }
            },
            {"filter": {"where": "a < 90"}},
            {"map": {"select": {"a": "a", "b": "b", "apart": "apart", "at": "ts"}}},
        ],
        "eventTime",
    )
    # the filter before the join drops tuples, but they still move the left stream's event time
    rows = oracle.joined(
        oracle.merged_by_event_time(list(STREAMS.values())),
        lambda left, right: left.seq % 2 == 0 and left.columns["peak"] > right.columns["sys"] - 70,
        30 * MS,
        lambda left, right: {
            "a": left.columns["peak"],
            "b": right.columns["sys"],
            "apart": (left.ts or 0) > (right.ts or 0),
        },
    )
    rows = oracle.filtered(rows, lambda r: r.columns["a"] < 90)
    rows = oracle.mapped(rows, lambda r: r.columns | {"at": r.ts})
    assert len(rows) > 50
    assert plain(run(host, chain, [BEATS, PRESSURE], STREAMS, seed=2).table) == expected(rows)


@pytest.mark.parametrize("merge", ["eventTime", "arrival"])
def test_a_union_renumbers_and_windows_count_merged_places(host: Host, merge: str) -> None:
    chain = element(
        ["beats", "pressure"],
        [
            {"union": {}},
            {"filter": {"where": "_seq % 3 != 1"}},
            {
                "aggregate": {
                    "window": {"on": "_seq", "size": 40, "slide": 25},
                    "groupBy": ["patient"],
                    "select": {
                        "n": "count(*)",
                        "first": "first(_seq)",
                        "total": "sum(peak)",
                        "sys": "max(sys)",
                    },
                }
            },
        ],
        merge,
    )
    output = run(host, chain, [BEATS, PRESSURE], STREAMS, seed=3, most=60)
    whole = oracle.union(
        merged_as(output) if merge == "arrival" else oracle.merged_by_event_time(list(STREAMS.values())),
        ["patient", "peak", "sys"],
    )

    def select(rows: list[Row]) -> dict[str, Any]:
        peaks = [r.columns["peak"] for r in rows if r.columns["peak"] is not None]
        total = None
        for peak in peaks:
            total = peak if total is None else total + peak
        pressures = [r.columns["sys"] for r in rows if r.columns["sys"] is not None]
        return {"n": len(rows), "first": rows[0].seq, "total": total, "sys": max(pressures, default=None)}

    kept = oracle.filtered(whole, lambda r: r.seq % 3 != 1)
    assert plain(output.table) == expected(oracle.count_windows(whole, kept, 40, 25, ["patient"], select))


def test_time_windows_over_a_union(host: Host) -> None:
    window = {"on": "ts", "size": "200ms", "slide": "100ms", "lateness": "20ms"}
    chain = element(
        ["beats", "pressure"],
        [{"union": {}}, {"aggregate": {"window": window, "select": {"n": "count(*)"}}}],
        "eventTime",
    )
    whole = oracle.union(oracle.merged_by_event_time(list(STREAMS.values())), ["patient", "peak", "sys"])
    rows = oracle.time_windows(
        whole, whole, 200 * MS, 100 * MS, 20 * MS, [], lambda members: {"n": len(members)}
    )
    assert len(rows) > 20
    assert plain(run(host, chain, [BEATS, PRESSURE], STREAMS, seed=4).table) == expected(rows)


def test_sql_over_several_inputs(host: Host) -> None:
    text = """
        select patient, _seq as n, 'beat' as kind from beats where peak > 20
        union all
        select patient, _seq, 'pressure' from pressure where ts > timestamp'2026-01-01 00:00:01'
    """
    chain = element(["beats", "pressure"], [{"sql": text}, {"filter": {"where": "_seq >= 100"}}], "eventTime")
    merged = oracle.merged_by_event_time(list(STREAMS.values()))
    rows = []
    for place, (input_place, row) in enumerate(merged):
        passes = row.columns["peak"] > 20 if input_place == 0 else (row.ts or 0) > oracle.ORIGIN + 1000 * MS
        if passes and place >= 100:
            kind = ("beat", "pressure")[input_place]
            rows.append(Row(place, row.ts, {"patient": row.columns["patient"], "n": row.seq, "kind": kind}))
    assert len(rows) > 100
    assert plain(run(host, chain, [BEATS, PRESSURE], STREAMS, seed=5).table) == expected(rows)
