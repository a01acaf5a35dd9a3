"""Active standby event by event (Hwang §5.3; determinants: §6, Table 4)."""

from __future__ import annotations

from dataclasses import replace

from tests.modes.test_passive_standby_roles import OUT, UP, WIRING, lease, processed
from understudy.modes.active_standby import ActiveStandby
from understudy.modes.leadership import Role
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.detector import Detector
from understudy.protocol.determinants import Determinant
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Wiring

DOWN = Consumer("down")
FIRST = Epoch(1)
INNER = Stream("job.a")
CHAIN = Wiring({"job.a": (UP,), "job": (INNER,)}, {"job.a": (Consumer("job"),), "job": (DOWN,)})


def replica(name: str, *, determinants: bool = False, wiring: Wiring = WIRING) -> ActiveStandby:
    return ActiveStandby(name, wiring, Detector.of(100, 3), interval=50, determinants=determinants)


def pair(*, determinants: bool = False, wiring: Wiring = WIRING) -> tuple[ActiveStandby, ActiveStandby]:
    """A primary, and a secondary that was given its empty state."""
    primary = replica("job-0", determinants=determinants, wiring=wiring)
    primary.handle(on.LeaseSeen(None))
    primary.handle(on.LeaseWon(lease("job-0", 1)))
    (ship,) = primary.handle(on.SecondaryJoined("job-1"))
    assert isinstance(ship, do.Ship)
    secondary = replica("job-1", determinants=determinants, wiring=wiring)
    secondary.handle(on.LeaseSeen(lease("job-0", 1)))
    store, run, read = secondary.handle(on.CheckpointArrived(ship.checkpoint))
    assert isinstance(store, do.Store)
    assert run == do.Run(FIRST, ship.checkpoint, determinants)
    assert read == do.ReadInput(UP, Seq(0))
    primary.handle(on.CheckpointStored(FIRST, ship.checkpoint.number))
    return primary, secondary


def both(primary: ActiveStandby, secondary: ActiveStandby, upto: int) -> None:
    """One step of either: ten tuples in, one out."""
    primary.handle(processed(upto, 1))
    secondary.handle(processed(upto, 1))


def test_the_secondary_logs_what_it_makes_and_sends_nothing() -> None:
    primary, secondary = pair()
    assert primary.handle(processed(10, 1)) == (do.Publish(OUT, Seq(1), False),)
    assert secondary.handle(processed(10, 1)) == ()
    assert len(secondary.ledger.queues[OUT].held) == 1


def test_upstream_keeps_what_either_replica_has_not_processed() -> None:
    primary, secondary = pair()
    both(primary, secondary, 10)
    primary.handle(processed(20, 1))
    (progress,) = secondary.handle(on.Tick(Millis(50)))
    assert progress == do.ReportProgress(FIRST, {UP: Seq(10)})
    primary.handle(on.SecondaryAt(FIRST, {UP: Seq(10)}))
    assert do.SendAck(UP, 1, Seq(10)) in primary.handle(on.Tick(Millis(50)))


def test_the_secondary_trims_what_has_a_lower_high_watermark_than_what_downstream_has() -> None:
    primary, secondary = pair()
    for upto in (10, 20, 30):
        both(primary, secondary, upto)
    primary.handle(on.Acked(OUT, DOWN, 1, Seq(2), FIRST))
    (trimming,) = (c for c in primary.handle(on.Tick(Millis(50))) if isinstance(c, do.SendQueueTrimming))
    assert trimming.high == {OUT: {UP: Seq(20)}}
    # the tuple with the same watermarks is kept: they do not prove that it is the one that was received
    assert secondary.handle(on.QueueTrimming(FIRST, trimming.high)) == (do.Trim(OUT, Seq(1)),)
    assert secondary.ledger.queues[OUT].acks[DOWN].released == 1, "a consumer that asks again is told so"


def test_the_secondary_keeps_what_came_of_the_middle_of_a_step_between_elements() -> None:
    """The primary's first element made in one step what the secondary's made in two; downstream has released
    the first of it. What of that step's input is behind the second is not certain."""
    primary, secondary = pair(wiring=CHAIN)
    primary.handle(on.Processed("job.a", {UP: Seq(10)}, {UP: Seq(10)}, 3))
    secondary.handle(on.Processed("job.a", {UP: Seq(4)}, {UP: Seq(4)}, 2))
    secondary.handle(on.Processed("job.a", {UP: Seq(10)}, {UP: Seq(10)}, 1))
    for read in (1, 2, 3):
        for core in (primary, secondary):
            core.handle(on.Processed("job", {INNER: Seq(read)}, {INNER: Seq(read)}, 1))
    for released, kept_from in ((1, 0), (3, 2)):
        primary.handle(on.Acked(OUT, DOWN, 1, Seq(released), FIRST))
        (trimming,) = (
            c for c in primary.handle(on.Tick(Millis(50 * released))) if isinstance(c, do.SendQueueTrimming)
        )
        assert secondary.handle(on.QueueTrimming(FIRST, trimming.high)) == (do.Trim(OUT, Seq(kept_from)),)


def test_the_log_between_elements_is_as_short_as_the_queue_there() -> None:
    primary, secondary = pair(wiring=CHAIN)
    for upto in range(1, 200):
        for core in (primary, secondary):
            core.handle(on.Processed("job.a", {UP: Seq(upto)}, {UP: Seq(upto)}, 1))
            core.handle(on.Processed("job", {INNER: Seq(upto)}, {INNER: Seq(upto)}, 1))
    assert [len(core.logs[INNER]) for core in (primary, secondary)] == [1, 1]


