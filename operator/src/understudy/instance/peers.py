"""The other instance of this subjob: a primary ships to it as its secondary, a standby follows it as its
primary."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, assert_never

import pyarrow as pa
import structlog

from understudy.engine.determinants import heard_of
from understudy.engine.state import InboxState
from understudy.instance.checkpointformat import Letter, Unpacking, letters_of, table_to_bytes
from understudy.instance.checkpoints import QUEUE, Message, Shelf, to_ship
from understudy.instance.context import Context
from understudy.instance.following import Follower, Me
from understudy.model.ha import Ha
from understudy.modes.build import millis
from understudy.process.clock import now_ms, steady_ms
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.contact import Step, Verdict, next_step
from understudy.protocol.detector import Detector
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Millis, Range, Seq, Stream
from understudy.protocol.peermessage import (
    Chosen,
    Determinants,
    Extension,
    HandOver,
    InForce,
    KeepAlive,
    MakePermanent,
    Progress,
    Said,
    Shipped,
    Stored,
    Trimming,
    to_bytes,
)
from understudy.protocol.watermarks import Marks

log = structlog.get_logger()
FIRST_CONTACT_MS = 2_000  # before the first keep-alive of a primary: connecting may take this long
SILENCE = 6  # keep-alive intervals of silence after which a secondary counts as lost
LEAST_SILENCE_MS = 1_000
LOOK_AGAIN_SECONDS = 0.1
CONNECT_AGAIN_SECONDS = 0.3  # after a connection that could not be made
FIRST_CHANCE_MS = 5_000  # for the secondary of a primary that accepted no other


@dataclass(frozen=True, slots=True)
class Succession:
    """The hand-over of this Lease, with the live state if the secondary has none."""

    lease: LeaseRecord
    message: Message | None


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A message with rows."""

    said: Extension
    rows: bytes


Plain = KeepAlive | InForce | Trimming | Determinants | MakePermanent
Item = Message | Succession | Enclosure | Plain
Outbox = queue.SimpleQueue[Item]


class Changes(Protocol):
    """The part of live changes that concerns the other instance."""

    def dictated(self, ha: Ha) -> None: ...
    def before_state(self) -> None: ...
    def secondary_joined(self, name: str) -> None: ...


