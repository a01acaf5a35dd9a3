"""A primary and a consumer are lost together: the others are served, and the late one gets what is its
own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.modes.test_passive_standby_roles import OUT, UP, lease, processed
from understudy.modes.active_standby import ActiveStandby
from understudy.modes.amnesia import Amnesia
from understudy.modes.instance import Instance
from understudy.modes.logged_backup import LoggedBackup
from understudy.modes.passive_standby import PassiveStandby
from understudy.modes.upstream_backup import UpstreamBackup
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.commands import Commands
from understudy.protocol.detector import Detector
from understudy.protocol.determinants import Determinant
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq
from understudy.protocol.ledger import Ledger, Wiring
from understudy.protocol.watermarks import Step

HERE, AWAY = Consumer("here"), Consumer("away")
WIRING = Wiring({"job": (UP,)}, {"job": (HERE, AWAY)})
DETECTOR = Detector.of(100, 3)
SOON, LATER = Millis(1_000), Millis(9_000)
MODES: dict[str, Callable[[], Instance]] = {
    "amnesia": lambda: Amnesia("job-1", WIRING, DETECTOR),
    "activeStandby": lambda: running(ActiveStandby("job-1", WIRING, DETECTOR, interval=50, exact=False)),
    "upstreamBackup": lambda: UpstreamBackup("job-1", WIRING, DETECTOR, interval=50),
    "upstreamBackup, rollback": lambda: UpstreamBackup("job-1", WIRING, DETECTOR, interval=50, forward=False),
    "upstreamBackup, logged": lambda: LoggedBackup("job-1", WIRING, DETECTOR, interval=50),
}


def running(core: ActiveStandby) -> ActiveStandby:
    """A secondary that has the primary's state of the beginning."""
    core.handle(on.LeaseSeen(lease("job-0", 1)))
    core.handle(on.CheckpointArrived(Ledger.empty(WIRING).checkpoint(Epoch(1), 1)))
    return core


def said(consumer: Consumer, start: int, mark: Step | None = None) -> on.Subscribed:
    return on.Subscribed(OUT, consumer, Seq(start), Epoch(1), mark)


def step(first: int, at: int) -> Step:
    """That made ten tuples of ten."""
    low = {UP: Seq(at)}
    return Step(Seq(first), Seq(first + 10), low, low, {UP: Seq(at + 10)})


def taken_over(core: Instance, answer: on.Subscribed, held_from: int = 0) -> Commands:
    """By a life that hears from one of two consumers; nothing is asked of it before time has passed."""
    core.handle(on.LeaseWon(lease("job-1", 2)))
    core.handle(on.Released(UP, Seq(held_from)))
    core.handle(answer)
    core.handle(on.Tick(Millis(0)))
    waited = core.handle(on.Tick(SOON))
    assert core.roll_open, waited
    return core.handle(on.Tick(LATER))


@pytest.mark.parametrize("mode", MODES)
def test_a_take_over_does_not_wait_for_a_consumer_that_was_lost_in_the_same_failure(mode: str) -> None:
    core = MODES[mode]()
    taken_over(core, said(HERE, 20, step(20, 20)))
    assert not core.roll_open
    made = core.handle(processed(10, 4))
    assert [c.stream for c in made if isinstance(c, do.Publish)] == [OUT]


@pytest.mark.parametrize("mode", MODES)
def test_a_take_over_that_nobody_can_be_served_by_goes_on_waiting(mode: str) -> None:
    core = MODES[mode]()
    core.handle(on.LeaseWon(lease("job-1", 2)))
    core.handle(on.Released(UP, Seq(0)))
    core.handle(on.Tick(Millis(0)))
    core.handle(on.Tick(LATER))
    assert core.roll_open


@pytest.mark.parametrize("mode", ["amnesia", "activeStandby"])
def test_a_late_consumer_that_had_more_counts_on_from_there(mode: str) -> None:
    """It has tuples of the former life under the seqs 20 to 24."""
    core = MODES[mode]()
    taken_over(core, said(HERE, 20))
    core.handle(processed(10, 4))
    core.handle(said(AWAY, 25))
    assert (core.numbering.theirs(OUT, AWAY, 20), core.numbering.theirs(OUT, HERE, 20)) == (25, 20)
    assert core.numbering.ours(OUT, AWAY, 27) == 22
    assert core.ledger.queues[OUT].held == Range(Seq(20), Seq(24)), "it lacks all of them"
    assert core.state(1).shifts == {OUT: {AWAY: 5}}, "whoever goes on with this queue has to know"