def test_a_take_over_sends_the_log_and_goes_on() -> None:
    primary, secondary = pair()
    both(primary, secondary, 10)
    secondary.handle(on.PeerClosed(Millis(60)))
    lead, publish = secondary.handle(on.LeaseWon(lease("job-1", 2)))
    assert isinstance(lead, do.Lead)
    assert lead.live
    assert publish == do.Publish(OUT, Seq(1), False)
    assert secondary.role is Role.PRIMARY


# ---- a producer whose stream diverges --------------------------------------------------------------------


def arrived(start: int, stop: int, epoch: int, anew: int | None = None) -> on.Arrived:
    return on.Arrived(
        UP, Range(Seq(start), Seq(stop)), Epoch(epoch), None, Seq(anew) if anew is not None else None
    )


def read_until(secondary: ActiveStandby, upto: int) -> None:
    """From one producer, and then another one serves."""
    secondary.handle(on.Redirected(UP, Epoch(1)))
    secondary.handle(arrived(0, upto, 1))
    secondary.handle(on.Redirected(UP, Epoch(2)))


def test_a_secondary_that_was_ahead_of_a_producer_that_lost_tuples_joins_anew() -> None:
    """The producer has asked the primary, which had less: other tuples have the seqs that were taken here."""
    _, secondary = pair()
    read_until(secondary, 20)
    down, again = secondary.handle(arrived(15, 25, 2, anew=15))
    assert isinstance(down, do.StepDown)
    assert isinstance(again, do.ReadLease)
    assert not secondary.could_continue()


def test_a_secondary_that_stands_where_a_producer_begins_anew_goes_on() -> None:
    _, secondary = pair()
    read_until(secondary, 15)
    assert secondary.handle(arrived(15, 25, 2, anew=15)) == (do.Take(UP, Range(Seq(15), Seq(25))),)


def test_a_secondary_that_is_ahead_of_a_producer_that_repeats_itself_goes_on() -> None:
    _, secondary = pair()
    read_until(secondary, 20)
    assert secondary.handle(arrived(15, 25, 2)) == (do.Take(UP, Range(Seq(20), Seq(25))),)


def test_what_a_replaced_producer_says_makes_no_secondary_join_anew() -> None:
    _, secondary = pair()
    read_until(secondary, 20)
    assert secondary.handle(arrived(5, 25, 1, anew=5)) == ()
    assert secondary.could_continue()


# ---- determinants ------------------------------------------------------------------------------------------


def chosen(upto: int) -> Determinant:
    return Determinant("job", {UP: Seq(upto - 10)}, {UP: Seq(upto)}, (1,) * 10)


def step(upto: int) -> on.Processed:
    at = {UP: Seq(upto)}
    return on.Processed("job", at, at, 1, False, chosen(upto))


def test_nothing_is_sent_before_the_secondary_holds_the_determinants_behind_it() -> None:
    primary, secondary = pair(determinants=True)
    assert primary.handle(step(10)) == ()
    (log,) = (c for c in primary.handle(on.Tick(Millis(1))) if isinstance(c, do.ShipDeterminants))
    assert log == do.ShipDeterminants(FIRST, 1, (chosen(10),))
    assert secondary.handle(on.DeterminantsArrived(FIRST, 1, log.determinants)) == (
        do.Choose(log.determinants),
        do.ConfirmDeterminants(FIRST, 1),
    )
    assert primary.handle(on.DeterminantsStored(FIRST, 1)) == (do.Publish(OUT, Seq(1), False),)


def test_an_end_waits_for_the_determinants_of_all_before_it() -> None:
    """The last tuples may have been dropped by chance."""
    primary, _ = pair(determinants=True)
    primary.handle(step(10))
    primary.handle(on.Tick(Millis(1)))
    primary.handle(replace(step(20), emitted=0))
    primary.handle(on.Processed("job", {UP: Seq(20)}, {UP: Seq(20)}, 0, True))
    assert primary.handle(on.DeterminantsStored(FIRST, 1)) == (do.Publish(OUT, Seq(1), False),)
    primary.handle(on.Tick(Millis(2)))
    assert primary.handle(on.DeterminantsStored(FIRST, 2)) == (do.Publish(OUT, Seq(1), True),)


def test_a_secondary_that_missed_determinants_joins_anew() -> None:
    _, secondary = pair(determinants=True)
    down, again = secondary.handle(on.DeterminantsArrived(FIRST, 2, (chosen(10),)))
    assert isinstance(down, do.StepDown)
    assert isinstance(again, do.ReadLease)
    assert not secondary.could_continue()


def test_determinants_that_are_never_confirmed_make_the_secondary_begin_anew() -> None:
    primary, _ = pair(determinants=True)
    primary.handle(step(10))
    asked = [c for now in range(0, 5_000, 50) for c in primary.handle(on.Tick(Millis(now)))]
    (fence,) = (c for c in asked if isinstance(c, do.TryLease))
    assert fence.expected == lease("job-0", 1)
    freed = primary.handle(on.LeaseWon(lease("job-0", 2)))
    assert do.Publish(OUT, Seq(1), False) in freed, "nobody can win the Lease with other choices any more"
    (ship,) = (c for c in freed if isinstance(c, do.Ship))
    assert ship.checkpoint.elements["job"].held.stop == 1


def test_no_determinants_are_sent_while_a_lost_secondary_is_fenced_off() -> None:
    """They are dropped when that is done: nobody waits for them any more."""
    primary, _ = pair(determinants=True)
    primary.handle(on.SecondaryLeft("job-1"))
    primary.handle(step(10))
    assert not [c for c in primary.handle(on.Tick(Millis(1))) if isinstance(c, do.ShipDeterminants)]
