"""Results are a function of the tuples, not of how they arrive, are cut into plans, or are restored in
between."""

from __future__ import annotations

from collections.abc import Sequence
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
