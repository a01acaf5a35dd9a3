"""Replica backup where there is a Lease: who begins, who joins, who is told that it has been replaced."""

from __future__ import annotations

from dataclasses import replace

from tests.modes.test_passive_standby_roles import OUT, UP, WIRING, kinds, lease, processed
from understudy.modes.leadership import Role
from understudy.modes.replica_backup import ReplicaBackup
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.detector import Detector
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq
from understudy.protocol.savepoints import Savepoint, Tree
from understudy.protocol.watermarks import Step


def replica(name: str) -> ReplicaBackup:
    return ReplicaBackup(name, WIRING, Detector.of(100, 3), interval=50)


def pair() -> tuple[ReplicaBackup, ReplicaBackup]:
    """The first has processed up to 10 and made 5 tuples; the second has joined it."""
    first, second = replica("job-0"), replica("job-1")
    first.handle(on.LeaseSeen(None))
    first.handle(on.LeaseWon(lease("job-0", 1)))
    first.handle(processed(10, 5))
    assert second.handle(on.LeaseSeen(lease("job-0", 1))) == (do.Follow(lease("job-0", 1)),)
    second.handle(on.KeepAlive(Millis(0), Epoch(1)))
    (ship,) = first.handle(on.SecondaryJoined("job-1"))
    assert isinstance(ship, do.Ship)
    store, lead, publish, read = second.handle(on.CheckpointArrived(ship.checkpoint))
    assert isinstance(lead, do.Lead)
    assert lead.beside
    assert (publish, read) == (do.Publish(OUT, Seq(5), False), do.ReadInput(UP, Seq(10)))
    assert store == do.Store(ship.checkpoint)
    first.handle(on.CheckpointStored(Epoch(1), ship.checkpoint.number))
    return first, second


def test_a_newcomer_gets_the_state_of_the_holder_and_leads_beside_it() -> None:
    first, second = pair()
    assert (first.role, second.role) == (Role.PRIMARY, Role.PRIMARY)
    assert first.protected


def test_a_newcomer_gets_the_savepoint_trees_of_the_consumers_too() -> None:
    first, _ = pair()
    tree = Tree(Savepoint({OUT: Seq(1)}, {OUT: Seq(2)}, Seq(0)))
    first.handle(on.Acked(OUT, Consumer("down"), 1, Seq(1), Epoch(1), tree))
    (ship,) = first.handle(on.SecondaryJoined("job-2"))
    assert isinstance(ship, do.Ship)
    third = replica("job-2")
    third.handle(on.CheckpointArrived(ship.checkpoint))
    (answer,) = third.handle(on.RecoveryRequested(OUT, Consumer("down")))
    assert answer == do.AnswerRecovery(OUT, Consumer("down"), tree)


def test_a_newcomer_gets_the_watermarks_of_the_producers_too() -> None:
    first, _ = pair()
    mark = Step(Seq(9), Seq(10), {UP: Seq(3)}, {UP: Seq(3)}, {UP: Seq(4)})
    first.handle(on.Arrived(UP, Range(Seq(0), Seq(10)), Epoch(1), mark))
    (ship,) = first.handle(on.SecondaryJoined("job-2"))
    assert isinstance(ship, do.Ship)
    third = replica("job-2")
    third.handle(on.CheckpointArrived(ship.checkpoint))
    assert third.neighbours.mark_of(UP, Seq(10)) == mark


def test_upstream_keeps_what_either_still_needs() -> None:
    first, _ = pair()
    first.handle(processed(30, 5))
    first.handle(on.SecondaryAt(Epoch(1), {UP: Seq(20)}))
    assert do.SendAck(UP, 1, Seq(20)) in first.handle(on.Tick(Millis(1_000)))


def test_the_survivor_takes_the_lease_and_goes_on_without_a_pause() -> None:
    _, second = pair()
    assert kinds(second.handle(on.PeerClosed(Millis(500)))) == [do.Elect]
    (lead,) = second.handle(on.LeaseWon(lease("job-1", 2)))
    assert isinstance(lead, do.Lead)
    assert lead.live
    assert second.epoch == Epoch(2)
    assert not second.protected


def test_the_holder_begins_a_new_epoch_when_its_peer_is_gone() -> None:
    first, _ = pair()
    assert kinds(first.handle(on.SecondaryLeft("job-1"))) == [do.Elect]
    first.handle(on.LeaseWon(lease("job-0", 2)))
    assert first.epoch == Epoch(2)
    assert first.handle(on.LeaseSeen(lease("job-0", 2))) == ()


