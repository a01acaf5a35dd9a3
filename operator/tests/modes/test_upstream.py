"""Upstream backup's take-over, event by event."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.modes.test_passive_standby_roles import OUT, UP, WIRING, lease, processed
from understudy.modes.upstream_backup import UpstreamBackup
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.detector import Detector
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Wiring
from understudy.protocol.watermarks import Step

DOWN = Consumer("down")
MARK = Step(Seq(40), Seq(50), {UP: Seq(90)}, {UP: Seq(100)}, {UP: Seq(110)})


def taking_over(wiring: Wiring = WIRING) -> UpstreamBackup:
    found = UpstreamBackup("job-1", wiring, Detector.of(100, 3), interval=50)
    found.handle(on.LeaseSeen(lease("job-0", 1)))
    found.handle(on.LeaseWon(lease("job-1", 2)))
    return found


def losses(commands: tuple[do.Command, ...]) -> list[Range]:
    return [c.missing for c in commands if isinstance(c, do.ReportLoss)]


def test_what_was_sent_before_is_made_again_and_dropped() -> None:
    found = taking_over()
    assert found.handle(on.Released(UP, Seq(80))) == (do.Skip(UP, Seq(80)),)
    assert found.handle(on.Subscribed(OUT, DOWN, Seq(50), Epoch(1), MARK)) == (
        do.Number("job", Seq(40), {UP: Seq(100)}),
    )


def test_a_life_of_a_consumer_that_was_replaced_does_not_answer_for_the_newer_one() -> None:
    """It has more than the checkpoint from which the newer one goes on."""
    found = taking_over()
    found.handle(on.Subscribed(OUT, DOWN, Seq(50), Epoch(2), MARK))
    late = Step(Seq(50), Seq(60), {UP: Seq(100)}, {UP: Seq(110)}, {UP: Seq(120)})
    assert found.handle(on.Subscribed(OUT, DOWN, Seq(60), Epoch(1), late)) == ()
    _, number = found.handle(on.Released(UP, Seq(80)))
    assert number == do.Number("job", Seq(40), {UP: Seq(100)})


def test_a_watermark_of_input_that_was_lost_with_its_producer_does_not_say_what_was_sent_before() -> None:
    """The producer gives seqs anew that the earlier life had: dropping what is made of them would lose it."""
    found = taking_over()
    found.handle(on.Released(UP, Seq(80), anew=Seq(80)))
    numbered = found.handle(on.Subscribed(OUT, DOWN, Seq(50), Epoch(1), MARK))
    assert numbered == (do.Number("job", Seq(50), None),)
    assert found.numbering.diverged_at == {OUT: Seq(50)}


def test_a_watermark_of_input_before_the_producer_began_anew_still_counts() -> None:
    found = taking_over()
    found.handle(on.Released(UP, Seq(80), anew=Seq(110)))
    numbered = found.handle(on.Subscribed(OUT, DOWN, Seq(50), Epoch(1), MARK))
    assert numbered == (do.Number("job", Seq(40), {UP: Seq(100)}),)


def test_who_makes_less_than_its_consumers_have_forgotten_says_that_it_began_anew() -> None:
    """A consumer that logs its steps would take the tuples behind the loss for those that it had under these
    seqs."""
    found = taking_over()
    found.handle(on.Released(UP, Seq(80), released=Seq(80)))
    commands = found.handle(on.Subscribed(OUT, DOWN, Seq(0), Epoch(2)))
    assert losses(commands) == [Range(Seq(0), Seq(80))]
    assert found.numbering.diverged_at == {OUT: Seq(0)}


def test_a_subjob_that_reads_a_diverged_stream_says_so_to_consumers_without_a_position() -> None:
    """Nothing is missing here: the producer has reported it. A log that is kept behind speaks of other
    tuples."""
    found = taking_over()
    found.handle(on.Released(UP, Seq(0), anew=Seq(0), released=Seq(0)))
    assert found.handle(on.Subscribed(OUT, DOWN, Seq(0), Epoch(2))) == (do.Number("job", Seq(0), None),)
    assert found.numbering.diverged_at == {OUT: Seq(0)}


def made_again() -> UpstreamBackup:
    """What the consumer has was made in one step, and is now made again in two."""
    found = taking_over()
    found.handle(on.Released(UP, Seq(80)))
    found.handle(on.Subscribed(OUT, DOWN, Seq(50), Epoch(1), MARK))
    found.handle(processed(100, 0, selection=90))
    found.handle(processed(104, 4, selection=95))
    found.handle(processed(110, 6, selection=100))
    found.handle(on.Acked(OUT, DOWN, 0, Seq(50), Epoch(1)))
    return found


def level1(found: UpstreamBackup, now: int) -> list[Seq]:
    return [c.upto for c in found.handle(on.Tick(Millis(now))) if isinstance(c, do.SendAck) and c.level == 1]


def test_input_behind_the_step_that_a_consumer_named_is_kept_until_it_has_a_later_one() -> None:
    found = made_again()
    assert level1(found, 0) == [Seq(90)]
    found.handle(processed(120, 5, selection=110))
    found.handle(on.Acked(OUT, DOWN, 0, Seq(55), Epoch(1)))
    assert level1(found, 100) == [Seq(100)]


def test_after_a_move_nothing_is_released_until_the_consumers_have_named_their_step() -> None:
    former = made_again()
    target = UpstreamBackup("job-0", WIRING, Detector.of(100, 3), interval=50)
    live = replace(former.state(0), steps=former.steps())
    target.handle(on.HandedOver(lease("job-1", 2), live))
    target.handle(on.LeaseWon(lease("job-0", 3)))
    target.handle(on.Acked(OUT, DOWN, 0, Seq(50), Epoch(1)))
    assert level1(target, 0) == [Seq(0)]
    target.handle(on.Subscribed(OUT, DOWN, Seq(50), Epoch(1), MARK))
    assert level1(target, 100) == [Seq(90)]


def test_a_source_is_read_from_where_the_watermark_says_or_from_where_it_was_acked() -> None:
    for mark, start in ((MARK, 90), (None, 80)):
        found = taking_over(Wiring(WIRING.inputs, WIRING.consumers, frozenset({UP})))
        found.handle(on.Released(UP, Seq(80)))
        *_, read = found.handle(on.Subscribed(OUT, DOWN, Seq(50), Epoch(1), mark))
        assert read == do.ReadInput(Stream("up"), Seq(start))


def test_an_ack_that_comes_during_the_roll_call_counts_when_its_tuples_are_made_again() -> None:
    """A quiet consumer repeats its ack once, when it is redirected, and never again."""
    found = taking_over()
    assert found.handle(on.Acked(OUT, DOWN, 1, Seq(50), Epoch(1))) == ()
    found.handle(on.Released(UP, Seq(80)))
    numbered = found.handle(on.Subscribed(OUT, DOWN, Seq(50), Epoch(1), MARK))
    assert numbered == (do.Number("job", Seq(40), {UP: Seq(100)}), do.Trim(OUT, Seq(40)))
    assert do.Trim(OUT, Seq(50)) in found.handle(on.Processed("job", {UP: Seq(110)}, {UP: Seq(100)}, 12))


def test_an_ack_of_a_former_life_of_the_consumer_does_not_count_after_the_roll_call() -> None:
    found = taking_over()
    found.handle(on.Acked(OUT, DOWN, 1, Seq(50), Epoch(1)))
    found.handle(on.Released(UP, Seq(0)))
    found.handle(on.Subscribed(OUT, DOWN, Seq(0), Epoch(2)))
    made = found.handle(on.Processed("job", {UP: Seq(110)}, {UP: Seq(100)}, 12))
    assert made == (do.Publish(OUT, Seq(12), False),)


def test_what_was_lost_together_with_all_consumers_is_reported() -> None:
    found = taking_over()
    found.handle(on.Released(UP, Seq(80)))
    loss, number = found.handle(on.Subscribed(OUT, DOWN, Seq(0), Epoch(2)))
    assert loss == do.ReportLoss(UP, Range(Seq(0), Seq(80)))
    assert number == do.Number("job", Seq(0), None)


def test_a_job_that_has_only_begun_loses_nothing() -> None:
    found = taking_over()
    found.handle(on.Released(UP, Seq(0)))
    assert found.handle(on.Subscribed(OUT, DOWN, Seq(0), Epoch(1))) == (do.Number("job", Seq(0), None),)


def test_what_waits_to_be_processed_is_not_acked_as_received() -> None:
    """The producer would let go of what it was made of; an instance that this one moves to has not received
    it."""
    found = UpstreamBackup("job-1", WIRING, Detector.of(100, 3), interval=50)
    found.handle(on.LeaseWon(lease("job-1", 1)))
    found.handle(on.Arrived(UP, Range(Seq(0), Seq(10)), Epoch(1)))
    found.handle(on.Processed("job", {UP: Seq(6)}, {UP: Seq(4)}, 5))
    assert do.SendAck(UP, 0, Seq(6)) in found.handle(on.Tick(Millis(50)))


def test_a_consumer_in_its_first_life_that_has_nothing_was_sent_nothing() -> None:
    found = taking_over()
    found.handle(on.Released(UP, Seq(80)))
    commands = found.handle(on.Subscribed(OUT, DOWN, Seq(0), Epoch(1)))
    assert not [c for c in commands if isinstance(c, do.ReportLoss)]


# --- neighbours that fail together


@pytest.mark.parametrize(
    ("mark", "missing"),
    [(None, [Range(Seq(60), Seq(95))]), (MARK, [Range(Seq(90), Seq(95))])],
    ids=["blind", "marked"],
)
def test_input_that_was_not_released_and_is_not_held_is_reported(
    mark: Step | None, missing: list[Range]
) -> None:
    """The producer began anew, too, and does not make again what an earlier life of ours had received."""
    found = taking_over()
    found.handle(on.Released(UP, Seq(95), released=Seq(60)))
    commands = found.handle(on.Subscribed(OUT, DOWN, Seq(50), Epoch(1), mark))
    assert losses(commands) == missing
    assert do.Number("job", Seq(50), None) in commands
    assert found.numbering.diverged_at == {OUT: Seq(50)}, "what is made of the rest is new"


def test_input_behind_what_the_consumers_have_is_not_missed() -> None:
    found = taking_over()
    found.handle(on.Released(UP, Seq(80), released=Seq(0)))
    assert losses(found.handle(on.Subscribed(OUT, DOWN, Seq(50), Epoch(1), MARK))) == []


def test_where_a_queue_begins_anew_is_not_taken_for_what_its_consumers_have_released() -> None:
    """One of them failed, too: it asks for what is held, and has to learn that its earlier life's input is
    gone."""
    other = Consumer("other")
    found = taking_over(Wiring(WIRING.inputs, {"job": (DOWN, other)}))
    found.handle(on.Released(UP, Seq(80)))
    found.handle(on.Subscribed(OUT, other, Seq(0), Epoch(2)))
    found.handle(on.Subscribed(OUT, DOWN, Seq(50), Epoch(1), MARK))
    queue = found.ledger.queues[OUT]
    assert (queue.trimmed, queue.acks[other].released) == (Seq(40), Seq(0))
    found.handle(on.Acked(OUT, other, 1, Seq(30), Epoch(2)))
    assert found.ledger.queues[OUT].acks[other].released == Seq(30)
