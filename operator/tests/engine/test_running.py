"""What happens to a running query: restored in the middle, warmed_up, given more than one task can take,
failing."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from understudy.engine.cells import BLOCK
from understudy.engine.folding import inbox_of
from understudy.engine.inbox import Inbox
from understudy_lab.verify.plain import operators as oracle
from understudy_lab.verify.plain.operators import Row

from .rig import Host, element, expected, feed, generator_spec, plain, run, sent, stream_spec, table_of

pytestmark = pytest.mark.spark

MS = 1000
SPEC = stream_spec("s", who=pa.string(), x=pa.float64())
OTHER = generator_spec("g", 100, who="concat('w', _seq % 3)", y="_seq")
WINDOWS = element(
    ["s"],
    [
        {
            "aggregate": {
                "window": {"on": "_seq", "size": 50, "slide": 20},
                "groupBy": ["who"],
                "select": {"n": "count(*)", "total": "sum(x)"},
            }
        }
    ],
)
JOINED = element(["s", "g"], [{"join": {"with": "g", "on": "s.who = g.who", "within": "50ms"}}], "eventTime")


def stream(count: int) -> list[Row]:
    return oracle.stream(
        (oracle.ORIGIN + (n * 10 - n * 13 % 5 * 7) * MS, {"who": f"w{n % 3}", "x": n / 7})
        for n in range(count)
    )


def totals(rows: list[Row]) -> dict[str, Any]:
    cell = oracle.count_cells(50, 20, BLOCK)
    return {"n": len(rows), "total": oracle.added(rows, lambda r: r.columns["x"], cell)}


STREAMS = {"s": stream(400), "g": oracle.generator(100, 400, lambda n, _: {"who": f"w{n % 3}", "y": n})}


@pytest.mark.parametrize("chain", [WINDOWS, JOINED], ids=["windows", "join"])
@pytest.mark.parametrize("with_tails", [True, False], ids=["tails shipped", "tails replayed"])
def test_another_query_goes_on_where_the_first_one_stopped(host: Host, chain: Any, with_tails: bool) -> None:
    specs = [{"s": SPEC, "g": OTHER}[name] for name in chain.inputs]
    streams = {name: STREAMS[name] for name in chain.inputs}
    whole = run(host, chain, specs, streams).table
    first, rng = inbox_of(host.spark, chain, specs), random.Random(3)
    with host.running(first) as before:
        for _, _ in zip(range(3), feed(first, streams, rng, 80), strict=False):
            before.wait(lambda: first.idle)
    state = sent(first.state())
    second = inbox_of(host.spark, chain, specs)
    second.restore(state, {name: first.tail(name) for name in streams} if with_tails else {})
    with host.running(second) as after:
        for _ in feed(second, streams, rng, 80):
            pass
        after.wait()
    assert 0 < before.table.num_rows < whole.num_rows
    assert pa.concat_tables([before.table, after.table]).equals(whole)


def test_the_output_of_a_warm_up_is_thrown_away(host: Host) -> None:
    inbox = inbox_of(host.spark, WINDOWS, [SPEC], parallelism=2)
    with host.running(inbox) as output:
        inbox.warm_up()
        output.wait(lambda: inbox.wait_warmed_up(0))
        assert inbox.last_done == 2, "once in one task, once in two"
        assert output.tables == []
        for _ in feed(inbox, {"s": STREAMS["s"]}, random.Random(1), 200):
            pass
        output.wait()
    rows = oracle.count_windows(STREAMS["s"], STREAMS["s"], 50, 20, ["who"], totals)
    assert plain(output.table) == expected(rows)


def test_after_a_loss_windows_hold_the_tuples_after_it(host: Host) -> None:
    rows, lost = STREAMS["s"], range(130, 247)
    inbox = inbox_of(host.spark, WINDOWS, [SPEC])
    with host.running(inbox) as output:
        inbox.offer("s", table_of(SPEC, rows[: lost.start]))
        output.wait(lambda: inbox.idle)
        inbox.skip("s", lost.stop)
        inbox.offer("s", table_of(SPEC, rows[lost.stop :]))
        inbox.end("s", len(rows))
        output.wait()
    before = oracle.count_windows(rows[: lost.start], rows, 50, 20, ["who"], totals)
    known = [replace(row, ts=None) for row in rows[: lost.stop]] + rows[lost.stop :]
    after = oracle.count_windows(known, rows[lost.stop :], 50, 20, ["who"], totals)
    assert before
    assert after
    assert plain(output.table) == expected([*before, *after])


@pytest.mark.parametrize("chain", [WINDOWS, JOINED], ids=["windows", "join"])
def test_parts_computed_in_parallel_give_the_same(host: Host, chain: Any) -> None:
    specs = [{"s": SPEC, "g": OTHER}[name] for name in chain.inputs]
    streams = {name: STREAMS[name] for name in chain.inputs}
    whole = run(host, chain, specs, streams).table
    inbox = inbox_of(host.spark, chain, specs, parallelism=2, part_rows=50)
    with host.running(inbox) as output:
        for _ in feed(inbox, streams, random.Random(1), 400):
            pass
        output.wait()
    assert any(len(plan.parts) > 1 for plan in output.plans)
    assert output.table.equals(whole)


@pytest.mark.parametrize(
    ("neighbour", "cell"),
    [("max(who)", oracle.count_cells(600, 150, BLOCK)), ("percentile(x, 0.5)", lambda _: ())],
    ids=["a string, in panes", "an object, without panes"],
)
def test_doubles_are_added_in_the_order_of_the_stream_whatever_else_is_aggregated(
    host: Host, neighbour: str, cell: Callable[[Row], tuple[int, ...]]
) -> None:
    """Spark sorts where a buffer holds strings, and left to itself gives up hashing objects after 128
    groups."""
    select = {"total": "sum(x)", "mean": "avg(1000 * x)", "neighbour": neighbour}
    window = {"on": "_seq", "size": 600, "slide": 150}
    chain = element(["s"], [{"aggregate": {"window": window, "groupBy": ["g"], "select": select}}])
    spec = stream_spec("s", who=pa.string(), g=pa.int64(), x=pa.float64())
    rows = oracle.stream(
        (oracle.ORIGIN + n * MS, {"who": f"w{n % 7}", "g": n * 7919 % 150, "x": (n * 31 % 97) ** 3 / 7})
        for n in range(3000)
    )

    def sums(members: list[Row]) -> dict[str, Any]:
        total = oracle.added(members, lambda r: r.columns["x"], cell)
        scaled = oracle.added(members, lambda r: 1000 * r.columns["x"], cell)
        return {"total": total, "mean": scaled / len(members)}

    inbox = inbox_of(host.spark, chain, [spec], parallelism=2, part_rows=500)
    with host.running(inbox) as output:
        for _ in feed(inbox, {"s": rows}, random.Random(2), 1500):
            pass
        output.wait()
    meant = oracle.count_windows(rows, rows, 600, 150, ["g"], sums)
    assert plain(output.table.drop(["neighbour"])) == expected(meant)


def test_a_failing_expression_ends_the_query_with_its_reason(host: Host) -> None:
    chain = element(["g"], [{"map": {"select": {"z": "1 / (y - 5)"}}}])
    inbox = Inbox(chain, [OTHER])
    with host.running(inbox) as output:
        inbox.advance("g", 10)
        deadline = time.monotonic() + 60
        while (why := output.query.failed()) is None and time.monotonic() < deadline:
            time.sleep(0.05)
    assert why is not None
    assert "DIVIDE_BY_ZERO" in why


def test_a_query_whose_helper_starts_too_slowly_is_started_again(host: Host) -> None:
    """Spark waits ten seconds for the interpreter that serves a streaming source; on a busy machine that may
    pass."""
    interpreter = Path(os.environ["PYSPARK_PYTHON"])
    quick, late = interpreter.read_text(), interpreter.with_name("late")
    interpreter.write_text(quick.replace("\n", f"\nmkdir {late} 2>/dev/null && sleep 12\n", 1))
    try:
        output = run(host, element(["g"], [{"filter": {"where": "y > 3"}}]), [OTHER], {"g": STREAMS["g"]})
    finally:
        interpreter.write_text(quick)
    assert late.exists()
    assert output.table.num_rows == 396


def test_a_query_stops_at_once(host: Host) -> None:
    inbox = Inbox(element(["g"], [{"filter": {"where": "y > 3"}}]), [OTHER])
    with host.running(inbox) as output:
        inbox.advance("g", 10)
        output.wait(lambda: inbox.idle)
        time.sleep(0.3)
        began = time.monotonic()
    assert time.monotonic() - began < 1.5
    assert output.table.num_rows == 6
