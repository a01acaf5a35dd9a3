"""Synchronized and extended backups, event by event (Brettlecker §4.5, §4.6)."""

from __future__ import annotations

from understudy.modes.passive_standby import RESEND
from understudy.modes.synchronized_backup import SynchronizedBackup
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.commands import Commands
from understudy.protocol.detector import Detector
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Wiring
from understudy.protocol.savepoints import Savepoint, Tree

A, B, OUT, NEXT = Stream("a"), Stream("b"), Stream("join"), Consumer("next")
WIRING = Wiring({"join": (A, B)}, {"join": (NEXT,)})


def instance(name: str, extended: bool = False) -> SynchronizedBackup:
    return SynchronizedBackup(name, WIRING, Detector.of(100, 3), interval=50, extended=extended)


def alone(extended: bool = False) -> SynchronizedBackup:
    core = instance("job-0", extended)
    core.handle(on.LeaseWon(LeaseRecord("job-0", "here", Epoch(1))))
    for stream in (A, B):
        core.handle(on.Arrived(stream, Range(Seq(0), Seq(10)), Epoch(1)))
    return core


def primary(extended: bool = False) -> SynchronizedBackup:
    """With a secondary that has its first backup."""
    core = alone(extended)
    core.handle(on.SecondaryJoined("job-1"))
    core.handle(on.CheckpointStored(Epoch(1), shipped(core.handle(on.Tick(Millis(0)))).number))
    return core


def at(core: SynchronizedBackup, a: int, b: int, emitted: int) -> Commands:
    where = {A: Seq(a), B: Seq(b)}
    return core.handle(on.Processed("join", where, where, emitted))


def acked(core: SynchronizedBackup, upto: int) -> Commands:
    return core.handle(on.Acked(OUT, NEXT, 1, Seq(upto), Epoch(1)))


def shipped(commands: Commands) -> Checkpoint:
    (ship,) = (c for c in commands if isinstance(c, do.Ship))
    return ship.checkpoint


def kinds(commands: Commands) -> list[type]:
    return [type(c) for c in commands]


def test_a_backup_goes_out_with_a_request_and_holds_no_output() -> None:
    core = primary()
    at(core, 4, 4, 6)
    commands = core.handle(on.Tick(Millis(50)))
    assert kinds(commands) == [do.Ship, do.RequestBackup]
    assert do.RequestBackup(OUT, Seq(6)) in commands
    assert shipped(commands).elements["join"].held == Range(Seq(6), Seq(6))


def test_it_becomes_permanent_when_the_consumer_has_acked_its_output() -> None:
    core = primary()
    at(core, 4, 4, 6)
    number = shipped(core.handle(on.Tick(Millis(50)))).number
    assert do.MakePermanent not in kinds(acked(core, 5))
    assert do.MakePermanent(Epoch(1), number, {}, {}) in acked(core, 6)


def test_input_is_released_only_when_it_is_permanent() -> None:
    core = primary()
    at(core, 4, 3, 6)
    number = shipped(core.handle(on.Tick(Millis(50)))).number
    assert do.SendAck not in kinds(acked(core, 6))
    released = core.handle(on.CheckpointStored(Epoch(1), number))
    assert {(c.stream, c.upto) for c in released if isinstance(c, do.SendAck)} == {(A, 4), (B, 3)}


def test_a_secondary_continues_from_the_permanent_backup() -> None:
    core, secondary = primary(), instance("job-1")
    at(core, 4, 4, 6)
    first = shipped(core.handle(on.Tick(Millis(50))))
    secondary.handle(on.CheckpointArrived(first))
    assert not secondary.could_continue()
    assert secondary.handle(on.PermanentRequested(Epoch(1), first.number, {}, {})) == (do.Store(first),)
    secondary.handle(on.CheckpointArrived(first.__class__(Epoch(1), first.number + 1, first.elements)))
    assert secondary.stored() == first


def test_a_request_ahead_cuts_a_batch_and_backs_up_there() -> None:
    core = primary()
    assert core.handle(on.BackupRequested(A, Seq(4), Epoch(1))) == (do.CutAt(A, Seq(4)),)
    assert shipped(at(core, 4, 2, 3)).position(A) == 4


