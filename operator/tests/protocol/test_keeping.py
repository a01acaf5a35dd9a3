"""When acks to sources are written down."""

from __future__ import annotations

from datetime import timedelta

import pytest

from understudy.protocol.ids import Millis, Seq, Stream
from understudy.protocol.keeping import LONGEST, SHORTEST, Keeping, Phase, SourceAcks, interval_for

ECG = Stream("ecg")


def acks(upto: int) -> SourceAcks:
    return SourceAcks().acked(ECG, Seq(upto), None)


def test_a_life_that_has_acked_nothing_writes_nothing() -> None:
    assert not Keeping().due(SourceAcks(), Phase.LEAVING, Millis(60_000), LONGEST)


def test_the_first_acks_of_a_life_are_written_at_once() -> None:
    assert Keeping().due(acks(5), Phase.FLOWING, Millis(0), LONGEST)


def test_acks_that_have_not_changed_are_not_written_again() -> None:
    kept = Keeping().written(acks(5), Millis(0))
    assert not any(kept.due(acks(5), phase, Millis(60_000), LONGEST) for phase in Phase)


@pytest.mark.parametrize(
    ("phase", "wait"), [(Phase.FLOWING, LONGEST), (Phase.ENDED, SHORTEST), (Phase.LEAVING, Millis(0))]
)
def test_the_phase_of_a_life_says_how_long_new_acks_wait(phase: Phase, wait: Millis) -> None:
    kept = Keeping().written(acks(5), Millis(1_000))
    assert kept.due(acks(6), phase, Millis(1_000 + wait), LONGEST)
    assert wait == 0 or not kept.due(acks(6), phase, Millis(999 + wait), LONGEST)


@pytest.mark.parametrize(
    ("bound", "milliseconds"), [(None, 10_000), (60.0, 10_000), (8.0, 4_000), (3.0, 1_500), (0.2, 1_000)]
)
def test_the_interval_is_half_of_the_bound_of_recovery_within_its_limits(
    bound: float | None, milliseconds: int
) -> None:
    assert interval_for(timedelta(seconds=bound) if bound is not None else None) == milliseconds
