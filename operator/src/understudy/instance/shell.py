"""Carries out the commands of the core, and reports events to it."""

from __future__ import annotations

import threading
from typing import assert_never

import pyarrow as pa
import structlog

from understudy.engine.determinants import choose, follow, lead
from understudy.engine.inbox import Inbox
from understudy.instance.changing import Changing
from understudy.instance.checkpoints import QUEUE
from understudy.instance.context import Context
from understudy.instance.hand_over import Moves
from understudy.instance.inputs import Inputs
from understudy.instance.leases import LeaseKeeper
from understudy.instance.outputs import Outputs
from understudy.instance.overload import LoadMeter
from understudy.instance.peers import Peers
from understudy.instance.recovery import Recovery
from understudy.instance.timeline import TakeOver
from understudy.instance.witnesses import Witnesses
from understudy.modes.transitions import Impossible
from understudy.process.clock import steady_ms
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.commands import Command, Commands
from understudy.protocol.engine import Stand
from understudy.protocol.events import Event
from understudy.protocol.ids import Stream
from understudy.sources.reading import Sources

log = structlog.get_logger()
TICK_SECONDS = 0.02


class Shell:
    def __init__(self, context: Context, sources: Sources) -> None:
        self.context = context
        self.inputs = Inputs(context, sources)
        self.outputs = Outputs(context)
        self.peers = Peers(context)
        self.recovery = Recovery(context)
        self.moves = Moves(context, self.peers)
        self.changing = Changing(
            context, self.peers, self.inputs, self.recovery, self._carry_out_all, self._begin_anew
        )
        self.peers.changes = self.changing
        core = context.core
        at, witnesses = (
            context.surroundings,
            Witnesses(context.job, context.subjob.name, context.surroundings),
        )
        me = (context.subjob.name, core.name, context.address)
        self._lease = LeaseKeeper(
            at, *me, self.post, lambda: context.leading, witnesses.heard, lambda: context.story.engine_stalled
        )
        context.post, context.reread_lease = self.post, self._reread_lease

    # --- life

    def start(self) -> None:
        self._lease.start()
        self._reread_lease("first look")
        self.inputs.start()
        self.recovery.start()
        LoadMeter(self.context).start()
        threading.Thread(target=self._tick_forever, name="ticker", daemon=True).start()

    def stop(self) -> None:
        self.recovery.keep_last()
        self.context.stopping.set()
        self._lease.stop()
        with self.context.lock:
            self._leave_role()

    def stand(self) -> Stand:
        """What would happen to the subjob if this process ended now."""
        with self.context.lock:
            return self.context.core.stand(follows=self.peers.follows_a_working_primary)

    def post(self, event: Event) -> None:
        with self.context.lock:
            was_open = self.context.core.roll_open
            commands = self._decide(event)
            self.moves.notice()
            self._carry_out_all(commands)
            if was_open and not self.context.core.roll_open:
                late = sorted(consumer for _, consumer in self.context.core.numbering.late)
                log.info("roll call ended", late=late)
                self.context.role_changed.notify_all()

    def _decide(self, event: Event) -> Commands:
        """Runs the core. An impossible event ends the process (`SubjobProcess`), on whichever thread it came,
        because threads that read messages of peers catch exceptions and continue."""
        try:
            return self.changing.handle(event)
        except Impossible as error:
            self.context.story.error = str(error)
            raise

    def _tick_forever(self) -> None:
        while not self.context.stopping.wait(min(self.context.heartbeat / 5, TICK_SECONDS)):
            self.post(on.Tick(steady_ms()))
            self.inputs.poll()
            with self.context.lock:
                self.context.note_growth()
                self.peers.watch()
                self.changing.poll()
                self.moves.settle()
                self.outputs.feed_owed()
                self.outputs.note_progress()
                self.context.story.note_arrivals(steady_ms())
                if not self.context.core.moving:
                    self.outputs.finish()

    def _reread_lease(self, why: str) -> None:
        self._lease.order(do.ReadLease(why))

    # --- commands

    def _carry_out_all(self, commands: Commands) -> None:
        for command in commands:
            self._carry_out(command)

    def _carry_out(self, command: Command) -> None:
        match command:
            case do.TryLease():
                self._try_lease(command)
            case do.ReadLease() | do.AskHolder():
                self._lease.order(command)
            case do.Lead():
                self._lead(command)
            case do.Run():
                self._run(command)
            case do.StepDown():
                self._step_down(command)
            case do.Follow():
                self.peers.follow(command)
            case do.Ship():
                self.peers.ship(command)
            case do.Store():
                self.peers.store(command)
            case do.ReportProgress():
                self.peers.report_progress(command)
            case do.SendQueueTrimming():
                self.peers.send_queue_trimming(command)
            case do.ReadInput():
                self.inputs.read(command)
            case do.Take():
                self.inputs.take(command)
            case do.Skip():
                self.inputs.skip(command)
                self._count_replayed()
            case do.ReportLoss():
                self.inputs.report_loss(command)
            case do.SendAck():
                self._send_ack(command)
            case do.Replay():
                self._replay(command)
            case do.Number():
                self.outputs.number(command)
            case do.ShipDeterminants():
                self.peers.ship_determinants(command)
            case do.Choose():
                choose(self.context.inboxes, command.determinants)
            case do.ConfirmDeterminants():
                self.peers.confirm_determinants(command)
            case do.Elect():
                self._try_lease(do.TryLease(command.expected, command.why))
            case do.RequestRecovery():
                self._request_recovery(command)
            case do.AnswerRecovery():
                self.recovery.answer(command)
            case do.NotifyRecovered():
                self.context.role_changed.notify_all()
            case do.ReportMovement():
                log.info("savepoint advanced", epoch=command.epoch)
            case do.Publish():
                self.outputs.publish(command)
            case do.Trim():
                self.outputs.trim(command)
            case do.Renumber():
                self.outputs.renumber(command)
            case do.Pause():
                self.moves.pause(command)
            case do.Resume():
                self.moves.resume(command)
            case do.HandOver():
                self.moves.hand_over(command)
            case do.RequestMigration():
                self.context.story.overload = command.why
            case do.RequestBackup():
                self.context.backups_wanted[command.stream] = command.upto
            case do.CutAt():
                for name in self.context.core.wiring.readers(command.stream):
                    self.context.inboxes[name].end_at(command.stream, command.at)
            case do.KeepTemporary():
                self.peers.keep_temporary(command)
            case do.MakePermanent():
                self.peers.make_permanent(command)
            case do.ExtendBackup():
                self.peers.extend_backup(command)
            case _:
                assert_never(command)

    def _try_lease(self, command: do.TryLease) -> None:
        log.info("trying the lease", why=command.why)
        renews = (
            self.context.leading
            and command.expected is not None
            and command.expected.holder == self.context.core.name
        )
        if command.expected is not None and not renews:
            self.context.story.take_over = TakeOver(
                command.expected.holder, command.why, steady_ms(), self.peers.heard_ms
            )
        self._lease.order(command)

    def _lead(self, command: do.Lead) -> None:
        promoted = steady_ms()
        if not command.beside:
            self.peers.leave()
        if command.live:
            lead(self.context.inboxes)
        else:
            self._reset(command.checkpoint)
        log.info("leading", epoch=command.epoch, why=command.why)
        take_over = self.context.story.take_over
        if take_over is not None and take_over.promoted is None:
            take_over.lease = take_over.promoted = promoted
            take_over.restored = steady_ms()
            if command.live:
                self._aim_at_what_is_there()
            else:
                self._count_replayed()
        self.context.role_changed.notify_all()

    def _aim_at_what_is_there(self) -> None:
        """Sets the positions at which a take-over has caught up, for an instance that ran in parallel with
        the primary. Input that only the primary had processed does not count as replayed."""
        story = self.context.story
        for stream, position in self.context.positions().items():
            story.aim(stream, story.available.get(stream, position))

    def _run(self, command: do.Run) -> None:
        """Runs as an active secondary: with the same state and the same input, but nothing is published."""
        log.info("running beside the primary", epoch=command.epoch)
        self._reset(command.checkpoint, follows=command.waits_for_choices)

    def _send_ack(self, command: do.SendAck) -> None:
        self.inputs.send_ack(command)
        if self.changing.sources_keep_acks and command.stream in self.context.core.wiring.replayable:
            self.recovery.acked(command)

    def _replay(self, command: do.Replay) -> None:
        """Reads an input from where its producer holds it. Until the seqs are settled, the elements take
        input but make no output."""
        for name in self.context.core.wiring.readers(command.stream):
            self.context.inboxes[name].follow(())
        if command.stream in self.context.core.wiring.replayable:
            self.recovery.replay(command)
        else:
            self.inputs.replay(command)

    def _reset(self, checkpoint: Checkpoint | None, *, follows: bool = False) -> None:
        self.context.generation += 1
        self.context.given_up.clear()
        self.context.backups_wanted.clear()
        self.inputs.stop()
        self.outputs.reset()
        for inbox in self.context.inboxes.values():
            inbox.reset()
        if follows:
            follow(self.context.inboxes)
        for name, inbox in self.context.inboxes.items():
            self.context.stores[name].reset(self.context.core.ledger.queues[Stream(name)].held.start)
            if checkpoint is not None:
                self._restore(name, inbox, checkpoint)
        self.outputs.feed_all()

    def _restore(self, name: str, inbox: Inbox, checkpoint: Checkpoint) -> None:
        shelf, held = self.context.shelf, checkpoint.elements[name].held
        tails = {s: self._tail(name, s, checkpoint) for s in checkpoint.elements[name].positions}
        inbox.restore(shelf.inbox(name), {s: t for s, t in tails.items() if t is not None})
        rows = shelf.rows(name, QUEUE)
        if rows is not None:
            self.context.stores[name].append(rows, held.start, None)
        for stream in checkpoint.extended:
            ahead = shelf.ahead(stream)
            if ahead is not None and name in self.context.core.wiring.readers(stream):
                self.inputs.offer(name, stream, ahead)

    def _tail(self, element: str, stream: str, checkpoint: Checkpoint) -> pa.Table | None:
        if stream in self.context.core.wiring.replayable:
            return self.inputs.source_rows(stream, checkpoint.elements[element].tail(Stream(stream)))
        return self.context.shelf.rows(element, stream)

    def _leave_role(self) -> None:
        self.context.generation += 1
        self.recovery.forget_acks()
        self.inputs.stop()
        self.peers.leave()

    def _step_down(self, command: do.StepDown) -> None:
        log.warning("stepping down", why=command.why, keeps=command.keep is not None)
        kept = self.peers.message(command.keep, None) if command.keep is not None else None
        self._lease.withdraw()
        self._leave_role()
        self.context.shelf, self.context.temporary = self.context.shelf.emptied(), None
        if kept is not None:
            self.context.shelf.put(kept, self.context.core.wiring.replayable)
        self._empty()
        self.moves.stepped_down()

    def _request_recovery(self, command: do.RequestRecovery) -> None:
        """Drops the work of an instance that was already leading: the input that its savepoint needs is
        gone."""
        if self.inputs.reading:
            self.context.generation += 1
            self.inputs.stop()
            self._empty()
        self.recovery.request(command)

    def _begin_anew(self) -> None:
        """Drops the state of the former mode, as a standby in a new mode."""
        self.context.generation += 1
        self.inputs.stop()
        self.context.shelf = self.context.shelf.emptied()
        self._empty()

    def _empty(self) -> None:
        for name, inbox in self.context.inboxes.items():
            inbox.reset()
            self.context.stores[name].reset(0)
        self.context.role_changed.notify_all()

    def _count_replayed(self) -> None:
        """Counts the tuples that the former primary had processed and this one must process again."""
        take_over, here = self.context.story.take_over, self.context.positions()
        if take_over is not None and take_over.first_output is None:
            there = self.context.story.primary_positions
            take_over.replayed = sum(max(0, n - here.get(s, n)) for s, n in there.items())
