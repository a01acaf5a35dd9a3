"""For how long output stood still, as the new primary says and as its consumer sees it: in every mode."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from understudy.instance.timeline import TakeOver
from understudy.process.clock import steady_ms
from understudy.protocol.ids import Millis
from understudy.streams.hearing import Hearing, newest_before

from .in_process import InProcessInstance, InProcessJob, until

BEAT = "heartbeat: {interval: 100ms, misses: 10}"
MODES = {
    "amnesia": f"{{mode: amnesia, spare: true, {BEAT}}}",
    "passiveStandby": f"{{mode: passiveStandby, checkpoint: {{interval: 100ms}}, {BEAT}}}",
    "activeStandby": f"{{mode: activeStandby, {BEAT}}}",
    "replicaBackup": f"{{mode: replicaBackup, {BEAT}}}",
    "upstreamBackup": f"{{mode: upstreamBackup, {BEAT}}}",
    "savepoint": f"{{mode: savepoint, {BEAT}}}",
}
COLD_SECONDS = 2.0


@pytest.fixture(params=MODES)
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[InProcessJob]:
    found = InProcessJob(MODES[request.param], tmp_path)
    yield found
    found.close()


def flowing_pair(running: InProcessJob) -> tuple[InProcessInstance, InProcessInstance]:
    """Of the subjob that the reader reads."""
    primary, standby = running.instances["second-0"], running.add("second-1")
    running.begin()
    until(lambda: bool(primary.status()["protected"]))
    running.flows(100)
    return primary, standby


def assert_as_observed(running: InProcessJob, successor: InProcessInstance, since: int) -> None:
    until(lambda: (successor.status()["takeover"] or {}).get("recoveryMs") is not None)
    running.flows()
    said, seen = successor.status()["takeover"]["recoveryMs"], running.reader.longest_gap_ms(since)
    print(f"{successor.context.subjob.ha.mode}: {said} ms said, {seen} ms seen")
    assert abs(said - seen) <= max(200, seen / 5)


def test_recovery_from_a_lost_primary_is_what_its_consumer_sees(running: InProcessJob) -> None:
    primary, standby = flowing_pair(running)
    since = steady_ms()
    running.remove(primary.name)
    until(lambda: running.leader("second") == standby.name)
    assert_as_observed(running, standby, since)


def test_recovery_from_a_lost_pair_counts_from_the_last_tuple_that_came_before(running: InProcessJob) -> None:
    primary, standby = flowing_pair(running)
    since = steady_ms()
    for instance in (primary, standby):
        running.remove(instance.name)
    time.sleep(COLD_SECONDS)  # nobody is there
    successor = running.add("second-2")
    assert_as_observed(running, successor, since)
    assert successor.status()["takeover"]["recoveryMs"] > COLD_SECONDS * 1000


@pytest.mark.parametrize("running", ["passiveStandby", "upstreamBackup"], indirect=True)
def test_neighbours_that_are_lost_together_learn_the_time_of_the_loss_from_the_survivors(
    running: InProcessJob,
) -> None:
    """No instance of `first` or `second` is left, so only the reader knows."""
    flowing_pair(running)
    since = steady_ms()
    for name in ("second-1", "second-0", "first-0"):
        running.remove(name)
    time.sleep(COLD_SECONDS)
    first, second = running.add("first-1"), running.add("second-2")
    until(lambda: running.leader("second") == second.name)
    assert_as_observed(running, second, since)
    until(lambda: (first.status()["takeover"] or {}).get("stoppedMs") is not None)
    assert (
        COLD_SECONDS * 1000
        < first.status()["takeover"]["recoveryMs"]
        <= running.reader.longest_gap_ms(since) + 200
    )


# --- what counts as evidence


def test_a_sign_of_life_after_the_last_tuple_counts_and_one_of_an_output_that_stands_still_is_older() -> None:
    hearing = Hearing()
    hearing.heard("s", 1, 1_000, 0, new_tuples=True)
    hearing.heard("s", 1, 5_000, 0, new_tuples=False)
    assert newest_before(2, hearing.ages("s", 6_000), 6_000) == 5_000
    hearing.heard("s", 1, 9_000, 4_500, new_tuples=False)
    assert newest_before(2, hearing.ages("s", 9_000), 9_000) == 4_500
    hearing.heard("s", 1, 9_100, 9_000, new_tuples=False)
    assert newest_before(2, hearing.ages("s", 9_100), 9_100) == 1_000, "never older than the last tuple"


def test_signs_of_life_of_the_new_primary_do_not_count_for_the_former_one() -> None:
    hearing = Hearing()
    hearing.heard("s", 1, 1_000, 0, new_tuples=True)
    hearing.heard("s", 2, 4_000, 0, new_tuples=False)
    assert newest_before(2, hearing.ages("s", 5_000), 5_000) == 1_000
    assert newest_before(1, hearing.ages("s", 5_000), 5_000) is None


def test_a_take_over_from_one_that_never_came_to_an_output_counts_from_the_last_output_before_both() -> None:
    first = TakeOver("a", "gone", detected=Millis(10_000), heard=Millis(9_000))
    first.promoted = Millis(11_000)
    hearing = Hearing()
    hearing.heard("s", 2, 20_000, first.still_ms(Millis(20_000)), new_tuples=False)
    assert newest_before(3, hearing.ages("s", 21_000), 21_000) == 9_000


def test_a_quiet_stream_has_recovered_when_its_backlog_is_processed() -> None:
    story = TakeOver("a", "gone", detected=Millis(10_000), heard=Millis(9_900))
    story.promoted, story.targets = Millis(10_100), {"s": 7}
    story.note_positions({"s": 6}, Millis(10_200))
    story.note_idle(Millis(10_200))
    assert story.recovery_ms is None
    story.note_positions({"s": 7}, Millis(10_300))
    story.note_idle(Millis(10_300))
    story.note_output(Millis(60_000))
    assert story.recovery_ms == 400


def test_a_word_that_output_stands_still_corrects_the_signs_of_life_of_the_first_moment() -> None:
    hearing = Hearing()
    hearing.heard("s", 1, 10_000, 0, new_tuples=True)
    hearing.heard("s", 1, 10_900, 0, new_tuples=False)
    hearing.heard("s", 1, 13_000, 2_950, new_tuples=False)
    (age,) = hearing.ages("s", 13_000)
    assert age.ms == 2_950
