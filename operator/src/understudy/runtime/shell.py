"""Carries out what the core decides, and tells it what happened."""

from __future__ import annotations

import threading
from typing import assert_never

import pyarrow as pa
import structlog

from understudy.modes.instance import Commands
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.commands import Command
from understudy.protocol.engine import Stand
from understudy.protocol.events import Event
from understudy.protocol.ids import Stream
from understudy.runtime.changing import Changing
from understudy.runtime.checkpoints import QUEUE
from understudy.runtime.clock import steady_ms
from understudy.runtime.determinants import choose, follow, lead
from understudy.runtime.engine.inbox import Inbox
from understudy.runtime.engine.state import InboxState
from understudy.runtime.inputs import Inputs
from understudy.runtime.leases import LeaseKeeper
from understudy.runtime.load import LoadMeter
from understudy.runtime.moves import Moves
from understudy.runtime.outputs import Outputs
from understudy.runtime.peers import Peers
from understudy.runtime.recovery import Recovery
from understudy.runtime.scene import Scene
from understudy.runtime.sources import Sources
from understudy.runtime.timeline import TakeOver
from understudy.runtime.witnesses import Witnesses

log = structlog.get_logger()
TICK_SECONDS = 0.02


class Shell:
    def __init__(self, scene: Scene, sources: Sources) -> None:
        self.scene = scene
        self.inputs = Inputs(scene, sources)
        self.outputs = Outputs(scene)
        self.peers = Peers(scene)
        self.recovery = Recovery(scene)
        self.moves = Moves(scene, self.peers)
        self.changing = Changing(scene, self.peers, self.inputs, self.recovery, self._carry_out_all, self._begin_anew)
        self.peers.changes = self.changing
        core = scene.core
        at, witnesses = scene.surroundings, Witnesses(scene.job, scene.subjob.name, scene.surroundings)
        me = (scene.subjob.name, core.name, scene.address)
        self._lease = LeaseKeeper(
            at, *me, self.post, lambda: scene.leading, witnesses.heard, lambda: scene.story.engine_stalled
        )
        scene.post, scene.reread_lease = self.post, self._reread_lease

    # --- life

    def start(self) -> None:
        self._lease.start()
        self._reread_lease("first look")
        self.inputs.start()
        self.recovery.start()
        LoadMeter(self.scene).start()
        threading.Thread(target=self._tick_forever, name="ticker", daemon=True).start()

    def stop(self) -> None:
        self.recovery.keep_last()
        self.scene.stopping.set()
        self._lease.stop()
        with self.scene.lock:
            self._leave_role()

    def stand(self) -> Stand:
        """What would become of the subjob if this process ended now."""
        with self.scene.lock:
            return self.scene.core.stand(follows=self.peers.follows_a_working_primary)

    def post(self, event: Event) -> None:
        with self.scene.lock:
            was_open = self.scene.core.roll_open
            commands = self.changing.handle(event)
            self.moves.notice()
            self._carry_out_all(commands)
            if was_open and not self.scene.core.roll_open:
                late = sorted(consumer for _, consumer in self.scene.core.late)
                log.info("the roll call is over", late=late)
                self.scene.role_changed.notify_all()

    def _tick_forever(self) -> None:
        while not self.scene.stopping.wait(min(self.scene.heartbeat / 5, TICK_SECONDS)):
            self.post(on.Tick(steady_ms()))
            self.inputs.poll()
            with self.scene.lock:
                self.scene.note_growth()
                self.peers.watch()
                self.changing.poll()
                self.moves.settle()
                self.outputs.feed_owed()
                self.outputs.note_progress()
                self.scene.story.note_arrivals(steady_ms())
                if not self.scene.core.moving:
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
                choose(self.scene.inboxes, command.determinants)
            case do.ConfirmDeterminants():
                self.peers.confirm_determinants(command)
            case do.Elect():
                self._try_lease(do.TryLease(command.expected, command.why))
            case do.RequestRecovery():
                self._request_recovery(command)
            case do.AnswerRecovery():
                self.recovery.answer(command)
            case do.NotifyRecovered():
                self.scene.role_changed.notify_all()
            case do.ReportMovement():
                log.info("this life has made progress", epoch=command.epoch)
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
                self.scene.story.overload = command.why
            case do.RequestBackup():
                self.scene.backups_wanted[command.stream] = command.upto
            case do.CutAt():
                for name in self.scene.core.wiring.readers(command.stream):
                    self.scene.inboxes[name].end_at(command.stream, command.at)
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
        renews = self.scene.leading and command.expected is not None and command.expected.holder == self.scene.core.name
        if command.expected is not None and not renews:
            self.scene.story.take_over = TakeOver(
                command.expected.holder, command.why, steady_ms(), self.peers.heard_ms
            )
        self._lease.order(command)

    def _lead(self, command: do.Lead) -> None:
        promoted = steady_ms()
        if not command.beside:
            self.peers.leave()
        if command.live:
            lead(self.scene.inboxes)
        else:
            self._reset(command.checkpoint)
        log.info("leading", epoch=command.epoch, why=command.why)
        take_over = self.scene.story.take_over
        if take_over is not None and take_over.promoted is None:
            take_over.lease = take_over.promoted = promoted
            take_over.restored = steady_ms()
            if command.live:
                self._aim_at_what_is_there()
            else:
                self._count_replayed()
        self.scene.role_changed.notify_all()

    def _aim_at_what_is_there(self) -> None:
        """Of an instance that has run beside the primary. What the primary was ahead is not processed again."""
        story = self.scene.story
        for stream, position in self.scene.positions().items():
            story.aim(stream, story.available.get(stream, position))

    def _run(self, command: do.Run) -> None:
        """As an active secondary: the same state, the same input, but nothing is published."""
        log.info("running beside the primary", epoch=command.epoch)
        self._reset(command.checkpoint, follows=command.waits_for_choices)

    def _send_ack(self, command: do.SendAck) -> None:
        self.inputs.send_ack(command)
        if self.changing.sources_keep_acks and command.stream in self.scene.core.wiring.replayable:
            self.recovery.acked(command)

    def _replay(self, command: do.Replay) -> None:
        """Until numbers are settled the elements take the input, but make nothing of it."""
        for name in self.scene.core.wiring.readers(command.stream):
            self.scene.inboxes[name].follow(())
        if command.stream in self.scene.core.wiring.replayable:
            self.recovery.replay(command)
        else:
            self.inputs.replay(command)

    def _reset(self, checkpoint: Checkpoint | None, *, follows: bool = False) -> None:
        self.scene.generation += 1
        self.scene.given_up.clear()
        self.scene.backups_wanted.clear()
        self.inputs.stop()
        self.outputs.reset()
        for inbox in self.scene.inboxes.values():
            inbox.reset()
        if follows:
            follow(self.scene.inboxes)
        for name, inbox in self.scene.inboxes.items():
            self.scene.stores[name].reset(self.scene.core.ledger.queues[Stream(name)].held.start)
            if checkpoint is not None:
                self._restore(name, inbox, checkpoint)
        self.outputs.feed_all()

    def _restore(self, name: str, inbox: Inbox, checkpoint: Checkpoint) -> None:
        shelf, held = self.scene.shelf, checkpoint.elements[name].held
        tails = {s: self._tail(name, s, checkpoint) for s in checkpoint.elements[name].positions}
        state = InboxState.from_dict(shelf.inbox(name))
        inbox.restore(state, {s: t for s, t in tails.items() if t is not None})
        rows = shelf.rows(name, QUEUE)
        if rows is not None:
            self.scene.stores[name].append(rows, held.start, None)
        for stream in checkpoint.extended:
            ahead = shelf.ahead(stream)
            if ahead is not None and name in self.scene.core.wiring.readers(stream):
                self.inputs.offer(name, stream, ahead)

    def _tail(self, element: str, stream: str, checkpoint: Checkpoint) -> pa.Table | None:
        if stream in self.scene.core.wiring.replayable:
            return self.inputs.source_rows(stream, checkpoint.elements[element].tail(Stream(stream)))
        return self.scene.shelf.rows(element, stream)

    def _leave_role(self) -> None:
        self.scene.generation += 1
        self.recovery.forget_acks()
        self.inputs.stop()
        self.peers.leave()

    def _step_down(self, command: do.StepDown) -> None:
        log.warning("stepping down", why=command.why, keeps=command.keep is not None)
        kept = self.peers.message(command.keep, None) if command.keep is not None else None
        self._lease.withdraw()
        self._leave_role()
        self.scene.shelf, self.scene.temporary = self.scene.shelf.emptied(), None
        if kept is not None:
            self.scene.shelf.put(kept, self.scene.core.wiring.replayable)
        self._empty()
        self.moves.stepped_down()

    def _request_recovery(self, command: do.RequestRecovery) -> None:
        """Whoever was at work already begins anew: what its savepoint needs is gone."""
        if self.inputs.reading:
            self.scene.generation += 1
            self.inputs.stop()
            self._empty()
        self.recovery.request(command)

    def _begin_anew(self) -> None:
        """As a standby of another mode: what was at hand belongs to the former one."""
        self.scene.generation += 1
        self.inputs.stop()
        self.scene.shelf = self.scene.shelf.emptied()
        self._empty()

    def _empty(self) -> None:
        for name, inbox in self.scene.inboxes.items():
            inbox.reset()
            self.scene.stores[name].reset(0)
        self.scene.role_changed.notify_all()

    def _count_replayed(self) -> None:
        """How many tuples the old primary had processed that this one must process again."""
        take_over, here = self.scene.story.take_over, self.scene.positions()
        if take_over is not None and take_over.first_output is None:
            there = self.scene.story.primary_positions
            take_over.replayed = sum(max(0, n - here.get(s, n)) for s, n in there.items())
