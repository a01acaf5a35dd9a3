"""Passive standby's roles, event by event."""

from __future__ import annotations

import pytest

from understudy.modes.leadership import Role
from understudy.modes.passive_standby import PassiveStandby
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.commands import Commands
from understudy.protocol.detector import Detector
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Wiring

UP, OUT = Stream("up"), Stream("job")
WIRING = Wiring({"job": (UP,)}, {"job": (Consumer("down"),)})


def instance(name: str = "job-0", *, hold_back: bool = False) -> PassiveStandby:
    return PassiveStandby(name, WIRING, Detector.of(100, 3), interval=500, hold_back=hold_back)


def lease(holder: str, epoch: int) -> LeaseRecord:
    return LeaseRecord(holder, f"{holder}:1", Epoch(epoch))


def primary(*, hold_back: bool = False) -> PassiveStandby:
    found = instance(hold_back=hold_back)
    found.handle(on.LeaseSeen(None))
    found.handle(on.LeaseWon(lease("job-0", 1)))
    return found


def processed(upto: int, emitted: int, selection: int | None = None) -> on.Processed:
    at = {UP: Seq(upto)}
    return on.Processed("job", at, {UP: Seq(upto if selection is None else selection)}, emitted)


def protected(*, hold_back: bool = False) -> tuple[PassiveStandby, Checkpoint]:
    """A primary whose secondary has confirmed a checkpoint at input 10, output 5."""
    found = primary(hold_back=hold_back)
    found.handle(on.SecondaryJoined("job-1"))
    found.handle(processed(10, 5))
    (ship,) = found.handle(on.Tick(Millis(1_000)))
    assert isinstance(ship, do.Ship)
    found.handle(on.CheckpointStored(Epoch(1), ship.checkpoint.number))
    return found, ship.checkpoint


def kinds(commands: Commands) -> list[type]:
    return [type(c) for c in commands]


def test_an_instance_takes_a_free_lease_and_leads_from_nothing() -> None:
    found = instance()
    assert found.handle(on.LeaseSeen(None)) == (do.TryLease(None, "nobody holds the Lease"),)
    lead, _, read = found.handle(on.LeaseWon(lease("job-0", 1)))
    assert lead == do.Lead(Epoch(1), None, "starts empty")
    assert read == do.ReadInput(UP, Seq(0))


def test_an_instance_follows_whoever_holds_the_lease() -> None:
    assert instance().handle(on.LeaseSeen(lease("job-1", 4))) == (do.Follow(lease("job-1", 4)),)


def test_nothing_is_released_upstream_before_the_secondary_has_stored_it() -> None:
    found = primary()
    found.handle(on.SecondaryJoined("job-1"))
    assert do.SendAck not in kinds(found.handle(processed(10, 5)))
    (ship,) = found.handle(on.Tick(Millis(1_000)))
    assert isinstance(ship, do.Ship)
    assert found.handle(on.CheckpointStored(Epoch(1), ship.checkpoint.number)) == (
        do.SendAck(UP, 1, Seq(10)),
    )


def test_nothing_is_released_without_a_secondary() -> None:
    found = primary()
    emitted = found.handle(processed(10, 5))
    assert kinds(emitted) == [do.Publish]
    assert found.handle(on.Tick(Millis(10_000))) == ()


def test_a_confirmation_of_another_epoch_or_number_releases_nothing() -> None:
    found = primary()
    found.handle(on.SecondaryJoined("job-1"))
    found.handle(processed(10, 5))
    (ship,) = found.handle(on.Tick(Millis(1_000)))
    assert isinstance(ship, do.Ship)
    assert found.handle(on.CheckpointStored(Epoch(2), ship.checkpoint.number)) == ()
    assert found.handle(on.CheckpointStored(Epoch(1), ship.checkpoint.number + 1)) == ()


def test_checkpoints_keep_their_interval_and_wait_for_each_other() -> None:
    found = primary()
    found.handle(on.SecondaryJoined("job-1"))
    found.handle(processed(10, 5))
    assert kinds(found.handle(on.Tick(Millis(1_000)))) == [do.Ship]
    found.handle(processed(20, 5))
    assert found.handle(on.Tick(Millis(2_000))) == ()  # the first is still under way
    found.handle(on.CheckpointStored(Epoch(1), 1))
    assert kinds(found.handle(on.Tick(Millis(2_001)))) == [do.Ship]
    found.handle(on.CheckpointStored(Epoch(1), 2))
    assert found.handle(on.Tick(Millis(9_000))) == ()  # nothing has changed


