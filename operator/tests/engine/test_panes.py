"""Windows that are folded from partials of panes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from understudy.engine.folding import inbox_of
from understudy.engine.inbox import Inbox
from understudy.model.elements import Element
from understudy_lab.verify.plain import operators as oracle
from understudy_lab.verify.plain.operators import Row

from .rig import Host, element, expected, feed, plain, sent, stream_spec

pytestmark = pytest.mark.spark

SPEC = stream_spec("s", who=pa.string(), x=pa.float64(), d=pa.decimal128(10, 2))
MS = 1000
SPANS = {"_seq": (60, 25, 0), "ts": (400 * MS, 150 * MS, 70 * MS)}
BLOCK = 32


def disordered(count: int) -> list[Row]:
    """Up to 0.5 s out of order, more than windows wait for; some have no event time, group or value."""
    rows: list[tuple[int | None, dict[str, Any]]] = []
    for n in range(count):
        ts = oracle.ORIGIN + n * 10 * MS - (n * 7919 % 11) * 50 * MS if n % 17 else None
        columns = {"who": f"w{n % 3}" if n % 5 else None, "x": (n * 31 % 97) ** 3 / 7 if n % 7 else None}
        rows.append((ts, columns | {"d": None}))
    return oracle.stream(rows)


def windows(on: str, **select: str) -> Element:
    size, slide, lateness = SPANS[on]
    window: dict[str, Any] = {"on": on, "size": size, "slide": slide}
    if on == "ts":
        window = {"on": on, "size": f"{size}us", "slide": f"{slide}us", "lateness": f"{lateness}us"}
        window = {name: value.replace("000us", "ms") for name, value in window.items()}
    aggregate = {"window": window, "groupBy": ["who"], "select": select}
    return element(["s"], [{"filter": {"where": "x is null or x != 4"}}, {"aggregate": aggregate}])


def made(
    host: Host, chain: Element, rows: Sequence[Row], seed: int, restore: bool = False, most: int = 90
) -> pa.Table:
    """The element's output, with the input in random pieces, parts and restarts."""
    rng = random.Random(seed)
    limits = {"parallelism": rng.randint(1, 2), "part_rows": rng.randint(10, 60), "block": BLOCK}
    inbox, tables = inbox_of(host.spark, chain, [SPEC], **limits), []
    if restore:
        with host.running(inbox) as output:
            for _, _ in zip(range(5), feed(inbox, {"s": rows}, rng, most), strict=False):
                output.wait(lambda: inbox.idle)
        state, tail = sent(inbox.state()), inbox.tail("s")
        tables.append(output.table)
        inbox = inbox_of(host.spark, chain, [SPEC], **limits)
        inbox.restore(state, {"s": tail} if seed % 2 else {})
    assert inbox.in_panes
    with host.running(inbox) as output:
        for _ in feed(inbox, {"s": rows}, rng, most):
            if rng.random() < 0.3:
                output.wait(lambda: inbox.idle)
        output.wait()
    return pa.concat_tables([*tables, output.table])


def numbers(on: str, rows: Sequence[Row]) -> list[Row]:
    """Count, sum and mean of `x`, as the oracle adds them."""
    cell = oracle.count_cells(60, 25, BLOCK) if on == "_seq" else oracle.time_cells(rows, *SPANS[on], BLOCK)

    def select(members: list[Row]) -> dict[str, Any]:
        known = [r for r in members if r.columns["x"] is not None]
        total = oracle.added(known, lambda r: r.columns["x"], cell) if known else None
        mean = None if total is None else total / len(known)
        return {"n": len(members), "total": total, "mean": mean}

    kept = [row for row in rows if row.columns["x"] != 4]
    if on == "_seq":
        return oracle.count_windows(rows, kept, 60, 25, ["who"], select)
    return oracle.time_windows(rows, kept, *SPANS[on], ["who"], select)


@pytest.mark.parametrize("on", ["_seq", "ts"])
@pytest.mark.parametrize(("seed", "restore"), [(0, False), (1, True), (2, True)])
def test_results_are_the_same_to_the_last_digit_wherever_batches_end(
    host: Host, on: str, seed: int, restore: bool
) -> None:
    rows = disordered(400)
    chain = windows(on, n="count(*)", total="sum(x)", mean="avg(x)")
    meant = expected(numbers(on, rows))
    assert len(meant) > 30
    assert plain(made(host, chain, rows, seed, restore, most=40 + 300 * (seed == 2))) == meant


MERGED = {
    "n": "count(*)",
    "known": "count(x)",
    "total": "sum(x) FILTER (WHERE x > 100)",
    "cents": "sum(d)",
    "mean": "avg(cast(x AS int))",
    "range": "round(max(x) - min(x), 3)",
    "last": "max(who)",
    "many": "concat(coalesce(who, '?'), ':', count_if(x > 5000), ' of ', count(1))",
    "some": "bool_or(x > 100000) or every(x < 3)",
    "spread": "stddev(x)",
    "variance": "var_pop(x) FILTER (WHERE x < 90000)",
    "one": "stddev_samp(x) FILTER (WHERE x > 120000)",
}


@pytest.mark.parametrize("on", ["_seq", "ts"])
def test_merged_aggregates_are_what_spark_makes_of_all_rows(host: Host, on: str) -> None:
    """The two differ in the last digits of doubles only."""
    rows = disordered(300)
    chain = windows(on, **MERGED)
    folded = made(host, chain, rows, seed=4)
    inbox = Inbox(chain, [SPEC])
    with host.running(inbox) as output:
        for _ in feed(inbox, {"s": rows}, random.Random(1), 200):
            pass
        output.wait()
    assert folded.schema == output.table.schema
    assert folded.num_rows == output.table.num_rows > 30
    for mine, theirs in zip(folded.to_pylist(), output.table.to_pylist(), strict=True):
        assert {
            k: pytest.approx(v, rel=1e-12) if isinstance(v, float) else v for k, v in mine.items()
        } == theirs


@pytest.mark.parametrize(
    ("text", "in_panes"),
    [("sum(d)", True), ("avg(d)", False), ("count(DISTINCT who)", False), ("percentile(x, 0.5)", False)],
)
def test_what_cannot_be_merged_is_computed_from_the_tuples(host: Host, text: str, in_panes: bool) -> None:
    assert inbox_of(host.spark, windows("_seq", a="count(*)", b=text), [SPEC]).in_panes is in_panes
