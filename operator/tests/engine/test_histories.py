"""Results are a function of the tuples, not of how they arrive, are cut into plans, or are restored in
between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.engine.inbox import Inbox
from understudy.engine.plan import Choice
from understudy_lab.verify.plain import operators as oracle
from understudy_lab.verify.plain.operators import Row

from .player import JOIN, ROW_WISE, UNION, Player, compute, count_window, numbered, spec_of, time_window
from .rig import element, table_of

MS = 1000
TIME = st.one_of(st.integers(0, 60).map(lambda n: n * MS), st.none())
STREAM = st.lists(TIME, max_size=40)
IN_ORDER = st.lists(st.integers(0, 60).map(lambda n: n * MS), max_size=40).map(sorted)
SEED = st.integers(0, 2**32)
SPANS = st.integers(1, 20).flatmap(lambda size: st.tuples(st.just(size), st.integers(1, size)))


def members(rows: Sequence[Row]) -> dict[str, Any]:
    return {"ids": [row.columns["id"] for row in rows]}


def marked(rows: Sequence[Row], place: int = 0) -> list[Row]:
    return [Row(r.seq, r.ts, {"id": (place, r.seq), "x": place}) for r in rows]


def flat(rows: Sequence[Row]) -> list[Any]:
    return [(row.ts, *row.columns["ids"]) for row in rows]


@settings(max_examples=50, deadline=None)
@given(STREAM, SEED)
def test_each_row_passes_once_and_in_order(times: list[int | None], seed: int) -> None:
    rows = numbered(times, 0)
    player = Player(element(["a"], ROW_WISE), {"a": rows}, seed)
    assert player.play() == [(row.ts, (0, row.seq)) for row in rows]


@settings(max_examples=50, deadline=None)
@given(STREAM, SPANS, SEED)
def test_count_windows(times: list[int | None], span: tuple[int, int], seed: int) -> None:
    rows = marked(numbered(times, 0))
    player = Player(element(["a"], count_window(*span)), {"a": rows}, seed)
    assert player.play() == flat(oracle.count_windows(rows, rows, *span, [], members))


@settings(max_examples=50, deadline=None)
@given(STREAM, SPANS, st.integers(0, 10), SEED)
def test_time_windows_with_late_tuples(
    times: list[int | None], span: tuple[int, int], lateness: int, seed: int
) -> None:
    rows = marked(numbered(times, 0))
    player = Player(element(["a"], time_window(*span, lateness)), {"a": rows}, seed)
    size, slide = (n * MS for n in span)
    assert player.play() == flat(oracle.time_windows(rows, rows, size, slide, lateness * MS, [], members))


@settings(max_examples=50, deadline=None)
@given(STREAM, STREAM, SEED)
def test_a_join_merged_by_event_time(left: list[int | None], right: list[int | None], seed: int) -> None:
    inputs = [marked(numbered(left, 0), 0), marked(numbered(right, 1), 1)]
    player = Player(element(["a", "b"], JOIN, "eventTime"), {"a": inputs[0], "b": inputs[1]}, seed)
    merged = oracle.merged_by_event_time(inputs)
    pairs = oracle.joined(
        merged, lambda *_: True, 10 * MS, lambda a, b: {"ids": [a.columns["id"], b.columns["id"]]}
    )
    assert player.play() == flat(pairs)


@settings(max_examples=50, deadline=None)
@given(STREAM, STREAM, SEED)
def test_a_join_in_the_order_of_arrival(left: list[int | None], right: list[int | None], seed: int) -> None:
    inputs = [marked(numbered(left, 0), 0), marked(numbered(right, 1), 1)]
    player = Player(element(["a", "b"], JOIN, "arrival"), {"a": inputs[0], "b": inputs[1]}, seed)
    results = player.play()
    merged = [(place, inputs[place][seq]) for place, seq in player.arrivals]
    pairs = oracle.joined(
        merged, lambda *_: True, 10 * MS, lambda a, b: {"ids": [a.columns["id"], b.columns["id"]]}
    )
    assert results == flat(pairs)


@settings(max_examples=50, deadline=None)
@given(STREAM, STREAM, SPANS, st.sampled_from(["arrival", "eventTime"]), SEED)
def test_count_windows_over_a_union(
    left: list[int | None], right: list[int | None], span: tuple[int, int], merge: str, seed: int
) -> None:
    inputs = [marked(numbered(left, 0), 0), marked(numbered(right, 1), 1)]
    player = Player(
        element(["a", "b"], UNION + count_window(*span), merge), {"a": inputs[0], "b": inputs[1]}, seed
    )
    results = player.play()
    whole = oracle.renumbered(inputs[place][seq] for place, seq in player.arrivals)
    if merge == "eventTime":
        everything = [row for _, row in oracle.merged_by_event_time(inputs)]
        assert [row.columns for row in whole] == [row.columns for row in everything[: len(whole)]]
    assert results == flat(oracle.count_windows(whole, whole, *span, [], members))


@settings(max_examples=50, deadline=None)
@given(STREAM, STREAM, SPANS, st.sampled_from(["arrival", "eventTime"]), SEED)
def test_time_windows_over_a_union(
    left: list[int | None], right: list[int | None], span: tuple[int, int], merge: str, seed: int
) -> None:
    inputs = [marked(numbered(left, 0), 0), marked(numbered(right, 1), 1)]
    chain = element(["a", "b"], UNION + time_window(*span, 2), merge)
    player = Player(chain, {"a": inputs[0], "b": inputs[1]}, seed)
    results = player.play()
    whole = oracle.renumbered(inputs[place][seq] for place, seq in player.arrivals)
    size, slide = (n * MS for n in span)
    assert results == flat(oracle.time_windows(whole, whole, size, slide, 2 * MS, [], members))


@settings(max_examples=50, deadline=None)
@given(STREAM, STREAM, SPANS, SEED)
def test_a_follower_that_gets_the_choices_makes_the_same_results(
    left: list[int | None], right: list[int | None], span: tuple[int, int], seed: int
) -> None:
    inputs = {"a": marked(numbered(left, 0), 0), "b": marked(numbered(right, 1), 1)}
    chain = element(["a", "b"], UNION + count_window(*span), "arrival")
    leader = Player(chain, inputs, seed)
    results = leader.play()
    follower = Inbox(chain, [spec_of("a"), spec_of("b")])
    followed: list[Any] = []
    choices = [Choice.of(choice.to_ints()) for choice in leader.choices]
    follower.follow(choices[:1])
    for name, rows in reversed(inputs.items()):
        follower.offer(name, table_of(spec_of(name), rows))
        follower.end(name, len(rows))
    follower.follow(choices[1:])
    while (plan := follower.cut(follower.last_done, timeout=0)) is not None:
        followed += compute(follower, plan)
        follower.done(plan.number)
    assert followed == results
    follower.lead()
    assert follower.cut(follower.last_done, timeout=0) is None
    assert follower.finished


@settings(max_examples=50, deadline=None)
@given(IN_ORDER, st.sampled_from([ROW_WISE, count_window(5, 2), time_window(7, 3, 2)]), SEED)
def test_no_result_is_earlier_than_the_progress_before_it(
    times: list[int], chain: list[dict[str, Any]], seed: int
) -> None:
    player = Player(element(["a"], chain), {"a": numbered(times, 0)}, seed, ordered=True)
    results = player.play()
    for count, progress in player.progress:
        assert all(result[0] >= progress for result in results[count:])


# --- folded from panes

BLOCKS = st.integers(1, 12)


def in_cells(rows: Sequence[Row], cell: Callable[[Row], tuple[int, ...]]) -> list[Any]:
    """Per result its rows by cell, in the order of the cells."""
    return [(row.ts, *_by_cell(row.columns["rows"], cell)) for row in rows]


def _by_cell(rows: Sequence[Row], cell: Callable[[Row], tuple[int, ...]]) -> list[Any]:
    cells: dict[tuple[int, ...], list[Any]] = {}
    for row in rows:
        cells.setdefault(cell(row), []).append(row.columns["id"])
    return [tuple(cells[key]) for key in sorted(cells)]


def themselves(rows: Sequence[Row]) -> dict[str, Any]:
    return {"rows": list(rows)}


@settings(max_examples=150, deadline=None)
@given(STREAM, SPANS, BLOCKS, SEED)
def test_each_cell_of_a_count_window_makes_one_partial(
    times: list[int | None], span: tuple[int, int], block: int, seed: int
) -> None:
    rows = marked(numbered(times, 0))
    player = Player(element(["a"], count_window(*span)), {"a": rows}, seed, block=block)
    meant = oracle.count_windows(rows, rows, *span, [], themselves)
    assert player.play() == in_cells(meant, oracle.count_cells(*span, block))


@settings(max_examples=150, deadline=None)
@given(STREAM, SPANS, st.integers(0, 10), BLOCKS, SEED)
def test_each_cell_of_a_time_window_makes_one_partial(
    times: list[int | None], span: tuple[int, int], lateness: int, block: int, seed: int
) -> None:
    rows = marked(numbered(times, 0))
    player = Player(element(["a"], time_window(*span, lateness)), {"a": rows}, seed, block=block)
    spans = span[0] * MS, span[1] * MS, lateness * MS
    meant = oracle.time_windows(rows, rows, *spans, [], themselves)
    assert player.play() == in_cells(meant, oracle.time_cells(rows, *spans, block))


@settings(max_examples=100, deadline=None)
@given(STREAM, STREAM, SPANS, BLOCKS, st.sampled_from(["arrival", "eventTime"]), st.booleans(), SEED)
def test_each_cell_over_a_union_makes_one_partial(
    left: list[int | None],
    right: list[int | None],
    span: tuple[int, int],
    block: int,
    merge: str,
    counted: bool,
    seed: int,
) -> None:
    inputs = [marked(numbered(left, 0), 0), marked(numbered(right, 1), 1)]
    windows = count_window(*span) if counted else time_window(*span, 2)
    chain = element(["a", "b"], UNION + windows, merge)
    player = Player(chain, {"a": inputs[0], "b": inputs[1]}, seed, block=block)
    results = player.play()
    whole = oracle.renumbered(inputs[place][seq] for place, seq in player.arrivals)
    if counted:
        meant = in_cells(
            oracle.count_windows(whole, whole, *span, [], themselves), oracle.count_cells(*span, block)
        )
    else:
        spans = span[0] * MS, span[1] * MS, 2 * MS
        meant = in_cells(
            oracle.time_windows(whole, whole, *spans, [], themselves), oracle.time_cells(whole, *spans, block)
        )
    assert results == meant


@settings(max_examples=50, deadline=None)
@given(STREAM, STREAM, SPANS, BLOCKS, SEED)
def test_a_follower_makes_the_same_partials(
    left: list[int | None], right: list[int | None], span: tuple[int, int], block: int, seed: int
) -> None:
    inputs = {"a": marked(numbered(left, 0), 0), "b": marked(numbered(right, 1), 1)}
    chain = element(["a", "b"], UNION + count_window(*span), "arrival")
    leader = Player(chain, inputs, seed, block=block)
    results = leader.play()
    follower = Inbox(chain, [spec_of("a"), spec_of("b")], max_rows=7, block=block)
    followed: list[Any] = []
    follower.follow([Choice.of(choice.to_ints()) for choice in leader.choices])
    for name, rows in reversed(inputs.items()):
        follower.offer(name, table_of(spec_of(name), rows))
        follower.end(name, len(rows))
    while (plan := follower.cut(follower.last_done, timeout=0)) is not None:
        followed += compute(follower, plan)
        follower.done(plan.number)
    assert followed == results
    follower.lead()
    while (plan := follower.cut(follower.last_done, timeout=0)) is not None:
        assert plan.ahead
        compute(follower, plan)
        follower.done(plan.number)
    assert follower.finished


def test_a_window_bigger_than_a_plan_is_summed_before_it_closes() -> None:
    rows = marked(numbered([n * MS for n in range(100)], 0))
    inbox = Inbox(element(["a"], time_window(80, 80, 0)), [spec_of("a")], max_rows=30, block=8)
    inbox.offer("a", table_of(spec_of("a"), rows[:70]))
    plans = []
    while (plan := inbox.cut(inbox.last_done, timeout=0)) is not None:
        compute(inbox, plan)
        plans.append((plan.ahead, plan.parts[0].opened, plan.parts[-1].shut))
        assert inbox.done(plan.number).merged == 0, "the position stays until the window closes"
    assert plans == [(True, 0, 24), (True, 24, 48), (True, 48, 64)]
    inbox.offer("a", table_of(spec_of("a"), rows[70:]))
    plan = inbox.cut(inbox.last_done, timeout=0)
    assert plan is not None
    assert (plan.ahead, plan.stop, plan.parts[0].opened, plan.parts[-1].shut) == (False, 81, 64, 80)


def test_a_tuple_that_is_late_for_one_of_two_windows_is_only_in_the_other() -> None:
    rows = marked(numbered([time * MS for time in (1, 5, 21, 12, 31, 45)], 0))
    inbox = Inbox(element(["a"], time_window(20, 10, 0)), [spec_of("a")], block=100)
    inbox.offer("a", table_of(spec_of("a"), rows))
    plan = inbox.cut(inbox.last_done, timeout=0)
    assert plan is not None
    first, second, third = compute(inbox, plan)
    assert first == (20 * MS, ((0, 0), (0, 1)))
    assert second == (30 * MS, ((0, 3),), ((0, 2),))
    assert third == (40 * MS, ((0, 2),), ((0, 4),))
