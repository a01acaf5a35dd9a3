"""Passive standby of an arbitrary subjob: only checkpointed tuples leave, as long as somebody could take
over."""

from __future__ import annotations

from dataclasses import replace

from tests.modes.test_passive_standby_roles import OUT, instance, lease, primary, processed, protected
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq

DOWN = Consumer("down")


def test_a_primary_without_a_secondary_forwards_at_once() -> None:
    assert primary(hold_back=True).handle(processed(10, 5)) == (do.Publish(OUT, Seq(5), False),)


def test_what_is_not_checkpointed_is_held_back() -> None:
    found, _ = protected(hold_back=True)
    assert found.handle(processed(20, 5)) == ()


def test_an_end_that_is_not_checkpointed_is_held_back() -> None:
    """The last tuples may have been dropped by chance: the secondary would choose anew."""
    found = primary(hold_back=True)
    found.handle(on.SecondaryJoined("job-1"))
    found.handle(processed(10, 5))
    (ship,) = found.handle(on.Tick(Millis(1_000)))
    assert isinstance(ship, do.Ship)
    found.handle(replace(processed(20, 0), ended=True))
    assert do.Publish(OUT, Seq(5), False) in found.handle(
        on.CheckpointStored(Epoch(1), ship.checkpoint.number)
    )
    (ship,) = found.handle(on.Tick(Millis(2_000)))
    assert isinstance(ship, do.Ship)
    assert do.Publish(OUT, Seq(5), True) in found.handle(
        on.CheckpointStored(Epoch(1), ship.checkpoint.number)
    )


def test_a_lost_secondary_is_fenced_off_before_the_primary_goes_on_alone() -> None:
    found, _ = protected(hold_back=True)
    found.handle(processed(20, 5))
    (fence,) = found.handle(on.SecondaryLeft("job-1"))
    assert fence == do.TryLease(lease("job-0", 1), "to fence off the lost secondary")
    assert found.handle(processed(30, 5)) == ()
    assert found.handle(on.LeaseWon(lease("job-0", 2))) == (do.Publish(OUT, Seq(15), False),)
    assert found.handle(processed(40, 5)) == (do.Publish(OUT, Seq(20), False),)


def test_a_fence_that_failed_is_tried_again_while_the_lease_is_still_ours() -> None:
    found, _ = protected(hold_back=True)
    found.handle(on.SecondaryLeft("job-1"))
    (again,) = found.handle(on.LeaseSeen(lease("job-0", 1)))
    assert isinstance(again, do.TryLease)


def test_a_secondary_that_comes_back_waits_for_the_fence() -> None:
    found, _ = protected(hold_back=True)
    found.handle(on.SecondaryLeft("job-1"))
    (fence,) = found.handle(on.SecondaryJoined("job-1"))
    assert isinstance(fence, do.TryLease)
    assert found.handle(on.Tick(Millis(9_000))) == ()
    found.handle(on.LeaseWon(lease("job-0", 2)))
    (ship,) = found.handle(on.Tick(Millis(9_500)))
    assert isinstance(ship, do.Ship)
    assert (ship.base, ship.checkpoint.epoch) == (None, Epoch(2))


def test_a_standby_forgets_a_checkpoint_of_an_epoch_that_is_over() -> None:
    _, checkpoint = protected(hold_back=True)
    standby = instance("job-1", hold_back=True)
    standby.handle(on.LeaseSeen(lease("job-0", 1)))
    standby.handle(on.CheckpointArrived(checkpoint))
    assert standby.could_continue()
    standby.handle(on.KeepAlive(Millis(1), Epoch(2)))
    assert not standby.could_continue()


def test_who_begins_without_a_checkpoint_sends_its_tuples_as_new_ones() -> None:
    late = instance("job-2", hold_back=True)
    late.handle(on.LeaseSeen(lease("job-1", 2)))
    late.handle(on.LeaseWon(lease("job-2", 3)))
    assert late.roll_open
    assert late.handle(processed(10, 5)) == ()
    commands = late.handle(on.Subscribed(OUT, DOWN, Seq(40), Epoch(1)))
    assert commands == (do.Renumber(OUT, Range(Seq(0), Seq(5)), Seq(40)), do.Publish(OUT, Seq(45), False))