def test_a_replica_that_was_replaced_steps_down_and_joins_again() -> None:
    first, second = pair()
    assert second.handle(on.LeaseSeen(lease("job-0", 1))) == ()
    assert kinds(second.handle(on.LeaseSeen(lease("job-0", 2)))) == [do.StepDown, do.ReadLease]
    assert first.handle(on.LeaseSeen(lease("job-0", 1))) == ()
    assert second.role is Role.STANDBY
    assert not second.could_continue()


def test_who_finds_only_dead_replicas_begins_anew() -> None:
    late = replica("job-2")
    late.handle(on.LeaseSeen(lease("job-0", 3)))
    assert kinds(late.handle(on.PeerClosed(Millis(1)))) == [do.AskHolder]
    ended = replace(lease("job-0", 3), gone=True)
    assert late.handle(on.LeaseSeen(ended)) == (), "one that has the state has the first chance"
    late.handle(on.Tick(Millis(1)))
    assert kinds(late.handle(on.Tick(Millis(3_000)))) == [do.TryLease]
    lead, read = late.handle(on.LeaseWon(lease("job-2", 4)))
    assert (type(lead), read) == (do.Lead, do.ReadInput(UP, Seq(0)))


def test_a_replica_that_is_behind_what_upstream_holds_begins_anew_with_its_peer() -> None:
    first, second = pair()
    first.handle(on.SecondaryAt(Epoch(1), {UP: Seq(20)}))
    assert kinds(first.handle(on.Resumes(UP, Seq(10), Seq(15)))) == [do.StepDown, do.ReadLease]
    assert first.handle(on.LeaseSeen(lease("job-0", 1))) == (), "the peer has the first chance"
    assert kinds(second.handle(on.PeerClosed(Millis(500)))) == [do.Elect]
    second.handle(on.LeaseWon(lease("job-1", 2)))
    first.handle(on.Tick(Millis(1_000)))
    assert kinds(first.handle(on.Tick(Millis(3_000)))) == [do.TryLease]
    assert first.handle(on.LeaseSeen(lease("job-1", 2))) == (do.Follow(lease("job-1", 2)),)


def test_a_replica_whose_peer_misses_the_same_goes_on_with_what_there_is() -> None:
    first, _ = pair()
    first.handle(on.SecondaryAt(Epoch(1), {UP: Seq(12)}))
    assert do.ReportLoss(UP, Range(Seq(10), Seq(15))) in first.handle(on.Resumes(UP, Seq(10), Seq(15)))
    assert first.role is Role.PRIMARY


def test_a_replica_that_lacks_what_its_peer_had_only_received_joins_again() -> None:
    """The producer began anew behind what the peer, of which this state is, had received but not
    processed."""
    _, second = pair()
    assert kinds(second.handle(on.Resumes(UP, Seq(10), Seq(15)))) == [do.StepDown, do.ReadLease]


def test_a_replica_that_has_outlived_the_one_it_joined_goes_on_with_what_there_is() -> None:
    _, second = pair()
    second.handle(on.PeerClosed(Millis(500)))
    assert do.ReportLoss(UP, Range(Seq(10), Seq(15))) in second.handle(on.Resumes(UP, Seq(10), Seq(15)))


def test_a_replica_that_is_alone_goes_on_with_what_there_is() -> None:
    first, _ = pair()
    first.handle(on.SecondaryLeft("job-1"))
    assert do.ReportLoss(UP, Range(Seq(10), Seq(15))) in first.handle(on.Resumes(UP, Seq(10), Seq(15)))


def began_anew(core: ReplicaBackup, had: int, anew: int) -> tuple[do.Command, ...]:
    """What a replica does about a producer that lost its tuples after it has had so many of them."""
    core.handle(on.Redirected(UP, Epoch(1)))
    core.handle(on.Arrived(UP, Range(Seq(10), Seq(had)), Epoch(1)))
    core.handle(on.Redirected(UP, Epoch(2)))
    return core.handle(on.Arrived(UP, Range(Seq(anew), Seq(30)), Epoch(2), None, Seq(anew)))


def test_the_one_that_joined_begins_anew_with_the_other_when_a_producer_did() -> None:
    first, second = pair()
    assert began_anew(first, 20, 20) == (do.Take(UP, Range(Seq(20), Seq(30))),)
    assert kinds(began_anew(second, 20, 20)) == [do.StepDown, do.ReadLease], (
        "it can't know how much the other had"
    )


