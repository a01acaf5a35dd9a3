"""A live change of mode, event by event: what is released while two modes run side by side, and when it is
over."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from understudy.modes.active_standby import ActiveStandby
from understudy.modes.amnesia import Amnesia
from understudy.modes.change import Change, adopt
from understudy.modes.instance import Instance
from understudy.modes.leadership import Role
from understudy.modes.logged_backup import LoggedBackup
from understudy.modes.passive_standby import PassiveStandby
from understudy.modes.replica_backup import ReplicaBackup
from understudy.modes.savepoint import SavepointMode
from understudy.modes.upstream_backup import UpstreamBackup
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.commands import Commands
from understudy.protocol.delivered_acks import DeliveredAcks
from understudy.protocol.detector import Detector
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Wiring

IN, OUT, SINK = Stream("in"), Stream("win"), Consumer("sink/out")
WIRING = Wiring({"win": (IN,)}, {"win": (SINK,)})
DETECTOR = Detector.of(100, 3)


def passive() -> PassiveStandby:
    """A primary with a standby that has stored its state at position 40."""
    core = PassiveStandby("win-0", WIRING, DETECTOR, interval=100)
    core.handle(on.LeaseWon(LeaseRecord("win-0", "here", Epoch(1))))
    core.handle(on.SecondaryJoined("win-1"))
    feed(core, 0, 40)
    core.handle(on.Tick(Millis(1_000)))
    core.handle(on.CheckpointStored(Epoch(1), 1))
    return core


def feed(core: Instance | Change, start: int, stop: int, behind: int = 10) -> Commands:
    """Ten tuples in, one out; the state needs the last `behind` of the input."""
    arrived = core.handle(on.Arrived(IN, Range(Seq(start), Seq(stop)), Epoch(1)))
    selection = {IN: Seq(max(0, stop - behind))}
    made = on.Processed("win", {IN: Seq(stop)}, selection, (stop - start) // 10)
    return (*arrived, *core.handle(made))


def ack(core: Instance | Change, upto: int) -> Commands:
    return core.handle(on.Acked(OUT, SINK, 1, Seq(upto), Epoch(1)))


def releases(commands: Commands) -> list[int]:
    return [int(c.upto) for c in commands if isinstance(c, do.SendAck) and c.level == 1]


def upstream() -> Instance:
    return UpstreamBackup("win-0", WIRING, DETECTOR, interval=50)


def logged() -> Instance:
    return LoggedBackup("win-0", WIRING, DETECTOR, interval=50)


def savepoint() -> Instance:
    return SavepointMode("win-0", WIRING, DETECTOR)


@pytest.mark.parametrize("successor", [upstream, logged, savepoint])
def test_the_new_mode_stands_alone_when_upstream_holds_all_that_it_needs(
    successor: Callable[[], Instance],
) -> None:
    change = Change(passive(), successor())
    assert change.waits_for is not None
    feed(change, 40, 50)  # needs 40..50, and what it made of 0..40 was released upstream
    ack(change, 4)
    change.handle(on.Tick(Millis(2_000)))
    assert change.waits_for is not None
    feed(change, 50, 60)
    ack(change, 6)
    change.handle(on.Tick(Millis(3_000)))
    assert change.waits_for is None


@pytest.mark.parametrize("successor", [upstream, logged, savepoint])
def test_upstream_releases_what_neither_mode_needs(successor: Callable[[], Instance]) -> None:
    former = passive()
    change = Change(former, successor())
    said: Commands = ()
    for at in range(40, 100, 10):
        said += (*feed(change, at, at + 10), *ack(change, at // 10 + 1))
        said += change.handle(on.Tick(Millis(1_000 + at * 10)))
        said += change.handle(on.CheckpointStored(Epoch(1), former.number))
    assert releases(said), "it goes on to release"
    confirmed = former.replays_from(IN, DeliveredAcks())
    assert max(releases(said)) <= min(confirmed, 90), "no more than the standby of the former mode has"


def test_a_source_hears_from_the_new_mode_alone() -> None:
    """The former one may have nothing to say to it: a source can be read again."""
    wiring = Wiring({"win": (IN,)}, {"win": (SINK,)}, frozenset({IN}))
    former = ActiveStandby("win-0", wiring, DETECTOR, interval=50)
    former.handle(on.LeaseWon(LeaseRecord("win-0", "here", Epoch(1))))
    change = Change(former, SavepointMode("win-0", wiring, DETECTOR))
    said: Commands = ()
    for at in range(0, 30, 10):
        said += (*feed(change, at, at + 10), *ack(change, at // 10 + 1))
    assert releases(said) == [0, 10, 20]
    assert all(c.tree for c in said if isinstance(c, do.SendAck))
    assert change.waits_for is None


def test_the_books_are_those_of_the_former_mode() -> None:
    former, successor = passive(), Amnesia("win-0", WIRING, DETECTOR)
    adopt(successor, former)
    assert (successor.role, successor.epoch, successor.ledger) == (Role.PRIMARY, Epoch(1), former.ledger)
    assert releases(feed(successor, 40, 50)) == [50], "and it decides from here on"


def test_a_late_word_about_a_state_of_the_former_mode_does_not_count() -> None:
    former = passive()
    successor = PassiveStandby("win-0", WIRING, DETECTOR, interval=100)
    adopt(successor, former)
    successor.handle(on.SecondaryJoined("win-1"))
    successor.handle(on.Tick(Millis(2_000)))
    successor.handle(on.CheckpointStored(Epoch(1), former.number))
    assert not successor.protected
    successor.handle(on.CheckpointStored(Epoch(1), successor.number))
    assert successor.protected


def test_what_another_mode_held_back_is_sent_when_the_standby_has_the_log() -> None:
    former = PassiveStandby("win-0", WIRING, DETECTOR, interval=100, hold_back=True)
    former.handle(on.LeaseWon(LeaseRecord("win-0", "here", Epoch(1))))
    former.handle(on.SecondaryJoined("win-1"))
    feed(former, 0, 40)
    successor = logged()
    adopt(successor, former)
    (whole,) = successor.handle(on.SecondaryJoined("win-1"))
    assert isinstance(whole, do.ShipDeterminants)
    assert do.Publish(OUT, Seq(4), False) in successor.handle(on.DeterminantsStored(Epoch(1), whole.number))


def test_settings_of_the_same_mode_are_taken_over_without_a_change() -> None:
    core = passive()
    core.retune(PassiveStandby("win-0", WIRING, Detector.of(50, 5), interval=20))
    assert (core.interval, core.detector.interval, core.detector.misses) == (20, 50, 5)
    assert core.protected


@pytest.mark.parametrize("core", [PassiveStandby, ActiveStandby, ReplicaBackup, UpstreamBackup, LoggedBackup])
def test_settings_of_the_same_mode_are_taken_over(core: Callable[..., Instance]) -> None:
    found = core("win-0", WIRING, DETECTOR, interval=100)
    found.retune(core("win-0", WIRING, Detector.of(200, 3), interval=700))
    assert getattr(found, "interval", None) == 700
    assert found.detector.tau == Detector.of(200, 3).tau


def test_settings_of_another_mode_are_not() -> None:
    found = PassiveStandby("win-0", WIRING, DETECTOR, interval=100)
    found.retune(Amnesia("win-0", WIRING, DETECTOR))
    assert found.interval == 100
