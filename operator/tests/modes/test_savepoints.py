"""Savepoints event by event (Koldehofe, Figures 6 and 7), where there is a Lease, and what predecessors in
other modes keep."""

from __future__ import annotations

from tests.modes.test_passive_standby_roles import OUT, UP, WIRING, instance, kinds, lease, primary, processed
from understudy.modes.leadership import Role
from understudy.modes.savepoint import SavepointMode
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.detector import Detector
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Wiring
from understudy.protocol.savepoints import Savepoint, Tree, latest

DOWN = Consumer("down")


def operator(name: str = "job-0") -> SavepointMode:
    return SavepointMode(name, WIRING, Detector.of(100, 3))


def acked() -> tuple[SavepointMode, Tree]:
    """Two steps of five tuples, each with a selection of four; the consumer has released the first step."""
    found = operator()
    found.handle(on.LeaseSeen(None))
    found.handle(on.LeaseWon(lease("job-0", 1)))
    found.handle(processed(10, 5, selection=6))
    found.handle(processed(20, 5, selection=16))
    commands = found.handle(on.Acked(OUT, DOWN, 1, Seq(5), Epoch(1)))
    (ack,) = [c for c in commands if isinstance(c, do.SendAck)]
    assert ack.tree is not None
    return found, ack.tree


def test_an_ack_carries_the_selection_of_the_first_step_that_follows() -> None:
    _, tree = acked()
    assert tree.root == Savepoint({UP: Seq(6)}, {UP: Seq(10)}, Seq(5))


def test_a_spare_asks_for_its_tree_and_begins_with_its_selection() -> None:
    _, tree = acked()
    spare = operator("job-1")
    spare.handle(on.LeaseSeen(lease("job-0", 1)))
    assert kinds(spare.handle(on.PeerClosed(Millis(1)))) == [do.TryLease]
    assert spare.handle(on.LeaseWon(lease("job-1", 2))) == (do.RequestRecovery(UP),)
    assert spare.role is Role.STANDBY
    lead, skip, number, read, _ = spare.handle(on.RecoveryInformation(UP, tree))
    assert isinstance(lead, do.Lead)
    assert (skip, read) == (do.Skip(UP, Seq(6)), do.ReadInput(UP, Seq(6)))
    assert number == do.Number("job", Seq(5), {UP: Seq(10)})
    assert (spare.role, spare.epoch) == (Role.PRIMARY, Epoch(2))


def test_of_two_savepoints_with_the_same_next_event_the_one_that_needs_less_input_counts() -> None:
    """Of two lives that run side by side, one has taken input that makes nothing: upstream has pruned by
    that."""
    later, earlier = tree(2, left=3, right=1), tree(2, left=2, right=1)
    assert latest([later, earlier]) is later
    assert latest([earlier, later]) is later
    found = primary()
    found.handle(processed(10, 5))
    found.handle(on.Acked(OUT, DOWN, 1, Seq(2), Epoch(1), later))
    found.handle(on.Acked(OUT, DOWN, 1, Seq(2), Epoch(1), earlier))
    assert found.handle(on.RecoveryRequested(OUT, DOWN)) == (do.AnswerRecovery(OUT, DOWN, later),)


def test_what_upstream_lacks_for_the_newest_savepoint_is_lost_and_reported() -> None:
    found, tree = acked()
    assert found.handle(on.Resumes(UP, Seq(6), Seq(9))) == (do.RequestRecovery(UP),)
    found.handle(on.RecoveryInformation(UP, tree))
    assert do.ReportLoss(UP, Range(Seq(6), Seq(9))) in found.handle(on.Resumes(UP, Seq(6), Seq(9)))


def test_a_replacement_asks_as_often_as_a_suspect_that_lives_has_made_a_newer_savepoint() -> None:
    spare = operator("job-1")
    spare.handle(on.LeaseSeen(lease("job-0", 1)))
    spare.handle(on.LeaseWon(lease("job-1", 2)))
    for ahead in (0, 1, 2):
        newer = Tree(Savepoint({UP: Seq(6 + ahead)}, {UP: Seq(10 + ahead)}, Seq(5 + ahead)))
        spare.handle(on.RecoveryInformation(UP, newer))
        assert spare.handle(on.Resumes(UP, Seq(0), Seq(7 + ahead))) == (do.RequestRecovery(UP),)
    spare.handle(on.RecoveryInformation(UP, newer))
    assert do.ReportLoss(UP, Range(Seq(8), Seq(9))) in spare.handle(on.Resumes(UP, Seq(0), Seq(9)))


def test_a_life_that_recovers_gives_up_when_another_has_taken_the_lease() -> None:
    found, tree = acked()
    assert found.handle(on.Resumes(UP, Seq(6), Seq(9))) == (do.RequestRecovery(UP),)
    assert kinds(found.handle(on.LeaseSeen(lease("job-1", 2)))) == [do.StepDown, do.Follow]
    found.handle(on.KeepAlive(Millis(1), Epoch(2)))
    assert found.handle(on.RecoveryInformation(UP, tree)) == ()
    assert found.role is Role.STANDBY


def test_a_new_producer_is_sent_the_tree_again() -> None:
    found, tree = acked()
    assert found.handle(on.Redirected(UP, Epoch(2))) == (do.SendAck(UP, 1, Seq(6), tree),)


