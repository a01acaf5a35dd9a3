"""Operator migration with live state, event by event: the side that moves away, and the target."""

from __future__ import annotations

from dataclasses import replace

from understudy.modes.active_standby import ActiveStandby
from understudy.modes.amnesia import Amnesia
from understudy.modes.instance import Instance
from understudy.modes.leadership import Role
from understudy.modes.moving import Move, Phase
from understudy.modes.passive_standby import PassiveStandby
from understudy.modes.replica_backup import ReplicaBackup
from understudy.modes.savepoint import SavepointMode
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.commands import Commands
from understudy.protocol.detector import Detector
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.failures import LoadWatch
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Wiring
from understudy.protocol.move_limits import PATIENCE
from understudy.protocol.watermarks import Step

UP, OUT, NEXT = Stream("up"), Stream("job"), Consumer("next")
WIRING = Wiring({"job": (UP,)}, {"job": (NEXT,)})
DETECTOR = Detector.of(100, 3)
MOVE = on.MigrationRequested("job-1", "planned")
MINE, THEIRS = LeaseRecord("job-0", "here", Epoch(1)), LeaseRecord("job-1", "there", Epoch(2))


def kinds(commands: Commands) -> list[type]:
    return [type(c) for c in commands]


def leading(core: Instance) -> Instance:
    core.handle(on.LeaseWon(MINE))
    core.handle(on.SecondaryJoined("job-1"))
    core.handle(on.Arrived(UP, Range(Seq(0), Seq(10)), Epoch(1)))
    core.handle(on.Processed("job", {UP: Seq(6)}, {UP: Seq(4)}, 5))
    return core


def amnesia(name: str) -> Amnesia:
    return Amnesia(name, WIRING, DETECTOR)


def protected() -> PassiveStandby:
    core = PassiveStandby("job-0", WIRING, DETECTOR, interval=50)
    leading(core)
    core.handle(on.Tick(Millis(50)))
    core.handle(on.CheckpointStored(Epoch(1), 1))
    return core


def test_it_stands_still_before_the_state_is_taken() -> None:
    core = leading(amnesia("job-0"))
    assert kinds(core.handle(MOVE)) == [do.Pause]
    (hand_over,) = core.handle(on.Paused())
    assert isinstance(hand_over, do.HandOver)
    assert (hand_over.target, hand_over.lease) == ("job-1", MINE)
    assert hand_over.checkpoint is not None
    assert hand_over.checkpoint.position(UP) == 6
    assert hand_over.checkpoint.elements["job"].held == Range(Seq(0), Seq(5))


def test_a_target_that_does_not_follow_yet_is_waited_for() -> None:
    core = amnesia("job-0")
    core.handle(on.LeaseWon(MINE))
    assert core.handle(MOVE) == ()
    assert kinds(core.handle(on.SecondaryJoined("job-1"))) == [do.Pause]


def test_input_that_its_producer_can_not_send_again_is_processed_before_the_move() -> None:
    """A producer in upstream backup that began anew has left out what this instance had received."""
    mark = Step(Seq(0), Seq(10), {}, {}, {})
    core = leading(amnesia("job-0"))
    core.handle(on.Redirected(UP, Epoch(1)))
    core.handle(on.Arrived(UP, Range(Seq(10), Seq(12)), Epoch(1), mark))
    core.handle(on.Redirected(UP, Epoch(2)))
    core.handle(on.Arrived(UP, Range(Seq(12), Seq(20)), Epoch(2), mark))
    assert core.handle(MOVE) == ()
    core.handle(on.Processed("job", {UP: Seq(11)}, {UP: Seq(4)}, 5))
    assert core.handle(on.Tick(Millis(50))) == ()
    core.handle(on.Processed("job", {UP: Seq(12)}, {UP: Seq(4)}, 1))
    assert kinds(core.handle(on.Tick(Millis(100)))) == [do.Pause]


def test_a_repeated_request_changes_nothing() -> None:
    core = leading(amnesia("job-0"))
    core.handle(MOVE)
    assert core.handle(MOVE) == ()


def test_the_target_takes_the_lease_and_continues_exactly_there() -> None:
    source, target = leading(amnesia("job-0")), amnesia("job-1")
    source.handle(MOVE)
    (hand_over,) = source.handle(on.Paused())
    assert isinstance(hand_over, do.HandOver)
    target.handle(on.LeaseSeen(MINE))
    commands = target.handle(on.HandedOver(hand_over.lease, hand_over.checkpoint))
    assert kinds(commands) == [do.Store, do.TryLease]
    commands = target.handle(on.LeaseWon(THEIRS))
    assert do.ReadInput(UP, Seq(6)) in commands
    assert do.Publish(OUT, Seq(5), False) in commands
    assert not target.roll_open


