"""Events that come too late, twice or from somebody else change nothing."""

from __future__ import annotations

import pytest

from tests.modes import test_active_standby as active
from tests.modes import test_replicas as replicas
from tests.modes.test_passive_standby_roles import (
    OUT,
    UP,
    instance,
    kinds,
    lease,
    primary,
    processed,
    protected,
)
from tests.modes.test_upstream import DOWN, MARK, taking_over
from understudy.modes.leadership import Role
from understudy.modes.moving import Phase
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.ids import Epoch, Millis, Range, Seq


def test_an_epoch_that_is_not_newer_ends_nobodys_lead() -> None:
    found = primary()
    assert found.handle(on.NewerEpoch(Epoch(1))) == ()
    assert found.role is Role.PRIMARY


def test_a_standby_has_nothing_to_step_down_from() -> None:
    found = instance("job-1")
    found.handle(on.LeaseSeen(lease("job-0", 1)))
    assert found.handle(on.NewerEpoch(Epoch(2))) == ()


def test_a_lease_that_is_being_tried_is_not_tried_again() -> None:
    _, checkpoint = protected()
    found = instance("job-1")
    found.handle(on.LeaseSeen(lease("job-0", 1)))
    found.handle(on.CheckpointArrived(checkpoint))
    assert kinds(found.handle(on.PeerClosed(Millis(0))))[0] is do.TryLease
    assert found.handle(on.PeerClosed(Millis(10))) == ()


def test_a_move_goes_on_when_another_than_its_target_leaves() -> None:
    found, _ = protected()
    found.handle(on.MigrationRequested("job-1", "planned"))
    assert found.move is not None
    found.handle(on.SecondaryLeft("job-7"))
    assert found.move is not None
    assert found.move.phase is not Phase.JOINING
    assert found.secondary == "job-1"


def test_another_instance_that_leaves_does_not_take_the_secondary_with_it() -> None:
    primary, secondary = active.pair()
    active.both(primary, secondary, 10)
    primary.handle(on.SecondaryAt(Epoch(1), {UP: Seq(10)}))
    primary.handle(on.SecondaryLeft("job-7"))
    assert do.SendAck(UP, 1, Seq(10)) in primary.handle(on.Tick(Millis(50)))
    primary.handle(on.SecondaryLeft("job-1"))
    primary.handle(processed(20, 1))
    assert do.SendAck not in kinds(primary.handle(on.Tick(Millis(100))))


def test_what_upstream_holds_counts_once() -> None:
    found = taking_over()
    assert found.handle(on.Released(UP, Seq(80))) == (do.Skip(UP, Seq(80)),)
    assert found.handle(on.Released(UP, Seq(95))) == ()
    found.handle(on.Subscribed(OUT, DOWN, Seq(50), Epoch(1), MARK))
    assert found.handle(on.Released(UP, Seq(95))) == ()


@pytest.mark.parametrize("epoch", [0, 2])
def test_what_a_replica_says_of_another_epoch_is_not_taken(epoch: int) -> None:
    first, _ = replicas.pair()
    first.handle(processed(20, 1))
    first.handle(on.SecondaryAt(Epoch(epoch), {UP: Seq(20)}))
    assert do.SendAck(UP, 1, Seq(20)) not in first.handle(on.Tick(Millis(50)))
    first.handle(on.SecondaryAt(Epoch(1), {UP: Seq(20)}))
    assert do.SendAck(UP, 1, Seq(20)) in first.handle(on.Tick(Millis(100)))


def test_a_producer_that_says_again_that_it_began_anew_does_not_move_where_new_tuples_begin() -> None:
    _, checkpoint = protected()
    found = instance("job-1")
    found.handle(on.LeaseSeen(lease("job-0", 1)))
    found.handle(on.CheckpointArrived(checkpoint))
    found.handle(on.LeaseWon(lease("job-1", 2)))
    found.handle(on.Arrived(UP, Range(Seq(10), Seq(20)), Epoch(2), anew=Seq(12)))
    found.handle(on.Subscribed(OUT, DOWN, Seq(5), Epoch(1)))
    assert found.numbering.diverged_at == {OUT: Seq(5)}
    found.handle(processed(20, 5))
    found.handle(on.Arrived(UP, Range(Seq(20), Seq(30)), Epoch(2), anew=Seq(12)))
    assert found.numbering.diverged_at == {OUT: Seq(5)}


def test_a_move_waits_for_its_target_and_takes_no_other_secondary() -> None:
    primary, _ = active.pair()
    assert do.HandOver not in kinds(primary.handle(on.MigrationRequested("job-7", "planned")))
    primary, _ = active.pair()
    assert do.HandOver in kinds(primary.handle(on.MigrationRequested("job-1", "planned")))


@pytest.mark.parametrize("epoch", [0, 2])
def test_a_secondary_takes_no_word_of_another_epoch(epoch: int) -> None:
    primary, secondary = active.pair(determinants=True)
    for upto in (10, 20, 30):
        active.both(primary, secondary, upto)
    assert secondary.handle(on.QueueTrimming(Epoch(epoch), {OUT: {UP: Seq(30)}})) == ()
    assert secondary.handle(on.DeterminantsArrived(Epoch(epoch), 1, ())) == ()


def test_a_state_that_a_replica_has_stored_in_another_epoch_does_not_count() -> None:
    first, _ = replicas.pair()
    (ship,) = first.handle(on.SecondaryJoined("job-2"))
    assert isinstance(ship, do.Ship)
    first.handle(on.CheckpointStored(Epoch(2), ship.checkpoint.number))
    assert not first.protected
    first.handle(on.CheckpointStored(Epoch(1), ship.checkpoint.number))
    assert first.protected