class Peers:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._follower: Follower | None = None
        self._outbox: Outbox | None = None
        self._secondary: str | None = None
        self._watched = self._detector()
        self.secondary_address: str | None = None
        self.secondary_mode: str | None = None
        self.changes: Changes
        self.heard_ms: Millis | None = None  # the last sign of life of the other instance
        self._followed: LeaseRecord | None = None
        self._primary_stalled: str | None = None  # as a secondary: why the primary's engine has stalled
        self.shipped_to_secondary = 0  # bytes, since the secondary joined
        self._behind_until = 0  # until then another secondary may take over first
        # what has just arrived, until the core has decided where it is stored
        self._arriving: Shelf | None = None

    @property
    def _interval(self) -> int:
        return millis(self._context.subjob.ha.heartbeat.interval)

    @property
    def secondary(self) -> str | None:
        return self._secondary

    def _detector(self) -> Detector:
        """A new detector for the secondary, which counts as heard now."""
        fresh = Detector.of(self._interval, max(SILENCE, LEAST_SILENCE_MS // self._interval))
        return fresh.on_keep_alive(steady_ms())

    def leave(self) -> None:
        """Leaves the role: stops following and shipping."""
        if self._follower is not None:
            self._follower.stop()
        self._follower = None
        self._secondary = self._outbox = self.secondary_address = self.secondary_mode = None

    # --- as secondary

    def follow(self, command: do.Follow) -> None:
        self.leave()
        log.info("following", primary=command.primary.holder, epoch=command.primary.epoch)
        self._context.story.take_over = None
        if command.primary != self._followed:
            self._followed, self.heard_ms, self._primary_stalled = command.primary, None, None
        self._context.post(on.FirstContact(Millis(steady_ms() + FIRST_CONTACT_MS), command.primary.epoch))
        me = Me(self._context.core.name, self._context.address, str(self._context.subjob.ha.mode))
        unpacking = Unpacking(self._context.shelf.spill)
        self._follower = Follower(
            command.primary,
            me,
            lambda: self._context.heartbeat,
            self,
            unpacking,
            self._context.lock,
            lambda: self._context.story.engine_stalled,
        )
        self._follower.start()

    def report_progress(self, command: do.ReportProgress) -> None:
        """Sends this instance's positions to the other instance, whether this one follows it or is followed
        by it."""
        if self._follower is not None:
            self._follower.say(Progress(epoch=command.epoch, positions=command.positions))
        if self._outbox is not None:
            self._outbox.put(KeepAlive(epoch=command.epoch, positions=command.positions))

    def confirm_determinants(self, command: do.ConfirmDeterminants) -> None:
        if self._follower is not None:
            self._follower.say(Chosen(epoch=command.epoch, number=command.number))

    @property
    def follows_a_working_primary(self) -> bool:
        return self._follower is not None and self.heard_ms is not None and self._primary_stalled is None

    def alive(self, said: Said) -> None:
        self.heard_ms = Millis(steady_ms() - said.still_ms)
        self._primary_stalled = said.stalled
        self._behind_until = 0
        positions = said.positions if isinstance(said, KeepAlive) and said.positions else None
        if positions is not None:
            self._context.story.primary_positions = {s: int(n) for s, n in positions.items()}
        self._context.post(on.KeepAlive(steady_ms(), said.epoch, positions, said.stalled))

    def told(self, said: InForce | Trimming | Determinants | MakePermanent) -> None:
        match said:
            case InForce():
                self.changes.dictated(Ha.model_validate(said.ha))
            case Trimming():
                self._context.post(on.QueueTrimming(said.epoch, said.high, said.trees))
            case Determinants():
                heard_of(self._context.inboxes, said.steps)
                found = on.DeterminantsArrived(said.epoch, said.number, said.steps, said.whole, said.needed)
                self._context.post(found)
            case MakePermanent():
                asked = on.PermanentRequested(said.epoch, said.number, said.extended, said.trees)
                self._context.post(asked)
            case _:
                assert_never(said)

    def checkpoint(self, message: Message) -> None:
        """The core decides where it is stored: on the shelf (`store`), or temporarily beside it
        (`keep_temporary`)."""
        context = self._context
        with context.lock:
            if message.checkpoint.epoch < context.core.epoch:
                return
            self.changes.before_state()
            if context.leading:
                return
            self._arriving = context.shelf.with_(message, context.core.wiring.replayable)
            context.post(on.CheckpointArrived(message.checkpoint))
            self._arriving = None

    def store(self, command: do.Store) -> None:
        """Stores what has just arrived, or was kept as temporary. A state that was handed over is on the
        shelf already."""
        context = self._context
        context.shelf = self._arriving or context.temporary or context.shelf
        context.temporary = None
        if self._follower is not None:
            self._follower.say(Stored(epoch=command.checkpoint.epoch, number=command.checkpoint.number))

    def keep_temporary(self, _: do.KeepTemporary) -> None:
        self._context.temporary = self._arriving

    def extension(self, said: Extension, rows: pa.Table) -> None:
        """Input that belongs to the backup of this number, temporary or permanent."""
        context = self._context
        with context.lock:
            shelves = [
                s for s in (context.temporary, context.shelf) if s is not None and s.newest is not None
            ]
            found = next(
                (s for s in shelves if s.newest is not None and s.newest.number == said.number), None
            )
            if found is None or not rows.num_rows:
                return
            first = rows["_seq"][0].as_py()
            self._arriving = found.extended(said.stream, rows)
            added = Range(Seq(first), Seq(first + rows.num_rows))
            context.post(on.BackupExtended(said.epoch, said.number, said.stream, added))
            self._arriving = None

    def handed_over(self, lease: LeaseRecord, message: Message | None) -> None:
        """The primary has paused. Its state replaces the content of the shelf, because it is complete."""
        context = self._context
        with context.lock:
            if lease.epoch < context.core.epoch or (message is not None and context.leading):
                return
            if message is not None:
                context.shelf = context.shelf.emptied()
                context.shelf.put(message, context.core.wiring.replayable)
            before = context.story.take_over
            context.post(on.HandedOver(lease, message.checkpoint if message is not None else None))
            if context.story.take_over is not None and context.story.take_over is not before:
                context.story.take_over.planned = True

    def ended(self, found: Verdict) -> None:
        behind = steady_ms() < self._behind_until
        match next_step(found, leads=self._context.leading, behind=behind):
            case Step.SAY_CLOSED:
                self._context.post(on.PeerClosed(steady_ms()))
            case Step.SAY_UNREACHABLE:
                self._unreachable()
            case Step.LOOK_AGAIN:
                self._look_again(f"the connection to the primary ended: {found.value}")
            case Step.STAND_BEHIND:
                self._behind_until = steady_ms() + FIRST_CHANCE_MS
                self._look_again("the primary has another secondary")
            case never:
                assert_never(never)

    def _unreachable(self) -> None:
        """Reports the failed connection after a short wait, because the next attempt may follow at once; not
        at all if something else has happened by then."""
        attempt = self._follower

        def say() -> None:
            with self._context.lock:
                if attempt is self._follower:
                    self._context.post(on.PeerUnreachable(steady_ms()))

        again = threading.Timer(CONNECT_AGAIN_SECONDS, say)
        again.daemon = True
        again.start()

    def _look_again(self, why: str) -> None:
        again = threading.Timer(LOOK_AGAIN_SECONDS, self._context.reread_lease, (why,))
        again.daemon = True
        again.start()

    # --- as primary

    def ship(self, command: do.Ship) -> None:
        if self._outbox is None:
            return
        message = self.message(command.checkpoint, command.base)
        if message is not None:
            self._context.story.shipped_at = now_ms()
            self._outbox.put(message)

    def message(self, checkpoint: Checkpoint, base: Checkpoint | None) -> Message | None:
        """What a secondary that has stored `base` lacks of a checkpoint. None if the checkpoint goes back to
        before a loss: it is never confirmed, so a whole one will follow."""
        context, known = self._context, base.elements if base else {}
        changed = [n for n, state in checkpoint.elements.items() if known.get(n) != state]
        rows = {
            (part.element, part.name): self._held(part.element, part.name, lacking)
            for part, lacking in to_ship(checkpoint, base, context.core.wiring.replayable)
            if len(lacking)
        }
        at = {n: self._state(n, checkpoint.elements[n].positions) for n in changed}
        inboxes = {n: state for n, state in at.items() if state is not None}
        return Message(checkpoint, inboxes, rows) if len(inboxes) == len(changed) else None

    def hand_over(self, command: do.HandOver) -> None:
        if self._outbox is None or self._secondary != command.target:
            return  # it has left: the core will get that event
        message = self.message(command.checkpoint, None) if command.checkpoint is not None else None
        self._outbox.put(Succession(command.lease, message))

    def _state(self, element: str, positions: Marks) -> InboxState | None:
        inbox = self._context.inboxes[element]
        return inbox.state() if inbox.position.seqs == positions else inbox.earlier(positions)

    def _held(self, element: str, part: str, wanted: Range) -> pa.Table:
        if part == QUEUE:
            return self._context.stores[element].rows(wanted.start, wanted.stop)
        return self._context.inboxes[element].tail(part, wanted.start).slice(0, len(wanted))

    def send_queue_trimming(self, command: do.SendQueueTrimming) -> None:
        if self._outbox is not None:
            self._outbox.put(Trimming(epoch=command.epoch, high=command.high, trees=command.trees))

    def ship_determinants(self, command: do.ShipDeterminants) -> None:
        if self._outbox is not None:
            said = Determinants(
                epoch=command.epoch,
                number=command.number,
                steps=command.determinants,
                whole=command.whole,
                needed=command.needed,
            )
            self._outbox.put(said)

    def make_permanent(self, command: do.MakePermanent) -> None:
        if self._outbox is not None:
            said = MakePermanent(
                epoch=command.epoch, number=command.number, extended=command.extended, trees=command.trees
            )
            self._outbox.put(said)

    def extend_backup(self, command: do.ExtendBackup) -> None:
        """Sends input that has arrived but is not processed, as an extension of a backup."""
        if self._outbox is None:
            return
        name = next(iter(self._context.core.wiring.readers(command.stream)))
        rows = self._context.inboxes[name].arrived(command.stream, command.range.start, command.range.stop)
        said = Extension(epoch=command.epoch, number=command.number, stream=command.stream)
        self._outbox.put(Enclosure(said, table_to_bytes(rows)))

    def spoke(self, name: str, stalled: str | None) -> None:
        """Notes a sign of life. A secondary whose engine has stalled could not take over: it counts as
        gone."""
        if name != self._secondary or self._outbox is None:
            return
        self.heard_ms = steady_ms()
        self._watched = self._watched.on_keep_alive(self.heard_ms)
        if stalled is not None:
            log.warning("secondary stalled", secondary=name, why=stalled)
            self.left(name, self._outbox)

    def watch(self) -> None:
        """Gives up a secondary that is silent. The secondary notices it when its connection ends."""
        now = steady_ms()
        self._watched = self._watched.on_tick(now)
        if self._secondary is not None and self._outbox is not None and self._watched.suspects(now):
            log.info("secondary silent", secondary=self._secondary)
            self.left(self._secondary, self._outbox)

    def dictate(self, ha: Ha) -> None:
        """Sends the secondary the settings that are in force from here on."""
        self._watched = self._detector()
        if self._outbox is not None:
            self._outbox.put(InForce(epoch=self._context.core.epoch, ha=ha.told()))

    def joined(self, name: str, address: str, mode: str) -> Outbox:
        """A secondary connects. Returns the queue of all that the core sends it. Called under the lock."""
        log.info("secondary joined", secondary=name)
        self._outbox, self._secondary, self.secondary_address = queue.SimpleQueue(), name, address
        outbox, self.secondary_mode, self.shipped_to_secondary = self._outbox, mode, 0
        self.changes.secondary_joined(name)
        return outbox

    def left(self, name: str, outbox: Outbox) -> None:
        with self._context.lock:
            if self._outbox is outbox:
                log.info("secondary left", secondary=name)
                move = self._context.core.move
                self._secondary = self._outbox = self.secondary_mode = None
                # otherwise it is the address at which consumers find the stream next
                if move is None or not move.handed:
                    self.secondary_address = None
                self._context.post(on.SecondaryLeft(name))
                if (
                    self._context.story.engine_stalled is not None
                ):  # consumers wait here until this instance steps down
                    self._context.reread_lease(
                        "the secondary left an engine that stands still: it may have succeeded"
                    )

    def has_another_than(self, name: str) -> bool:
        """Whether there is another secondary. There is one at a time; other standbys wait until it is
        gone."""
        return self._secondary is not None and self._secondary != name

    def is_current(self, outbox: Outbox) -> bool:
        return self._outbox is outbox

    def next_letters(self, outbox: Outbox, timeout: float) -> Iterator[Letter]:
        """What to send next; a keep-alive with this instance's positions if there is nothing. Each letter
        says whether this engine has stalled, and how long its output has stood still."""
        stalled, still = self._context.story.engine_stalled, self._context.still_ms(steady_ms())
        for said, blobs in self._next_letters(outbox, timeout):
            yield replace(said, stalled=stalled, still_ms=still), blobs

    def _next_letters(self, outbox: Outbox, timeout: float) -> Iterator[Letter]:
        try:
            item = outbox.get(timeout=timeout)
        except queue.Empty:
            item = self._sign_of_life()
        match item:
            case Message():
                yield from self._counted(letters_of(item, Shipped(epoch=item.checkpoint.epoch)))
            case Succession(lease, message):
                said = HandOver(
                    epoch=lease.epoch, holder=lease.holder, address=lease.address, successor=lease.successor
                )
                yield from self._counted(letters_of(message, said) if message is not None else [(said, [])])
            case Enclosure():
                yield from self._counted([(item.said, [item.rows])])
            case KeepAlive() | InForce() | Trimming() | Determinants() | MakePermanent():
                yield item, []
            case _:
                assert_never(item)

    def _sign_of_life(self) -> KeepAlive:
        """A keep-alive with this instance's positions, unless the lock is taken: on a busy machine waiting
        for it may take longer than τ, and the positions can be sent with the next keep-alive."""
        context = self._context
        if not context.lock.acquire(blocking=False):
            return KeepAlive(epoch=context.core.epoch)
        try:
            positions = {Stream(s): Seq(n) for s, n in context.positions().items()}
            return KeepAlive(epoch=context.core.epoch, positions=positions)
        finally:
            context.lock.release()

    def _counted(self, letters: Iterable[Letter]) -> Iterator[Letter]:
        for said, blobs in letters:
            size = len(to_bytes(said)) + sum(map(len, blobs))
            self._context.story.shipped_bytes += size
            self.shipped_to_secondary += size
            yield said, blobs