def test_a_state_whose_lease_went_elsewhere_is_not_used() -> None:
    source, target = leading(amnesia("job-0")), amnesia("job-1")
    source.handle(MOVE)
    (hand_over,) = source.handle(on.Paused())
    assert isinstance(hand_over, do.HandOver)
    target.handle(on.HandedOver(hand_over.lease, hand_over.checkpoint))
    target.handle(on.LeaseSeen(LeaseRecord("job-0", "here", Epoch(2))))
    (lead, *_) = target.handle(on.LeaseWon(LeaseRecord("job-1", "there", Epoch(3))))
    assert isinstance(lead, do.Lead)
    assert lead.checkpoint is None


def test_a_target_that_dies_is_fenced_off_before_processing_resumes() -> None:
    core = leading(amnesia("job-0"))
    core.handle(MOVE)
    core.handle(on.Paused())
    (fence,) = (c for c in core.handle(on.SecondaryLeft("job-1")) if isinstance(c, do.TryLease))
    assert fence.expected == MINE
    assert kinds(core.handle(on.LeaseWon(LeaseRecord("job-0", "here", Epoch(2))))) == [do.Resume]
    assert core.move is None


def test_a_target_is_fenced_off_once() -> None:
    core = leading(amnesia("job-0"))
    core.handle(MOVE)
    core.handle(on.Paused())
    assert do.TryLease in kinds(core.handle(on.SecondaryLeft("job-1")))
    assert core.handle(on.SecondaryLeft("job-1")) == ()


def test_a_move_begins_once() -> None:
    core = leading(amnesia("job-0"))
    assert kinds(core.handle(MOVE)) == [do.Pause]
    assert core.handle(on.SecondaryJoined("job-1")) == ()


def test_a_target_that_dies_before_the_hand_over_needs_no_fence() -> None:
    core = leading(amnesia("job-0"))
    core.handle(MOVE)
    assert kinds(core.handle(on.SecondaryLeft("job-1"))) == [do.Resume]


def test_patience_ends() -> None:
    core = leading(amnesia("job-0"))
    core.handle(MOVE)
    core.handle(on.Tick(Millis(1_000)))
    late = Millis(1_001 + PATIENCE * DETECTOR.tau)
    assert do.Resume in kinds(core.handle(on.Tick(late)))


def test_passive_standby_hands_over_with_an_ordinary_checkpoint() -> None:
    core = protected()
    assert do.Pause in kinds(core.handle(MOVE))
    (ship,) = core.handle(on.Paused())
    assert isinstance(ship, do.Ship)
    commands = core.handle(on.CheckpointStored(Epoch(1), ship.checkpoint.number))
    assert commands[-1] == do.HandOver("job-1", MINE, None)
    assert core.move is not None
    assert core.move.phase is Phase.HANDING_OVER


def test_it_keeps_its_state_until_the_target_is_protected() -> None:
    core = protected()
    core.handle(MOVE)
    (ship,) = core.handle(on.Paused())
    assert isinstance(ship, do.Ship)
    core.handle(on.CheckpointStored(Epoch(1), ship.checkpoint.number))
    (down, *_) = core.handle(on.LeaseSeen(THEIRS))
    assert isinstance(down, do.StepDown)
    assert core.role is Role.STANDBY
    assert core.stored() is down.keep is not None
    assert down.keep.position(UP) == 6


def test_the_lease_can_name_the_target() -> None:
    core = leading(amnesia("job-0"))
    assert core.handle(on.LeaseSeen(MINE)) == ()
    named = replace(MINE, successor="job-1")
    assert named == MINE
    assert kinds(core.handle(on.LeaseSeen(named))) == [do.Pause]
    assert core.handle(on.LeaseSeen(named)) == ()


def test_savepoint_continues_with_the_live_state() -> None:
    source, target = (
        leading(SavepointMode("job-0", WIRING, DETECTOR)),
        SavepointMode("job-1", WIRING, DETECTOR),
    )
    source.handle(on.Acked(OUT, NEXT, 1, Seq(2), Epoch(1)))
    source.handle(MOVE)
    (hand_over,) = source.handle(on.Paused())
    assert isinstance(hand_over, do.HandOver)
    target.handle(on.LeaseSeen(MINE))
    target.handle(on.HandedOver(hand_over.lease, hand_over.checkpoint))
    commands = target.handle(on.LeaseWon(THEIRS))
    assert do.ReadInput(UP, Seq(6)) in commands
    assert do.RequestRecovery not in kinds(commands)
    told = [c for c in target.handle(on.Acked(OUT, NEXT, 1, Seq(5), Epoch(1))) if isinstance(c, do.SendAck)]
    assert [ack.upto for ack in told] == [4]


def test_a_savepoint_instance_that_is_given_nothing_recovers_as_ever() -> None:
    target = SavepointMode("job-1", WIRING, DETECTOR)
    assert kinds(target.handle(on.LeaseWon(THEIRS))) == [do.RequestRecovery]


def replicas() -> tuple[ReplicaBackup, ReplicaBackup]:
    """job-0 leads, job-1 has joined it."""
    source, target = (ReplicaBackup(f"job-{n}", WIRING, DETECTOR, interval=50) for n in (0, 1))
    (ship,) = (c for c in leading_replica(source) if isinstance(c, do.Ship))
    target.handle(on.LeaseSeen(MINE))
    target.handle(on.CheckpointArrived(ship.checkpoint))
    source.handle(on.CheckpointStored(Epoch(1), ship.checkpoint.number))
    return source, target