@pytest.mark.parametrize("mode", ["amnesia", "activeStandby", "upstreamBackup"])
def test_what_a_late_consumer_lacks_is_kept_for_it(mode: str) -> None:
    """An ack of its own that comes before it is back speaks of the former life's seqs."""
    core = MODES[mode]()
    taken_over(core, said(HERE, 20, step(10, 10)))
    core.handle(processed(20, 30))
    first = core.ledger.queues[OUT].trimmed
    core.handle(on.Acked(OUT, HERE, 1, Seq(40), Epoch(1)))
    core.handle(on.Acked(OUT, AWAY, 1, Seq(40), Epoch(1)))
    assert core.ledger.queues[OUT].trimmed == first


def test_upstream_keeps_all_until_a_late_consumer_is_back() -> None:
    core = MODES["upstreamBackup"]()
    taken_over(core, said(HERE, 20, step(10, 10)), held_from=3)
    core.handle(processed(20, 10))
    core.handle(on.Acked(OUT, HERE, 0, Seq(20), Epoch(1)))
    acks = core.handle(on.Tick(Millis(LATER + 100)))
    assert do.SendAck(UP, 1, Seq(3)) in acks
    core.handle(said(AWAY, 20, step(10, 10)))
    acks = core.handle(on.Tick(Millis(LATER + 200)))
    assert do.SendAck(UP, 1, Seq(3)) not in acks


def test_a_late_consumer_that_had_less_is_a_reason_to_begin_again() -> None:
    """It lacks the tuples from 5 on; what was made again begins with 10."""
    core = MODES["upstreamBackup"]()
    taken_over(core, said(HERE, 20, step(10, 10)), held_from=3)
    assert core.ledger.queues[OUT].trimmed == 10
    again = core.handle(said(AWAY, 5, step(0, 3)))
    assert isinstance(again[0], do.Lead)
    assert do.Replay(UP) in again
    core.handle(on.Released(UP, Seq(3)))
    begun = core.handle(said(HERE, 24, step(20, 20)))
    assert do.Number("job", Seq(0), {UP: Seq(3)}) in begun
    assert not core.roll_open


def test_a_late_consumer_that_can_be_served_is_no_reason_to_begin_again() -> None:
    core = MODES["upstreamBackup"]()
    taken_over(core, said(HERE, 20, step(10, 10)))
    assert core.handle(said(AWAY, 14, step(10, 10))) == ()


def test_the_log_still_counts_when_a_life_begins_again() -> None:
    core = LoggedBackup("job-1", WIRING, DETECTOR, interval=50)
    core.handle(on.LeaseSeen(lease("job-0", 1)))
    core.handle(on.KeepAlive(Millis(0), Epoch(1)))
    steps = tuple(
        Determinant("job", {UP: Seq(n)}, {UP: Seq(n + 10)}, (1,), {UP: Seq(n)}, {UP: Seq(n + 10)}, made(n))
        for n in (0, 10, 20)
    )
    core.handle(on.DeterminantsArrived(Epoch(1), 1, steps, whole=True))
    taken_over(core, said(HERE, 20))
    assert core.ledger.queues[OUT].trimmed == 20
    core.handle(said(AWAY, 10))
    core.handle(on.Released(UP, Seq(0)))
    begun = core.handle(said(HERE, 24))
    assert do.Number("job", Seq(10), {UP: Seq(10)}) in begun


def made(first: int) -> Range:
    return Range(Seq(first), Seq(first + 10))


def test_a_move_waits_until_the_late_consumer_is_back() -> None:
    core = MODES["amnesia"]()
    core.handle(on.SecondaryJoined("job-2"))
    taken_over(core, said(HERE, 20))
    core.handle(on.SecondaryJoined("job-2"))
    assert not core.ready_for("job-2")
    core.handle(said(AWAY, 20))
    assert core.ready_for("job-2")


def test_who_continues_exactly_waits_for_nobody() -> None:
    active = running(ActiveStandby("job-1", WIRING, DETECTOR, interval=50))
    active.handle(on.LeaseWon(lease("job-1", 2)))
    assert not active.roll_open
    passive = PassiveStandby("job-1", WIRING, DETECTOR, interval=50)
    passive.handle(on.LeaseSeen(lease("job-0", 1)))
    state: Checkpoint = Ledger.empty(WIRING).checkpoint(Epoch(1), 1)
    passive.handle(on.CheckpointArrived(state))
    passive.handle(on.LeaseWon(lease("job-1", 2)))
    assert not passive.roll_open
    assert do.Publish(OUT, Seq(4), False) in passive.handle(processed(10, 4))