def test_a_predecessor_in_another_mode_keeps_the_tree() -> None:
    _, tree = acked()
    found = primary()
    found.handle(processed(10, 5))
    found.handle(on.Acked(OUT, DOWN, 1, Seq(2), Epoch(1), tree))
    assert found.handle(on.RecoveryRequested(OUT, DOWN)) == (do.AnswerRecovery(OUT, DOWN, tree),)
    found.handle(on.SecondaryJoined("job-1"))
    (ship,) = found.handle(on.Tick(Millis(1_000)))
    assert isinstance(ship, do.Ship)
    secondary = instance("job-1")
    secondary.handle(on.CheckpointArrived(ship.checkpoint))
    secondary.handle(on.LeaseWon(lease("job-1", 2)))
    assert secondary.handle(on.RecoveryRequested(OUT, DOWN)) == (do.AnswerRecovery(OUT, DOWN, tree),)


# ---- Figure 6: an operator with two successors -----------------------------------------------------------


LEFT, RIGHT, ONE, TWO = Stream("left"), Stream("right"), Consumer("one"), Consumer("two")
JOIN = Wiring({"join": (LEFT, RIGHT)}, {"join": (ONE, TWO)})
JOINED = Stream("join")


def at(left: int, right: int) -> dict[Stream, Seq]:
    return {LEFT: Seq(left), RIGHT: Seq(right)}


def tree(next_seq: int, left: int = 0, right: int = 0) -> Tree:
    return Tree(Savepoint(at(left, right), at(left, right), Seq(next_seq)))


def join() -> SavepointMode:
    """Three events of five tuples each from both sides."""
    found = SavepointMode("join-0", JOIN, Detector.of(100, 3))
    found.handle(on.Started(Epoch(1), fresh=True))
    for n in (5, 10, 15):
        found.handle(on.Processed("join", at(n, n), at(n - 1, n - 2), 1))
    return found


def test_an_ack_counts_when_it_moves_the_oldest_of_all_successors() -> None:
    found, below = join(), tree(9)
    alone = found.handle(on.Acked(JOINED, ONE, 1, Seq(2), Epoch(1), below))
    assert not any(isinstance(c, do.SendAck) for c in alone)
    commands = found.handle(on.Acked(JOINED, TWO, 1, Seq(1), Epoch(1)))
    assert do.Trim(JOINED, Seq(1)) in commands  # Q_O is pruned up to the oldest
    acks = [c for c in commands if isinstance(c, do.SendAck)]
    assert [(a.stream, a.upto) for a in acks] == [
        (LEFT, Seq(4)),
        (RIGHT, Seq(3)),
    ]  # f⁻¹ of the event that follows
    for ack in acks:
        assert ack.tree is not None
        assert ack.tree.root == Savepoint(at(4, 3), at(5, 5), Seq(1))
        assert ack.tree.children == {JOINED: {ONE: below}}  # the successors' trees under the own savepoint


# ---- Figure 7: recovery ----------------------------------------------------------------------------------


def replacement() -> SavepointMode:
    found = SavepointMode("join-1", JOIN, Detector.of(100, 3))
    asked = found.handle(on.Started(Epoch(2), fresh=False))
    assert asked == (do.RequestRecovery(LEFT), do.RequestRecovery(RIGHT))
    return found


def test_a_replacement_waits_for_all_predecessors_and_takes_the_highest_next_seq() -> None:
    found = replacement()
    assert found.handle(on.RecoveryInformation(LEFT, tree(2, 9, 8))) == ()
    commands = found.handle(on.RecoveryInformation(RIGHT, tree(1, 4, 3)))
    assert found.role is Role.PRIMARY
    assert [c for c in commands if isinstance(c, do.ReadInput)] == [
        do.ReadInput(LEFT, Seq(9)),
        do.ReadInput(RIGHT, Seq(8)),
    ]
    assert do.Number("join", Seq(2), at(9, 8)) in commands
    assert do.NotifyRecovered(JOINED) in commands


def test_a_request_that_a_failed_predecessor_lost_is_sent_again_when_it_has_recovered() -> None:
    found = replacement()
    found.handle(on.RecoveryInformation(LEFT, tree(2)))
    assert found.handle(on.RecoveryNotified(RIGHT)) == (do.RequestRecovery(RIGHT),)
    assert found.handle(on.RecoveryNotified(LEFT)) == ()  # that one has answered


def test_while_it_recovers_an_operator_does_not_answer_its_successors() -> None:
    found = replacement()
    assert found.handle(on.RecoveryRequested(JOINED, ONE)) == ()


def test_a_pause_that_ends_while_an_operator_recovers_again_counts_for_nothing() -> None:
    """It was to move, and stood still for that, when it heard that its input is gone."""
    found = operator("job-1")
    found.handle(on.LeaseSeen(lease("job-0", 1)))
    found.handle(on.LeaseWon(lease("job-1", 2)))
    found.handle(on.RecoveryInformation(UP, acked()[1]))
    found.handle(on.SecondaryJoined("job-2"))
    assert do.Pause in kinds(found.handle(on.MigrationRequested("job-2", "planned")))
    assert do.RequestRecovery(UP) in found.handle(on.Resumes(UP, Seq(0), Seq(80)))
    assert found.handle(on.Paused()) == ()