def leading_replica(core: ReplicaBackup) -> Commands:
    core.handle(on.LeaseSeen(None))
    core.handle(on.LeaseWon(MINE))
    return core.handle(on.SecondaryJoined("job-1"))


def test_a_replica_hands_over_only_the_lease() -> None:
    source, target = replicas()
    (hand_over,) = source.handle(on.LeaseSeen(replace(MINE, successor="job-1")))
    assert hand_over == do.HandOver("job-1", MINE, None)
    (taken,) = target.handle(on.HandedOver(MINE, None))
    assert isinstance(taken, do.TryLease)
    assert taken.expected == MINE
    (lead,) = target.handle(on.LeaseWon(THEIRS))
    assert isinstance(lead, do.Lead)
    assert lead.live
    (down, *_) = source.handle(on.LeaseSeen(THEIRS))
    assert isinstance(down, do.StepDown)


def test_a_secondary_in_parallel_that_leaves_may_have_taken_over() -> None:
    core = ActiveStandby("job-0", WIRING, DETECTOR, interval=50)
    leading(core)
    core.handle(on.CheckpointStored(Epoch(1), 1))
    assert kinds(core.handle(MOVE)) == [do.HandOver]
    assert kinds(core.handle(on.SecondaryLeft("job-1"))) == [do.ReadLease]
    (down, *_) = core.handle(on.LeaseSeen(THEIRS))
    assert isinstance(down, do.StepDown)
    assert core.detector.tau == DETECTOR.tau


def test_a_growing_backlog_asks_for_a_move() -> None:
    core = leading(amnesia("job-0"))
    core.load = LoadWatch(limit=5, rounds=2, interval=100)
    asked: list[type] = []
    for n in range(1, 5):
        core.handle(on.Arrived(UP, Range(Seq(10 * n), Seq(10 * n + 10)), Epoch(1)))
        asked += kinds(core.handle(on.Tick(Millis(100 * n))))
    assert do.RequestMigration in asked


NAMED = replace(MINE, successor="job-1")


def asked() -> Instance:
    core = leading(amnesia("job-0"))
    assert kinds(core.handle(on.LeaseSeen(NAMED))) == [do.Pause]
    return core


def test_a_primary_goes_on_when_the_lease_no_longer_names_where_it_was_to_move() -> None:
    core = asked()
    assert core.handle(on.LeaseSeen(NAMED)) == ()
    assert kinds(core.handle(on.LeaseSeen(MINE))) == [do.Resume]
    assert core.move is None


def test_after_the_hand_over_it_takes_the_lease_again_before_it_goes_on() -> None:
    core = asked()
    (hand_over,) = core.handle(on.Paused())
    assert isinstance(hand_over, do.HandOver)
    assert hand_over.lease.successor == "job-1"
    assert kinds(core.handle(on.LeaseSeen(MINE))) == [do.TryLease]
    assert core.handle(on.LeaseSeen(MINE)) == (), "it stands still until the Lease has decided"
    assert kinds(core.handle(on.LeaseWon(LeaseRecord("job-0", "here", Epoch(2))))) == [do.Resume]


def test_another_successor_ends_the_move_to_the_first() -> None:
    core = asked()
    assert kinds(core.handle(on.LeaseSeen(replace(MINE, successor="job-2")))) == [do.Resume]
    core.handle(on.LeaseSeen(replace(MINE, successor="job-2")))
    assert core.move is not None
    assert core.move.target == "job-2"


def test_a_target_takes_the_lease_only_while_that_names_it() -> None:
    for lease, planned in ((NAMED, "job-1"), (MINE, None)):
        (*_, take) = following().handle(on.HandedOver(lease, None))
        assert isinstance(take, do.TryLease)
        expected = take.condition("job-1")
        assert expected is not None
        assert expected.successor == planned


def following() -> Instance:
    core = amnesia("job-1")
    core.handle(on.LeaseSeen(MINE))
    return core


def test_a_standby_whose_primary_dies_in_the_middle_of_a_move_takes_the_lease_whomever_it_names() -> None:
    standby = amnesia("job-1")
    standby.handle(on.LeaseSeen(replace(NAMED, successor="job-2")))
    (take,) = (c for c in standby.handle(on.PeerClosed(Millis(0))) if isinstance(c, do.TryLease))
    expected = take.condition("job-1")
    assert expected is not None
    assert expected.successor is None


def test_a_phase_is_overdue_after_ten_tau_but_not_the_last_one() -> None:
    """While the Lease decides, nobody knows how long its store stays unreachable."""
    late = Millis(PATIENCE * 300 + 1)
    joining = Move("job-1", "planned").seen(Millis(0))
    assert (joining.overdue(Millis(late - 1), 300), joining.overdue(late, 300)) == (False, True)
    assert not joining.enters(Phase.WITHDRAWING).seen(Millis(0)).overdue(late, 300)
    assert not joining.enters(Phase.PAUSING).overdue(late, 300), "nobody has looked at it in this phase yet"
