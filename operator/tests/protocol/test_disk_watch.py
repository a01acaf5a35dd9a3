"""What counts as a disk that stands still, look by look."""

from __future__ import annotations

from understudy.protocol.disk_watch import STALLED_MS, DiskWatch
from understudy.protocol.ids import Millis

LOOK = 200
SYNC = {7: "a sync of part-00000.jsonl"}


def looked(seconds: float, steps: dict[int, str], start: DiskWatch | None = None) -> DiskWatch:
    watch = start or DiskWatch(Millis(0))
    assert watch.looked is not None
    begun = watch.looked
    for passed in range(LOOK, round(seconds * 1000) + LOOK, LOOK):
        watch = watch.look(Millis(begun + passed), steps)
    return watch


def test_a_step_that_does_not_end_is_a_stall_after_the_limit_and_not_before() -> None:
    limit = STALLED_MS / 1000
    waiting = looked(limit, SYNC)
    assert waiting.stalled is None
    assert looked(0.2, SYNC, waiting).stalled == "a sync of part-00000.jsonl did not end within 10 s"


def test_a_watch_that_has_just_begun_has_seen_nothing_wait() -> None:
    assert DiskWatch().look(Millis(90_000), SYNC) == DiskWatch(Millis(90_000), {7: 0})


def test_the_sentence_stays_though_the_step_that_was_noticed_ends_while_another_hangs() -> None:
    both = looked(STALLED_MS / 1000 + 0.2, {**SYNC, 8: "a write"})
    assert (
        looked(0.2, {8: "a write"}, both).stalled
        == both.stalled
        == "a sync of part-00000.jsonl did not end within 10 s"
    )


def test_a_slow_disk_whose_steps_end_does_not_stand_still() -> None:
    watch = DiskWatch(Millis(0))
    for number in range(20):
        watch = looked(9, {number: "a write to part-00000.jsonl"}, watch)
        assert watch.stalled is None


def test_a_disk_that_goes_on_is_well_again() -> None:
    stalled = looked(20, SYNC)
    assert stalled.stalled is not None
    assert looked(0.2, {}, stalled).stalled is None


def test_a_sink_that_was_stopped_as_a_whole_has_a_disk_that_works() -> None:
    """Its step may have ended long ago; nobody could note that."""
    watch = looked(1, SYNC)
    assert watch.looked is not None
    assert watch.look(Millis(watch.looked + 60_000), SYNC).stalled is None


def test_the_sentence_names_the_step_that_was_noticed_first() -> None:
    stalled = looked(11, SYNC)
    assert looked(20, {**SYNC, 8: "looking whose the folder is"}, stalled).stalled == stalled.stalled