def test_what_only_one_replica_had_of_a_producer_that_began_anew_is_reported_as_lost() -> None:
    first, second = pair()
    lost = do.ReportLoss(UP, Range(Seq(15), Seq(20)))
    assert began_anew(first, 20, 15) == (lost, do.Take(UP, Range(Seq(20), Seq(30))))
    assert began_anew(second, 20, 15)[0] == lost


def test_a_new_epoch_is_joined_anew() -> None:
    """The survivor has won the Lease but not heard of it yet when the other one joins: that was the old
    epoch."""
    _, second = pair()
    second.handle(on.PeerClosed(Millis(500)))
    second.handle(on.SecondaryJoined("job-0"))
    second.handle(on.LeaseWon(lease("job-1", 2)))
    assert second.secondary is None
    (ship,) = second.handle(on.SecondaryJoined("job-0"))
    assert isinstance(ship, do.Ship)
    assert ship.checkpoint.epoch == Epoch(2)
    second.handle(on.CheckpointStored(Epoch(2), ship.checkpoint.number))
    assert second.protected


def test_who_never_confirms_the_state_it_was_given_is_given_up() -> None:
    first, _ = pair()
    first.handle(on.SecondaryJoined("job-2"))
    heard = [first.handle(on.Tick(Millis(now))) for now in range(0, 60_000, 20)]
    assert [kind for commands in heard for kind in kinds(commands) if kind is do.Elect] == [do.Elect]
    first.handle(on.LeaseWon(lease("job-0", 2)))
    assert not first.protected


def test_time_in_which_a_replica_did_not_run_itself_is_no_silence_of_its_peer() -> None:
    first, _ = pair()
    first.handle(on.KeepAlive(Millis(1_000), Epoch(1), {UP: Seq(10)}))
    for now in (1_000, 1_020, 5_000):
        assert do.Elect not in kinds(first.handle(on.Tick(Millis(now))))


def test_a_replica_that_hears_of_a_new_epoch_from_its_peer_joins_again() -> None:
    _, second = pair()
    assert kinds(second.handle(on.KeepAlive(Millis(500), Epoch(2), {UP: Seq(10)}))) == [
        do.StepDown,
        do.ReadLease,
    ]
    assert second.handle(on.LeaseSeen(lease("job-0", 2))) == (do.Follow(lease("job-0", 2)),)


def test_a_survivor_that_knew_an_older_lease_tries_the_one_there_is() -> None:
    first, second = pair()
    first.handle(on.SecondaryLeft("job-1"))
    first.handle(on.LeaseWon(lease("job-0", 2)))
    second.handle(on.LeaseSeen(lease("job-0", 2)))
    (ship,) = first.handle(on.SecondaryJoined("job-1"))
    assert isinstance(ship, do.Ship)
    second.handle(on.CheckpointArrived(ship.checkpoint))
    second.handle(on.PeerClosed(Millis(700)))
    assert second.handle(on.LeaseSeen(lease("job-0", 2))) == (
        do.Elect("a replica is needed", lease("job-0", 2)),
    )


def test_a_replica_that_was_without_input_joins_as_one_that_has_it_all() -> None:
    first, _ = pair()
    first.handle(on.SecondaryLeft("job-1"))
    first.handle(on.Resumes(UP, Seq(10), Seq(15)))
    assert first.numbering.lossy
    first.handle(on.LeaseSeen(lease("job-1", 2)))
    assert not first.numbering.lossy


def test_a_producer_that_is_behind_what_another_has_sent_makes_nothing_new() -> None:
    _, second = pair()
    second.handle(on.Arrived(UP, Range(Seq(10), Seq(20)), Epoch(1)))
    assert second.handle(on.Resumes(UP, Seq(10), Seq(15))) == ()
    assert second.handle(on.Arrived(UP, Range(Seq(15), Seq(20)), Epoch(1))) == ()


def test_a_replica_goes_on_alone_when_the_engine_of_its_peer_stands_still() -> None:
    _, second = pair()
    stalled = on.KeepAlive(Millis(100), Epoch(1), stalled="the JVM did not answer for 3.1 s")
    (elect,) = second.handle(stalled)
    assert isinstance(elect, do.Elect)
    assert "its engine stands still" in elect.why
    assert second.handle(stalled) == ()