def test_a_request_that_was_passed_is_served_where_the_operator_is() -> None:
    core = primary()
    at(core, 6, 6, 0)
    assert shipped(core.handle(on.BackupRequested(A, Seq(4), Epoch(1)))).position(A) == 6


def test_a_request_on_the_other_input_extends_the_pending_backup() -> None:
    core = primary(extended=True)
    at(core, 4, 2, 3)
    number = shipped(core.handle(on.BackupRequested(A, Seq(4), Epoch(1)))).number
    at(core, 5, 3, 2)
    extend = core.handle(on.BackupRequested(B, Seq(3), Epoch(1)))
    assert extend == (do.ExtendBackup(Epoch(1), number, B, Range(Seq(2), Seq(3))),)
    assert do.MakePermanent(Epoch(1), number, {B: Seq(3)}, {}) in acked(core, 3)
    released = core.handle(on.CheckpointStored(Epoch(1), number))
    assert {(c.stream, c.upto) for c in released if isinstance(c, do.SendAck)} == {(A, 4), (B, 3)}


def test_an_extension_that_was_lost_is_not_made_permanent() -> None:
    core, secondary = primary(extended=True), instance("job-1", extended=True)
    at(core, 4, 2, 3)
    backup = shipped(core.handle(on.BackupRequested(A, Seq(4), Epoch(1))))
    secondary.handle(on.CheckpointArrived(backup))
    assert secondary.handle(on.PermanentRequested(Epoch(1), backup.number, {B: Seq(3)}, {})) == ()
    secondary.handle(on.BackupExtended(Epoch(1), backup.number, B, Range(Seq(2), Seq(3))))
    assert kinds(secondary.handle(on.PermanentRequested(Epoch(1), backup.number, {B: Seq(3)}, {}))) == [
        do.Store
    ]


def test_a_take_over_from_an_extended_backup_reads_on_behind_the_extension() -> None:
    core, secondary = primary(extended=True), instance("job-1", extended=True)
    at(core, 4, 2, 3)
    backup = shipped(core.handle(on.BackupRequested(A, Seq(4), Epoch(1))))
    secondary.handle(on.CheckpointArrived(backup))
    secondary.handle(on.BackupExtended(Epoch(1), backup.number, B, Range(Seq(2), Seq(3))))
    secondary.handle(on.PermanentRequested(Epoch(1), backup.number, {B: Seq(3)}, {}))
    commands = secondary.handle(on.LeaseWon(LeaseRecord("job-1", "there", Epoch(2))))
    assert {(c.stream, c.start) for c in commands if isinstance(c, do.ReadInput)} == {(A, 4), (B, 3)}


def test_the_next_backup_takes_over_the_input_that_upstream_has_dropped() -> None:
    core = primary(extended=True)
    at(core, 4, 2, 3)
    number = shipped(core.handle(on.BackupRequested(A, Seq(4), Epoch(1)))).number
    core.handle(on.BackupRequested(B, Seq(3), Epoch(1)))
    acked(core, 3)
    core.handle(on.CheckpointStored(Epoch(1), number))
    at(core, 6, 2, 2)
    commands = core.handle(on.BackupRequested(A, Seq(6), Epoch(1)))
    assert do.ExtendBackup(Epoch(1), number + 1, B, Range(Seq(2), Seq(3))) in commands
    assert do.MakePermanent(Epoch(1), number + 1, {B: Seq(3)}, {}) in acked(core, 5)


def test_a_backup_becomes_permanent_with_the_savepoints_of_the_acks_that_allow_it() -> None:
    core, secondary = primary(), instance("job-1")
    at(core, 4, 4, 6)
    backup = shipped(core.handle(on.Tick(Millis(50))))
    secondary.handle(on.CheckpointArrived(backup))
    tree = Tree(Savepoint({OUT: Seq(6)}, {OUT: Seq(6)}, Seq(1)))
    commands = core.handle(on.Acked(OUT, NEXT, 1, Seq(6), Epoch(1), tree))
    assert do.MakePermanent(Epoch(1), backup.number, {}, {OUT: {NEXT: tree}}) in commands
    secondary.handle(on.PermanentRequested(Epoch(1), backup.number, {}, {OUT: {NEXT: tree}}))
    kept = secondary.stored()
    assert kept is not None
    assert kept.trees == {OUT: {NEXT: tree}}


