"""For how long a tuple has been there."""

from __future__ import annotations

from understudy.protocol.growth import MANY, Growth
from understudy.protocol.ids import Millis, Seq


def grown(*ends: tuple[int, int], trimmed: int = 0) -> Growth:
    growth = Growth()
    for end, at in ends:
        growth.note(Seq(trimmed), Seq(end), Millis(at))
    return growth


def test_a_tuple_is_as_old_as_the_first_mark_behind_it() -> None:
    growth = grown((10, 1_000), (20, 2_000), (30, 3_000))
    assert [growth.age(Seq(seq), Millis(5_000)) for seq in (0, 9, 10, 29)] == [4_000, 4_000, 3_000, 2_000]


def test_a_tuple_that_is_not_there_yet_has_no_age() -> None:
    assert grown((10, 1_000)).age(Seq(10), Millis(5_000)) == 0


def test_a_stream_that_stands_still_makes_no_marks_and_its_tuples_age() -> None:
    growth = grown(*((10, at) for at in range(0, 60_000, 20)))
    assert growth.age(Seq(5), Millis(60_000)) == 60_000
    assert len(growth._marks) == 1


def test_marks_that_all_consumers_have_passed_are_dropped() -> None:
    growth = grown((10, 1_000), (20, 2_000))
    growth.note(Seq(10), Seq(30), Millis(3_000))
    assert growth._marks == [(20, 2_000), (30, 3_000)]
    growth.note(Seq(15), Seq(40), Millis(4_000))
    assert growth._marks == [(20, 2_000), (30, 3_000), (40, 4_000)]


def test_an_hour_of_lag_is_told_within_a_tenth_by_a_bounded_number_of_marks() -> None:
    hour = 3_600_000
    growth = grown(*((at // 10, at) for at in range(10, hour, 20)))
    assert len(growth._marks) <= MANY + 1
    for seq in (0, hour // 40, hour // 20):
        true = hour - seq * 10
        assert 0.9 * true <= growth.age(Seq(seq), Millis(hour)) <= true


def test_a_sequencer_that_goes_back_makes_other_tuples() -> None:
    growth = grown((100, 1_000), (40, 9_000))
    assert growth.age(Seq(30), Millis(10_000)) == 1_000
