"""A new life that finds input gone: what it makes must not take the seqs of what the former one sent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.modes.test_passive_standby_roles import OUT, UP, WIRING, lease, processed
from understudy.modes.active_standby import ActiveStandby
from understudy.modes.amnesia import Amnesia
from understudy.modes.change import adopt
from understudy.modes.instance import Instance
from understudy.modes.passive_standby import PassiveStandby
from understudy.modes.replica_backup import ReplicaBackup
from understudy.modes.roll import RollCall
from understudy.modes.savepoint import SavepointMode
from understudy.modes.upstream_backup import UpstreamBackup
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.detector import Detector
from understudy.protocol.ids import Consumer, Epoch, Range, Seq

DOWN = Consumer("down")
DETECTOR = Detector.of(100, 3)
MODES: dict[str, Callable[[str], Instance]] = {
    "passiveStandby": lambda name: PassiveStandby(name, WIRING, DETECTOR, interval=50),
    "activeStandby": lambda name: ActiveStandby(name, WIRING, DETECTOR, interval=50),
    "replicaBackup": lambda name: ReplicaBackup(name, WIRING, DETECTOR, interval=50),
    "savepoint": lambda name: SavepointMode(name, WIRING, DETECTOR),
}


def from_nothing(mode: str) -> Instance:
    """The last with the state has died; upstream holds its input from 80 on. Sixteen tuples were made of
    it."""
    found = MODES[mode]("job-1")
    found.handle(on.LeaseSeen(lease("job-0", 1)))
    found.handle(on.LeaseWon(lease("job-1", 2)))
    if isinstance(found, SavepointMode):  # the predecessor has lost the tree; asked twice, it has no other
        found.handle(on.RecoveryInformation(UP, None))
        assert found.handle(on.Resumes(UP, Seq(0), Seq(80))) == (do.RequestRecovery(UP),)
        found.handle(on.RecoveryInformation(UP, None))
    lost = found.handle(on.Resumes(UP, Seq(0), Seq(80)))
    assert do.ReportLoss(UP, Range(Seq(0), Seq(80))) in lost
    assert found.handle(processed(100, 16)) == ()
    return found


@pytest.mark.parametrize("mode", MODES)
def test_what_is_made_of_the_rest_gets_seqs_that_no_consumer_has(mode: str) -> None:
    """Also if more was made by then than the consumer has: it would take the first eleven for duplicates."""
    found = from_nothing(mode)
    sent = found.handle(on.Subscribed(OUT, DOWN, Seq(11), Epoch(1)))
    assert sent == (do.Renumber(OUT, Range(Seq(0), Seq(16)), Seq(11)), do.Publish(OUT, Seq(27), False))


def test_what_consumers_said_to_a_life_that_recovers_again_is_not_asked_anew() -> None:
    found = SavepointMode("job-1", WIRING, DETECTOR)
    found.handle(on.LeaseWon(lease("job-1", 2)))
    found.handle(on.RecoveryInformation(UP, None))
    found.handle(on.Subscribed(OUT, DOWN, Seq(11), Epoch(1)))
    found.handle(on.Resumes(UP, Seq(0), Seq(80)))
    found.handle(on.RecoveryInformation(UP, None))
    found.handle(on.Resumes(UP, Seq(0), Seq(80)))
    assert not found.roll_open
    assert found.ledger.queues[OUT].next == Seq(11)


@pytest.mark.parametrize("mode", ["passiveStandby", "activeStandby"])
def test_who_serves_those_that_have_forgotten_everything_keeps_its_seqs(mode: str) -> None:
    """They have to learn that something lies before them."""
    found = MODES[mode]("job-1")
    found.handle(on.LeaseWon(lease("job-1", 2)))
    found.handle(processed(100, 16))
    found.handle(on.Acked(OUT, DOWN, 1, Seq(9), Epoch(1)))
    found.handle(on.Subscribed(OUT, DOWN, Seq(9), Epoch(1)))
    roll = RollCall.of(WIRING).heard(on.Subscribed(OUT, DOWN, Seq(0), Epoch(2)))
    renumber, _ = found.send_as_new(roll)
    assert renumber == do.Renumber(OUT, Range(Seq(9), Seq(16)), Seq(9))


@pytest.mark.parametrize("mode", MODES)
def test_an_ack_for_the_former_lifes_seqs_trims_nothing_of_it(mode: str) -> None:
    found = from_nothing(mode)
    assert found.handle(on.Acked(OUT, DOWN, 1, Seq(11), Epoch(1))) == ()
    found.handle(on.Subscribed(OUT, DOWN, Seq(11), Epoch(1)))
    assert found.ledger.queues[OUT].held == Range(Seq(11), Seq(27))


@pytest.mark.parametrize("mode", ["activeStandby", "replicaBackup"])
def test_who_joined_meanwhile_gets_the_state_with_the_new_seqs(mode: str) -> None:
    found = from_nothing(mode)
    found.handle(on.SecondaryJoined("job-2"))
    *_, ship = found.handle(on.Subscribed(OUT, DOWN, Seq(11), Epoch(1)))
    assert isinstance(ship, do.Ship)
    assert ship.checkpoint.elements["job"].held == Range(Seq(11), Seq(27))


@pytest.mark.parametrize("former", [ActiveStandby, UpstreamBackup])
def test_after_a_change_of_mode_nobody_waits_for_consumers_that_have_spoken(
    former: type[ActiveStandby | UpstreamBackup],
) -> None:
    before = former("job-1", WIRING, DETECTOR, interval=50)
    before.handle(on.LeaseWon(lease("job-1", 2)))
    before.handle(on.Subscribed(OUT, DOWN, Seq(0), Epoch(1)))
    before.handle(on.Released(UP, Seq(0)))
    after = PassiveStandby("job-1", WIRING, DETECTOR, interval=50)
    adopt(after, before)
    after.handle(on.Resumes(UP, Seq(0), Seq(80)))
    assert not after.roll_open


def test_what_a_new_producer_sends_under_seqs_that_were_had_of_an_earlier_one_is_reported_as_lost() -> None:
    """A life of this subjob that was replaced has answered the producer's roll call, and had less (seed
    75977)."""
    found = PassiveStandby("job-1", WIRING, DETECTOR, interval=50)
    found.handle(on.LeaseWon(lease("job-1", 1)))
    found.handle(on.Redirected(UP, Epoch(1)))
    found.handle(on.Arrived(UP, Range(Seq(0), Seq(78)), Epoch(1)))
    found.handle(on.Redirected(UP, Epoch(2)))
    lost = do.ReportLoss(UP, Range(Seq(72), Seq(78)))
    assert lost in found.handle(on.Arrived(UP, Range(Seq(78), Seq(80)), Epoch(2), anew=Seq(72)))
    assert lost not in found.handle(on.Arrived(UP, Range(Seq(80), Seq(81)), Epoch(2), anew=Seq(72)))


def test_who_began_anew_says_so_until_a_life_of_the_consumer_has_released_what_came_after() -> None:
    """Before, all that is known further down may speak of the tuples of earlier (seed 58477)."""
    found = Amnesia("job-1", WIRING, DETECTOR)
    found.handle(on.LeaseWon(lease("job-1", 2)))
    found.handle(on.Subscribed(OUT, DOWN, Seq(5), Epoch(3)))
    assert found.books.diverged_for(OUT, DOWN) == Seq(5)
    found.handle(on.Subscribed(OUT, DOWN, Seq(5), Epoch(4)))
    assert found.books.diverged_for(OUT, DOWN) == Seq(5)
    found.handle(on.Acked(OUT, DOWN, 1, Seq(6), Epoch(4)))
    assert found.books.diverged_for(OUT, DOWN) is None