def test_a_new_secondary_is_sent_the_whole_state() -> None:
    found, _ = protected()
    found.handle(on.SecondaryLeft("job-1"))
    found.handle(on.SecondaryJoined("job-2"))
    (ship,) = found.handle(on.Tick(Millis(5_000)))
    assert isinstance(ship, do.Ship)
    assert ship.base is None


def test_a_secondary_goes_on_exactly_where_its_newest_checkpoint_ends() -> None:
    _, checkpoint = protected()
    second = instance("job-1")
    second.handle(on.LeaseSeen(lease("job-0", 1)))
    assert second.handle(on.CheckpointArrived(checkpoint)) == (do.Store(checkpoint),)
    assert second.handle(on.PeerClosed(Millis(0)))[0] == do.TryLease(
        lease("job-0", 1), "its connection closed: the process is dead"
    )
    lead, resend, read = second.handle(on.LeaseWon(lease("job-1", 2)))
    assert isinstance(lead, do.Lead)
    assert lead.checkpoint == checkpoint
    assert resend == do.Publish(OUT, Seq(5), ended=False)
    assert read == do.ReadInput(UP, Seq(10))
    assert second.ledger.queues[OUT].held == Range(Seq(0), Seq(5))


def test_silence_is_suspected_only_after_three_missed_keep_alives() -> None:
    _, checkpoint = protected()
    second = instance("job-1")
    second.handle(on.LeaseSeen(lease("job-0", 1)))
    second.handle(on.CheckpointArrived(checkpoint))
    second.handle(on.KeepAlive(Millis(1_000), Epoch(1)))
    assert second.handle(on.Tick(Millis(1_300))) == ()
    assert kinds(second.handle(on.Tick(Millis(1_301)))) == [do.TryLease]


def test_a_checkpoint_of_a_fenced_primary_is_not_stored() -> None:
    _, checkpoint = protected()
    second = instance("job-1")
    second.handle(on.LeaseSeen(lease("job-2", 3)))
    second.handle(on.KeepAlive(Millis(0), Epoch(3)))
    assert second.handle(on.CheckpointArrived(checkpoint)) == ()


def test_a_primary_that_sees_a_newer_epoch_steps_down_and_forgets() -> None:
    found, _ = protected()
    commands = found.handle(on.LeaseSeen(lease("job-1", 2)))
    assert kinds(commands) == [do.StepDown, do.ReadLease]
    assert found.role is Role.STANDBY
    assert found.stored() is None
    assert found.ledger.queues[OUT].next == 0


def test_with_hold_back_only_checkpointed_tuples_are_forwarded() -> None:
    found = primary(hold_back=True)
    found.handle(on.SecondaryJoined("job-1"))
    assert found.handle(processed(10, 5)) == ()
    (ship,) = found.handle(on.Tick(Millis(1_000)))
    assert isinstance(ship, do.Ship)
    found.handle(processed(20, 5))
    assert do.Publish(OUT, Seq(5), ended=False) in found.handle(
        on.CheckpointStored(Epoch(1), ship.checkpoint.number)
    )


def test_an_ack_ahead_of_the_sequencer_counts_once_the_tuples_are_made_again() -> None:
    found = primary()
    assert found.handle(on.Acked(OUT, Consumer("down"), 1, Seq(7), Epoch(0))) == (do.Trim(OUT, Seq(0)),)
    assert do.Trim(OUT, Seq(7)) in found.handle(processed(10, 9))
    assert do.Trim not in kinds(found.handle(processed(20, 6)))


def test_input_that_upstream_no_longer_has_is_reported_and_seqs_go_on_from_what_consumers_have() -> None:
    found = primary()
    found.handle(on.Subscribed(OUT, Consumer("down"), Seq(40), Epoch(0)))
    commands = found.handle(on.Resumes(UP, released=Seq(90), start=Seq(100)))
    assert commands == (do.ReportLoss(UP, Range(Seq(90), Seq(100))), do.Skip(UP, Seq(100)))
    found.handle(processed(110, 1))
    assert found.ledger.queues[OUT].held == Range(Seq(40), Seq(41))


