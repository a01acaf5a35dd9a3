"""Sweeping checkpoints: right after a trim, and of the moment that the trim leads back to."""

from __future__ import annotations

from tests.modes.test_passive_standby_roles import OUT, UP, WIRING, lease, processed
from understudy.modes.passive_standby import PassiveStandby, Strategy
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import ElementState
from understudy.protocol.commands import Commands
from understudy.protocol.detector import Detector
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq


def sweeping(*, hold_back: bool = False) -> PassiveStandby:
    """A primary with a confirmed checkpoint at input 10, output 10; nothing was acked yet."""
    found = PassiveStandby(
        "job-0", WIRING, Detector.of(100, 3), interval=500, strategy=Strategy.SWEEPING, hold_back=hold_back
    )
    found.handle(on.LeaseSeen(None))
    found.handle(on.LeaseWon(lease("job-0", 1)))
    found.handle(on.SecondaryJoined("job-1"))
    found.handle(processed(10, 10))
    (ship,) = found.handle(on.Tick(Millis(1_000)))
    assert isinstance(ship, do.Ship)
    found.handle(on.CheckpointStored(Epoch(1), ship.checkpoint.number))
    found.handle(on.Tick(Millis(2_000)))
    return found


def shipped(commands: Commands) -> ElementState:
    (ship,) = [c for c in commands if isinstance(c, do.Ship)]
    return ship.checkpoint.elements["job"]


def acked(upto: int) -> on.Acked:
    return on.Acked(OUT, Consumer("down"), 1, Seq(upto), Epoch(1))


def test_nothing_of_the_queue_is_shipped_where_the_state_behind_the_trim_is_known() -> None:
    found = sweeping()
    for upto in (20, 30, 40):
        found.handle(processed(upto, 10))
    state = shipped(found.handle(acked(25)))
    assert state == ElementState({UP: Seq(20)}, {UP: Seq(20)}, Range(Seq(20), Seq(20)))


def test_what_was_released_to_upstream_is_not_asked_for_again() -> None:
    """The state behind the trim is older than the last one stored: better none, until the trim comes
    further."""
    found = sweeping()
    found.handle(processed(20, 10))
    assert not [c for c in found.handle(acked(5)) if isinstance(c, do.Ship)]
    found.handle(processed(30, 10))
    assert shipped(found.handle(acked(20))).positions == {UP: Seq(20)}


def test_a_selection_that_is_forgotten_is_not_gone_back_to() -> None:
    found = sweeping()
    found.handle(processed(20, 10, selection=15))
    found.handle(processed(30, 10, selection=25))
    found.handle(processed(40, 10, selection=35))
    assert shipped(found.handle(acked(25))).positions == {UP: Seq(40)}


def test_output_that_waits_for_its_checkpoint_is_in_it() -> None:
    found = sweeping(hold_back=True)
    for upto in (20, 30):
        found.handle(processed(upto, 10))
    assert shipped(found.handle(acked(10))).held.stop == Seq(30)