def test_an_ack_ahead_of_what_was_made_again_counts() -> None:
    """After a take-over a quiet consumer has acked what the new primary makes only now."""
    core = primary()
    acked(core, 6)
    at(core, 4, 4, 6)
    assert do.MakePermanent in kinds(core.handle(on.Tick(Millis(50))))


def test_the_first_backup_of_a_secondary_holds_what_consumers_have_not_acked_and_waits_for_nobody() -> None:
    """It has nothing else to go on from, and a consumer may never ack more: one that makes no output does
    not."""
    core = alone()
    at(core, 4, 4, 6)
    acked(core, 2)
    core.handle(on.SecondaryJoined("job-2"))
    commands = core.handle(on.Tick(Millis(50)))
    backup = shipped(commands)
    assert backup.elements["join"].held == Range(Seq(2), Seq(6))
    assert do.MakePermanent(Epoch(1), backup.number, {}, {}) in commands
    core.handle(on.CheckpointStored(Epoch(1), backup.number))
    assert core.protected


def test_a_backup_that_consumers_do_not_ack_in_time_is_followed_by_one_that_needs_no_ack() -> None:
    core = primary()
    at(core, 4, 3, 6)
    first = shipped(core.handle(on.Tick(Millis(50))))
    commands = core.handle(on.Tick(Millis(50 + 50 * RESEND + 1)))
    assert core.protected, "the secondary has the backup before it"
    (ship,) = (c for c in commands if isinstance(c, do.Ship))
    assert ship.base is None
    assert ship.checkpoint.number > first.number
    assert ship.checkpoint.elements["join"].held == Range(Seq(0), Seq(6))
    released = core.handle(on.CheckpointStored(Epoch(1), ship.checkpoint.number))
    assert {(c.stream, c.upto) for c in released if isinstance(c, do.SendAck)} == {(A, 4), (B, 3)}


def test_who_has_nobody_to_keep_a_backup_makes_none_for_a_request() -> None:
    core = primary()
    at(core, 4, 4, 3)
    core.handle(on.SecondaryLeft("job-1"))
    assert core.handle(on.BackupRequested(A, Seq(6), Epoch(1))) == ()


def test_an_extension_of_another_backup_is_not_added() -> None:
    core, secondary = primary(extended=True), instance("job-1", extended=True)
    at(core, 4, 2, 3)
    backup = shipped(core.handle(on.BackupRequested(A, Seq(4), Epoch(1))))
    secondary.handle(on.CheckpointArrived(backup))
    assert secondary.handle(on.BackupExtended(Epoch(1), backup.number + 1, B, Range(Seq(2), Seq(3)))) == ()
    assert secondary.handle(on.BackupExtended(Epoch(1), backup.number, B, Range(Seq(3), Seq(4)))) == ()


def test_one_extension_of_the_permanent_backup_at_a_time() -> None:
    core = primary(extended=True)
    (extend,) = core.handle(on.BackupRequested(B, Seq(1), Epoch(1)))
    assert isinstance(extend, do.ExtendBackup)
    assert do.ExtendBackup not in kinds(core.handle(on.BackupRequested(A, Seq(1), Epoch(1))))


def test_a_state_without_the_input_that_an_extension_released_cannot_be_taken_up_again() -> None:
    core = primary(extended=True)
    at(core, 4, 2, 3)
    number = shipped(core.handle(on.BackupRequested(A, Seq(4), Epoch(1)))).number
    core.handle(on.BackupRequested(B, Seq(3), Epoch(1)))
    acked(core, 3)
    released = core.handle(on.CheckpointStored(Epoch(1), number))
    assert do.SendAck(B, 1, Seq(3)) in released
    assert core.kept_back() is None, "it is at 2 of B"
    at(core, 5, 3, 1)
    assert core.kept_back() is not None
