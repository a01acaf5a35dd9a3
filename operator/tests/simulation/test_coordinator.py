"""The coordinator of operator recovery (Koldehofe, Figure 8)."""

from __future__ import annotations

from understudy.protocol.ids import Millis
from understudy_lab.simulation.coordinator import Coordinator, Recall, StartReplacement

BEAT, MISSES = 100, 3
TAU = BEAT * MISSES


def coordinator() -> Coordinator:
    """One operator, heard of at 0, and a check every heart-beat until it is suspected."""
    found = Coordinator(BEAT, MISSES)
    found.deployed("w", 1, Millis(0))
    for now in range(0, TAU + 1, BEAT):
        assert found.check(Millis(now)) == []
    return found


def suspecting() -> Coordinator:
    found = coordinator()
    (decision,) = found.check(Millis(TAU + BEAT))
    assert isinstance(decision, StartReplacement)
    assert decision.operator == "w"
    found.deployed("w", 2, Millis(TAU + BEAT))
    return found


def test_silence_beyond_tau_starts_one_replacement() -> None:
    found = suspecting()
    assert found.check(Millis(TAU + 2 * BEAT)) == []


def test_heart_beats_keep_an_operator_from_being_suspected() -> None:
    found = coordinator()
    found.beat("w", 1, Millis(TAU))
    assert found.check(Millis(TAU + BEAT)) == []


def test_a_suspect_is_not_killed_and_the_first_that_makes_progress_stays() -> None:
    replaced, spared = suspecting(), suspecting()
    (recall,) = replaced.progressed("w", 2, Millis(500))
    assert recall == Recall("w", 1, "life 2 makes progress")
    (recall,) = spared.progressed("w", 1, Millis(500))
    assert recall == Recall("w", 2, "life 1 makes progress")


def test_a_replacement_may_be_suspected_too() -> None:
    found = suspecting()
    again = [d for now in range(500, 1_200, BEAT) for d in found.check(Millis(now))]
    assert [type(d) for d in again] == [StartReplacement]


def test_a_heart_beat_of_a_suspect_raises_tau_once() -> None:
    found = suspecting()
    assert found.tau("w") == TAU
    found.beat("w", 1, Millis(TAU + 2 * BEAT))
    raised = found.tau("w")
    assert raised > TAU
    found.beat("w", 1, Millis(TAU + 3 * BEAT))
    found.progressed("w", 1, Millis(TAU + 3 * BEAT))
    assert found.tau("w") == raised


def test_a_replacement_that_makes_progress_leaves_tau_as_it_is() -> None:
    found = suspecting()
    found.beat("w", 2, Millis(TAU + 2 * BEAT))
    found.progressed("w", 2, Millis(TAU + 2 * BEAT))
    assert found.tau("w") == TAU


def test_who_was_recalled_counts_no_more() -> None:
    found = suspecting()
    found.progressed("w", 2, Millis(500))
    assert found.progressed("w", 1, Millis(600)) == []


def test_time_in_which_the_coordinator_was_down_is_no_silence() -> None:
    found = coordinator()
    found.beat("w", 1, Millis(TAU))
    assert found.check(Millis(10_000)) == []


def test_a_planned_move_keeps_the_present_life_until_the_new_one_makes_progress() -> None:
    found = coordinator()
    (decision,) = found.move("w", "its node is drained")
    assert isinstance(decision, StartReplacement)
    found.deployed("w", 2, Millis(TAU))
    assert found.progressed("w", 1, Millis(TAU)) == []
    assert found.progressed("w", 2, Millis(TAU)) == [Recall("w", 1, "life 2 makes progress")]
