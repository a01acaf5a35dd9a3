from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.model.operators import Aggregate, Filter, Join
from understudy.protocol.selection import (
    UNKNOWN,
    CountWindow,
    EachRow,
    TimeWindow,
    Within,
    rule_of,
)

SPANS = st.integers(1, 30).flatmap(lambda size: st.tuples(st.just(size), st.integers(1, size)))
TIMES = st.lists(st.one_of(st.integers(-5, 120), st.just(UNKNOWN)), max_size=40)


def array(times: list[int]) -> np.ndarray:
    return np.array(times, np.int64)


def running(times: list[int]) -> list[int]:
    return [max(times[: n + 1]) for n in range(len(times))]


@given(SPANS, st.integers(0, 200))
def test_a_count_window_is_open_until_the_position_reaches_its_end(
    span: tuple[int, int], position: int
) -> None:
    windows = CountWindow(*span)
    ends = [k * windows.slide + windows.size for k in range(300)]
    assert windows.first_open(position) == sum(end <= position for end in ends)
    assert windows.next_close(position) == min(end for end in ends if end > position)


@given(SPANS, st.integers(0, 200))
def test_a_count_window_needs_the_tuples_of_its_open_windows_and_none_before(
    span: tuple[int, int], position: int
) -> None:
    windows = CountWindow(*span)
    starts = [k * windows.slide for k in range(300) if k * windows.slide + windows.size > position]
    assert windows.needed(position) == min(starts[0], position)


@given(SPANS, st.integers(0, 150), st.integers(0, 150))
def test_the_last_close_is_the_last_end_in_the_range(span: tuple[int, int], after: int, more: int) -> None:
    windows = CountWindow(*span)
    ends = [k * windows.slide + windows.size for k in range(400)]
    inside = [end for end in ends if after < end <= after + more]
    assert windows.last_close(after, after + more) == (inside[-1] if inside else None)


@given(SPANS, st.integers(0, 9), TIMES, st.integers(0, 40))
def test_a_tuple_is_needed_as_long_as_one_of_its_time_windows_is_open(
    span: tuple[int, int], lateness: int, times: list[int], split: int
) -> None:
    windows = TimeWindow(*span, lateness)
    past = times[:split]
    greatest = max(past, default=UNKNOWN)

    def counts(time: int) -> bool:
        return any(
            k * windows.slide <= time < k * windows.slide + windows.size
            and k * windows.slide + windows.size + lateness > greatest
            for k in range(200)
        )

    needed = [n for n, time in enumerate(past) if counts(time)]
    assert windows.first_needed(array(past), greatest) == (needed[0] if needed else len(past))


@given(SPANS, st.integers(0, 9), TIMES, st.one_of(st.integers(-5, 120), st.just(UNKNOWN)))
def test_a_time_window_closes_at_the_tuple_that_brings_event_time_past_its_end(
    span: tuple[int, int], lateness: int, times: list[int], before: int
) -> None:
    windows = TimeWindow(*span, lateness)
    greatest = [max(g, before) for g in running(times)]
    closings = [
        n + 1
        for n, (was, now) in enumerate(zip([before, *greatest], greatest, strict=False))
        if any(was < k * windows.slide + windows.size + lateness <= now for k in range(200))
    ]
    assert windows.last_close(before, array(greatest)) == (closings[-1] if closings else None)


@given(st.integers(0, 20), TIMES, st.one_of(st.integers(-5, 120), st.just(UNKNOWN)))
def test_a_tuple_is_needed_until_the_other_stream_has_passed_it(
    reach: int, times: list[int], passed: int
) -> None:
    needed = [
        n for n, time in enumerate(times) if time != UNKNOWN and (passed == UNKNOWN or passed <= time + reach)
    ]
    assert Within(reach).first_needed(array(times), passed) == (needed[0] if needed else len(times))


def test_the_rule_is_that_of_the_stateful_operator() -> None:
    where = Filter(where="x > 1")
    windows = {
        "window": {"on": "ts", "size": "10s", "slide": "5s", "lateness": "1s"},
        "select": {"n": "count(*)"},
    }
    counts = {"window": {"on": "_seq", "size": 100, "slide": 10}, "select": {"n": "count(*)"}}
    join = {"with": "b", "on": "a.x = b.x", "within": "30s"}
    assert rule_of([where]) == EachRow()
    assert rule_of([where, Aggregate.model_validate(windows)]) == TimeWindow(10_000_000, 5_000_000, 1_000_000)
    assert rule_of([where, Aggregate.model_validate(counts), where]) == CountWindow(100, 10)
    assert rule_of([Join.model_validate(join)]) == Within(30_000_000)


@pytest.mark.parametrize("greatest", [UNKNOWN, -1, 0, 9])
def test_no_time_window_is_closed_before_the_first_can_be(greatest: int) -> None:
    assert TimeWindow(10, 5, 0).first_open(greatest) == 0