def test_a_primary_that_is_replaced_while_it_lives_becomes_more_patient() -> None:
    found, _ = protected()
    before = found.detector.tau
    assert kinds(found.handle(on.NewerEpoch(Epoch(2)))) == [do.StepDown, do.ReadLease]
    assert found.detector.tau > before


def taken_over(*, subscribed: bool = True) -> PassiveStandby:
    """From a checkpoint at input 10, output 5; its consumer has got 8 tuples from the former primary."""
    _, checkpoint = protected()
    second = instance("job-1")
    second.handle(on.LeaseSeen(lease("job-0", 1)))
    second.handle(on.CheckpointArrived(checkpoint))
    second.handle(on.LeaseWon(lease("job-1", 2)))
    if subscribed:
        second.handle(on.Subscribed(OUT, Consumer("down"), Seq(8), Epoch(1)))
    return second


def test_what_is_made_of_a_producer_that_began_anew_gets_seqs_that_no_consumer_has() -> None:
    second = taken_over()
    renumber, publish, take = second.handle(on.Arrived(UP, Range(Seq(10), Seq(12)), Epoch(2), anew=Seq(10)))
    assert renumber == do.Renumber(OUT, Range(Seq(0), Seq(5)), Seq(8))
    assert publish == do.Publish(OUT, Seq(13), ended=False)
    assert take == do.Take(UP, Range(Seq(10), Seq(12)))
    assert second.numbering.diverged_at == {OUT: Seq(8)}, (
        "consumers that restarted themselves must know it, too"
    )


@pytest.mark.parametrize(("has", "first"), [(8, 8), (5, 0)])
def test_what_is_made_of_it_waits_until_consumers_have_said_which_seqs_they_have(
    has: int, first: int
) -> None:
    """More than they have may be made before they ask: under seqs of before they would take it for what they
    know."""
    second = taken_over(subscribed=False)
    assert kinds(second.handle(on.Arrived(UP, Range(Seq(10), Seq(20)), Epoch(2), anew=Seq(10)))) == [do.Take]
    assert second.handle(processed(20, 10)) == ()
    assert kinds(second.handle(on.Tick(Millis(1_000)))) == [], "no checkpoint before seqs are settled"
    *renumber, publish = second.handle(on.Subscribed(OUT, Consumer("down"), Seq(has), Epoch(1)))
    assert renumber == ([do.Renumber(OUT, Range(Seq(0), Seq(15)), Seq(8))] if first else [])
    assert publish == do.Publish(OUT, Seq(first + 15), ended=False)
    assert second.numbering.diverged_at == {OUT: Seq(has)}


def test_a_producer_that_began_anew_before_the_checkpoint_sends_the_same_again() -> None:
    second = taken_over()
    assert kinds(second.handle(on.Arrived(UP, Range(Seq(10), Seq(12)), Epoch(2), anew=Seq(9)))) == [do.Take]
    assert second.ledger.queues[OUT].next == 5


def test_a_fenced_producer_that_began_anew_is_not_believed() -> None:
    second = taken_over()
    second.handle(on.Redirected(UP, Epoch(3)))
    assert second.handle(on.Arrived(UP, Range(Seq(10), Seq(12)), Epoch(2), anew=Seq(10))) == ()
    assert not second.numbering.lossy


def test_a_standby_with_state_succeeds_a_primary_whose_engine_stands_still() -> None:
    _, checkpoint = protected()
    standby = instance("job-1")
    standby.handle(on.LeaseSeen(lease("job-0", 1)))
    standby.handle(on.CheckpointArrived(checkpoint))
    assert standby.handle(on.KeepAlive(Millis(2_000), Epoch(1))) == ()
    tried = standby.handle(on.KeepAlive(Millis(2_100), Epoch(1), stalled="the JVM did not answer for 3.1 s"))
    why = "its engine stands still: the JVM did not answer for 3.1 s"
    assert tried == (do.TryLease(lease("job-0", 1), why),)


def test_a_standby_without_state_leaves_a_hung_primary_its_lease() -> None:
    standby = instance("job-1")
    standby.handle(on.LeaseSeen(lease("job-0", 1)))
    for now in range(0, 5_000, 100):
        stalled = on.KeepAlive(Millis(now), Epoch(1), stalled="the JVM did not answer for 3.1 s")
        assert do.TryLease not in kinds((*standby.handle(stalled), *standby.handle(on.Tick(Millis(now)))))
