from __future__ import annotations

import pytest

from understudy.console.seen import Arrived
from understudy.console.series import Rates, round_width, series

ARRIVED = [Arrived(1_000, 10), Arrived(1_150, 30), Arrived(1_900, 31), Arrived(2_500, 90)]


def test_every_tuple_is_counted_in_the_piece_of_time_in_which_it_came() -> None:
    found = series("out", ARRIVED, 1_000, 2_000, pieces=10)
    assert found.width_ms == 100
    assert found.counts == (10, 20, 0, 0, 0, 0, 0, 0, 0, 1)


def test_tuples_before_and_after_the_time_asked_for_are_not_counted() -> None:
    assert sum(series("out", ARRIVED, 1_100, 2_000).counts) == 21


def test_a_stream_that_has_just_begun_has_one_piece() -> None:
    assert series("out", [], 5_000, 5_000).counts in ((), (0,))


@pytest.mark.parametrize(
    ("least", "width"), [(1, 100), (101, 200), (250, 500), (501, 1_000), (7_200, 10_000)]
)
def test_widths_are_round(least: int, width: int) -> None:
    assert round_width(least) == width


def test_a_rate_is_that_of_the_last_two_seconds() -> None:
    key = ("ecg", "beats")
    rates = Rates()
    for ms, count in ((0, 0), (1_000, 100), (2_000, 200), (3_000, 700), (4_000, 1_200)):
        rates = rates.seen(ms, {key: count})
    assert rates.per_second[key] == 500


def test_a_count_that_falls_back_at_a_take_over_is_no_negative_rate() -> None:
    key = ("ecg", "beats")
    assert Rates().seen(0, {key: 900}).seen(1_000, {key: 850}).per_second[key] == 0


def test_nothing_is_said_of_the_rate_at_the_first_look() -> None:
    assert Rates().seen(0, {("ecg", "beats"): 5}).per_second == {}
