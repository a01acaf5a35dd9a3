from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from understudy.engine.cells import BLOCK
from understudy_lab.verify.plain import operators as oracle
from understudy_lab.verify.plain.operators import Row

from .rig import Host, element, expected, generator_spec, plain, run, stream_spec

pytestmark = pytest.mark.spark

ECG = generator_spec(
    "ecg", 500, patient="concat('p', _seq % 20)", mv="(_seq * 7919 % 1000) / 500.0D", at="ts"
)
SELECT = {"beats": "count(*)", "total": "sum(mv)"}


def ecg(count: int) -> list[Row]:
    return oracle.generator(
        500, count, lambda n, ts: {"patient": f"p{n % 20}", "mv": n * 7919 % 1000 / 500.0, "at": ts}
    )


def totals(cell: Callable[[Row], tuple[int, ...]]) -> Callable[[list[Row]], dict[str, Any]]:
    return lambda rows: {"beats": len(rows), "total": oracle.added(rows, lambda r: r.columns["mv"], cell)}


@pytest.mark.parametrize("seed", range(2))
def test_filter_and_map_give_the_same_however_the_input_is_cut(host: Host, seed: int) -> None:
    chain = element(
        ["ecg"],
        [
            {"filter": {"where": "mv > 0.8 and _seq % 3 > 0"}},
            {"map": {"select": {"who": "patient", "x": "mv * 2"}}},
        ],
    )
    rows = oracle.filtered(ecg(500), lambda r: r.columns["mv"] > 0.8 and r.seq % 3 > 0)
    rows = oracle.mapped(rows, lambda r: {"who": r.columns["patient"], "x": r.columns["mv"] * 2})
    assert plain(run(host, chain, [ECG], {"ecg": ecg(500)}, seed).table) == expected(rows)


def test_a_sample_with_a_seed_can_be_repeated(host: Host) -> None:
    chain = element(["ecg"], [{"sample": {"fraction": 0.3, "seed": -7}}, {"map": {"select": {"n": "_seq"}}}])
    rows = oracle.mapped(oracle.sampled(ecg(500), 0.3, -7), lambda r: {"n": r.seq})
    assert 100 < len(rows) < 200
    assert plain(run(host, chain, [ECG], {"ecg": ecg(500)}).table) == expected(rows)


def test_a_sample_without_a_seed_is_what_the_plans_say(host: Host) -> None:
    chain = element(["ecg"], [{"sample": {"fraction": 0.5}}, {"map": {"select": {"n": "_seq"}}}])
    output = run(host, chain, [ECG], {"ecg": ecg(300)})
    rows: list[Row] = []
    for plan in output.plans:
        rows += oracle.sampled(ecg(300)[plan.start : plan.stop], 0.5, plan.salt)
    assert 100 < len(rows) < 200
    assert plain(output.table) == expected(oracle.mapped(rows, lambda r: {"n": r.seq}))


@pytest.mark.parametrize(("size", "slide"), [(100, 10), (50, 50), (30, 7)])
def test_count_windows_close_where_the_position_says(host: Host, size: int, slide: int) -> None:
    window = {"on": "_seq", "size": size, "slide": slide}
    chain = element(
        ["ecg"],
        [
            {"filter": {"where": "mv > 0.8"}},
            {"aggregate": {"window": window, "groupBy": ["patient"], "select": SELECT}},
        ],
    )
    kept = oracle.filtered(ecg(505), lambda r: r.columns["mv"] > 0.8)
    cells = oracle.count_cells(size, slide, BLOCK)
    rows = oracle.count_windows(ecg(505), kept, size, slide, ["patient"], totals(cells))
    assert plain(run(host, chain, [ECG], {"ecg": ecg(505)}).table) == expected(rows)


def test_operators_after_a_count_window_see_the_event_time_of_its_results(host: Host) -> None:
    chain = element(
        ["ecg"],
        [
            {"aggregate": {"window": {"on": "_seq", "size": 40, "slide": 15}, "select": SELECT}},
            {"filter": {"where": "window_start % 2 = 0"}},
            {"map": {"select": {"at": "ts", "total": "total"}}},
        ],
    )
    cells = oracle.count_cells(40, 15, BLOCK)
    rows = oracle.count_windows(ecg(200), ecg(200), 40, 15, [], totals(cells))
    rows = oracle.filtered(rows, lambda r: r.columns["window_start"] % 2 == 0)
    rows = oracle.mapped(rows, lambda r: {"at": r.ts, "total": r.columns["total"]})
    assert plain(run(host, chain, [ECG], {"ecg": ecg(200)}).table) == expected(rows)


SECOND = 1_000_000
SPEC = stream_spec("s", who=pa.string(), mv=pa.float64())


def disordered(count: int) -> list[Row]:
    """Up to 1.2 s out of order; some without an event time, some without a group."""
    rows: list[tuple[int | None, dict[str, Any]]] = []
    for n in range(count):
        ts = oracle.ORIGIN + n * 100_000 - (n * 7919 % 13) * 100_000 if n % 17 else None
        rows.append((ts, {"who": f"w{n % 3}" if n % 5 else None, "mv": n / 7}))
    return oracle.stream(rows)


@pytest.mark.parametrize(("size", "slide", "lateness"), [(1000, 1000, 0), (2000, 500, 300)])
def test_time_windows_close_by_event_time_and_drop_late_tuples(
    host: Host, size: int, slide: int, lateness: int
) -> None:
    window = {"on": "ts", "size": f"{size}ms", "slide": f"{slide}ms", "lateness": f"{lateness}ms"}
    chain = element(
        ["s"],
        [
            {"filter": {"where": "mv != 3"}},
            {"aggregate": {"window": window, "groupBy": ["who"], "select": SELECT}},
            {"map": {"select": {"who": "who", "at": "ts", "window_start": "window_start", "total": "total"}}},
        ],
    )
    whole = disordered(400)
    kept = oracle.filtered(whole, lambda r: r.columns["mv"] != 3)
    spans = size * 1000, slide * 1000, lateness * 1000
    cells = oracle.time_cells(whole, *spans, BLOCK)
    rows = oracle.time_windows(whole, kept, *spans, ["who"], totals(cells))
    rows = oracle.mapped(
        rows,
        lambda r: {
            "who": r.columns["who"],
            "at": r.columns["window_end"],
            "window_start": r.columns["window_start"],
            "total": r.columns["total"],
        },
    )
    assert len(rows) > 50
    assert plain(run(host, chain, [SPEC], {"s": whole}, most=60).table) == expected(rows)
