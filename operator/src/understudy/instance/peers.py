"""The other instance of this subjob: as its primary we ship to it, as its secondary we follow it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, assert_never

import pyarrow as pa
import structlog

from understudy.engine.determinants import heard_of
from understudy.engine.state import InboxState
from understudy.instance.checkpoints import (
    QUEUE,
    Letter,
    Message,
    Shelf,
    Unpacking,
    encode,
    table_to_bytes,
    to_ship,
)
from understudy.instance.context import Context
from understudy.instance.following import Follower, Hooks, Me
from understudy.instance.leases import lease_to_json
from understudy.model.ha import Ha
from understudy.modes.build import millis
from understudy.process.clock import now_ms, steady_ms
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.contact import Step, Verdict, next_step
from understudy.protocol.detector import Detector
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Epoch, Millis, Range, Seq, Stream
from understudy.protocol.watermarks import Marks
from understudy.streams import wire
from understudy.streams.encoding import (
    log_from_json,
    log_to_json,
    positions_from_json,
    trees_from_json,
    trees_to_json,
)

log = structlog.get_logger()
FIRST_CONTACT_MS = 2_000  # before the first keep-alive of a primary: a connection may take its time
SILENCE = 6  # heart-beats without a word after which a secondary counts as lost
LEAST_SILENCE_MS = 1_000
LOOK_AGAIN_SECONDS = 0.1
CONNECT_AGAIN_SECONDS = 0.3  # after a connection that could not be made
FIRST_CHANCE_MS = 5_000  # for the secondary of a primary that had no place for another


@dataclass(frozen=True, slots=True)
class Succession:
    """The hand-over of this Lease, with the live state where the secondary has none."""

    lease: LeaseRecord
    message: Message | None


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Words with rows."""

    said: dict[str, Any]
    rows: bytes


Item = Message | Succession | Enclosure | dict[str, Any]
Outbox = queue.SimpleQueue[Item]


class Changes(Protocol):
    """What live changes have to do with the other instance."""

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
        self._primary_stalled: str | None = None  # as a secondary: why the primary's engine stands still
        self.shipped_to_secondary = 0  # bytes, since it joined
        self._behind_until = 0  # until then another secondary has the first chance
        self._arriving: Shelf | None = None  # what has come, while the core says where it goes

    @property
    def _interval(self) -> int:
        return millis(self._context.subjob.ha.heartbeat.interval)

    @property
    def secondary(self) -> str | None:
        return self._secondary

    def _detector(self) -> Detector:
        """Of the secondary, as of now."""
        fresh = Detector.of(self._interval, max(SILENCE, LEAST_SILENCE_MS // self._interval))
        return fresh.on_keep_alive(steady_ms())

    def leave(self) -> None:
        """Leave the role: follow nobody, ship to nobody."""
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
        hooks = Hooks(
            self._heard,
            self._dictated,
            self._checkpoint,
            self._permanent,
            self._extension,
            self._handed,
            self._trimming,
            self._determinants,
            self._ended,
        )
        me = Me(self._context.core.name, self._context.address, str(self._context.subjob.ha.mode))
        unpacking = Unpacking(self._context.shelf.spill)
        self._follower = Follower(
            command.primary,
            me,
            lambda: self._context.heartbeat,
            hooks,
            unpacking,
            self._context.lock,
            lambda: self._context.story.engine_stalled,
        )
        self._follower.start()

    def report_progress(self, command: do.ReportProgress) -> None:
        """To the other replica, whichever end of the connection is ours."""
        positions = {s: int(n) for s, n in command.positions.items()}
        if self._follower is not None:
            self._follower.say("progress", epoch=command.epoch, positions=positions)
        if self._outbox is not None:
            self._outbox.put({"epoch": command.epoch, "positions": positions})

    def confirm_determinants(self, command: do.ConfirmDeterminants) -> None:
        if self._follower is not None:
            self._follower.say("chosen", epoch=command.epoch, number=command.number)

    @property
    def follows_a_working_primary(self) -> bool:
        return self._follower is not None and self.heard_ms is not None and self._primary_stalled is None

    def _heard(self, epoch: int, positions: dict[str, int], stalled: str | None, still_ms: int) -> None:
        self.heard_ms = Millis(steady_ms() - still_ms)
        self._primary_stalled = stalled
        self._behind_until = 0
        if positions:
            self._context.story.primary_positions = positions
        found = positions_from_json(positions) if positions else None
        self._context.post(on.KeepAlive(steady_ms(), Epoch(epoch), found, stalled))

    def _checkpoint(self, message: Message) -> None:
        """Where it goes is for the core to say: on the shelf (`store`), or beside it for now
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
        """What has just come, or was kept as temporary; what was handed over is on the shelf already."""
        context = self._context
        context.shelf = self._arriving or context.temporary or context.shelf
        context.temporary = None
        if self._follower is not None:
            self._follower.say("stored", epoch=command.checkpoint.epoch, number=command.checkpoint.number)

    def keep_temporary(self, _: do.KeepTemporary) -> None:
        self._context.temporary = self._arriving

    def _permanent(
        self, epoch: int, number: int, extended: Mapping[str, int], trees: Mapping[str, Any]
    ) -> None:
        upto = positions_from_json(extended)
        self._context.post(on.PermanentRequested(Epoch(epoch), number, upto, trees_from_json(trees)))

    def _extension(self, epoch: int, number: int, stream: str, rows: pa.Table) -> None:
        """Input that belongs to the backup of this number, temporary or not."""
        context = self._context
        with context.lock:
            shelves = [
                s for s in (context.temporary, context.shelf) if s is not None and s.newest is not None
            ]
            found = next((s for s in shelves if s.newest is not None and s.newest.number == number), None)
            if found is None or not rows.num_rows:
                return
            first = rows["_seq"][0].as_py()
            self._arriving = found.extended(stream, rows)
            added = Range(Seq(first), Seq(first + rows.num_rows))
            context.post(on.BackupExtended(Epoch(epoch), number, Stream(stream), added))
            self._arriving = None

    def _handed(self, lease: LeaseRecord, message: Message | None) -> None:
        """The primary stands still. Its state is all that there is here, so it replaces what was on the
        shelf."""
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

    def _dictated(self, ha: Mapping[str, Any]) -> None:
        self.changes.dictated(Ha.model_validate(ha))

    def _trimming(self, epoch: int, high: Mapping[str, Mapping[str, int]], trees: Mapping[str, Any]) -> None:
        marks = {Stream(s): positions_from_json(per) for s, per in high.items()}
        self._context.post(on.QueueTrimming(Epoch(epoch), marks, trees_from_json(trees)))

    def _determinants(self, meta: Mapping[str, Any]) -> None:
        steps, needed = log_from_json(meta["determinants"]), positions_from_json(meta["needed"])
        heard_of(self._context.inboxes, steps)
        self._context.post(
            on.DeterminantsArrived(Epoch(meta["epoch"]), meta["number"], steps, meta["whole"], needed)
        )

    def _ended(self, verdict: Verdict) -> None:
        behind = steady_ms() < self._behind_until
        match next_step(verdict, leads=self._context.leading, behind=behind):
            case Step.SAY_CLOSED:
                self._context.post(on.PeerClosed(steady_ms()))
            case Step.SAY_UNREACHABLE:
                self._unreachable()
            case Step.LOOK_AGAIN:
                self._look_again(f"the connection to the primary ended: {verdict.value}")
            case Step.STAND_BEHIND:
                self._behind_until = steady_ms() + FIRST_CHANCE_MS
                self._look_again("the primary has another secondary")
            case never:
                assert_never(never)

    def _unreachable(self) -> None:
        """Said a moment later, since the next attempt may follow at once; not if something else has
        happened."""
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
        """What a secondary that has stored `base` lacks of a checkpoint. None: it goes back to before a loss;
        as it is never confirmed, a whole one will follow."""
        context, known = self._context, base.elements if base else {}
        changed = [n for n, state in checkpoint.elements.items() if known.get(n) != state]
        rows = {
            (part.element, part.name): self._held(part.element, part.name, lacking)
            for part, lacking in to_ship(checkpoint, base, context.core.wiring.replayable)
            if len(lacking)
        }
        at = {n: self._state(n, checkpoint.elements[n].positions) for n in changed}
        inboxes = {n: state.to_dict() for n, state in at.items() if state is not None}
        return Message(checkpoint, inboxes, rows) if len(inboxes) == len(changed) else None

    def hand_over(self, command: do.HandOver) -> None:
        if self._outbox is None or self._secondary != command.target:
            return  # it has left; the core will hear of it
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
            high = {s: {i: int(n) for i, n in per.items()} for s, per in command.high.items()}
            self._outbox.put(
                {"epoch": command.epoch, "trimming": high, "trees": trees_to_json(command.trees)}
            )

    def ship_determinants(self, command: do.ShipDeterminants) -> None:
        if self._outbox is not None:
            log = {"determinants": log_to_json(command.determinants), "whole": command.whole}
            needed = {s: int(n) for s, n in command.needed.items()}
            self._outbox.put({"epoch": command.epoch, "number": command.number, "needed": needed, **log})

    def make_permanent(self, command: do.MakePermanent) -> None:
        if self._outbox is not None:
            extended = {s: int(n) for s, n in command.extended.items()}
            said = {"extended": extended, "trees": trees_to_json(command.trees)}
            self._outbox.put({"epoch": command.epoch, "permanent": command.number, **said})

    def extend_backup(self, command: do.ExtendBackup) -> None:
        """Input that has arrived but is not processed."""
        if self._outbox is None:
            return
        name = next(iter(self._context.core.wiring.readers(command.stream)))
        rows = self._context.inboxes[name].arrived(command.stream, command.range.start, command.range.stop)
        said = {"epoch": command.epoch, "number": command.number, "extends": str(command.stream)}
        self._outbox.put(Enclosure(said, table_to_bytes(rows)))

    def spoke(self, name: str, stalled: str | None) -> None:
        """A secondary whose engine stands still could not take over: it counts as gone."""
        if name != self._secondary or self._outbox is None:
            return
        self.heard_ms = steady_ms()
        self._watched = self._watched.on_keep_alive(self.heard_ms)
        if stalled is not None:
            log.warning("secondary stalled", secondary=name, why=stalled)
            self.left(name, self._outbox)

    def watch(self) -> None:
        """A secondary that lives says so; one that is silent is given up, and will find that out by
        itself."""
        now = steady_ms()
        self._watched = self._watched.on_tick(now)
        if self._secondary is not None and self._outbox is not None and self._watched.suspects(now):
            log.info("secondary silent", secondary=self._secondary)
            self.left(self._secondary, self._outbox)

    def dictate(self, ha: Ha) -> None:
        """Say to the secondary what is in force from here on."""
        self._watched = self._detector()
        if self._outbox is not None:
            self._outbox.put({"epoch": self._context.core.epoch, "ha": ha.told()})

    def joined(self, name: str, address: str, mode: str) -> Outbox:
        """A secondary connects; what the core wants to tell it comes out of the queue. Called under the
        lock."""
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
                if move is None or not move.handed:  # else it is where consumers find the stream next
                    self.secondary_address = None
                self._context.post(on.SecondaryLeft(name))
                if (
                    self._context.story.engine_stalled is not None
                ):  # consumers wait here until this instance steps down
                    self._context.reread_lease(
                        "the secondary left an engine that stands still: it may have succeeded"
                    )

    def has_another_than(self, name: str) -> bool:
        """There is one secondary at a time; whoever else comes waits until it is gone."""
        return self._secondary is not None and self._secondary != name

    def is_current(self, outbox: Outbox) -> bool:
        return self._outbox is outbox

    def next_letters(self, outbox: Outbox, timeout: float) -> Iterator[Letter]:
        """What to send next; a keep-alive with our positions if there is nothing. Each says if our engine
        stalls, and for how long our output has stood still."""
        stalled, still = self._context.story.engine_stalled, self._context.still_ms(steady_ms())
        word = ({} if stalled is None else {"engine": stalled}) | ({"still": still} if still else {})
        for letter, blobs in self._next_letters(outbox, timeout):
            yield letter | word, blobs

    def _next_letters(self, outbox: Outbox, timeout: float) -> Iterator[Letter]:
        try:
            item = outbox.get(timeout=timeout)
        except queue.Empty:
            item = self._sign_of_life()
        match item:
            case Message():
                yield from self._counted({"epoch": item.checkpoint.epoch}, encode(item))
            case Succession(lease, message):
                said = {"epoch": lease.epoch, "handOver": lease_to_json(lease)}
                yield from self._counted(said, encode(message) if message is not None else [({}, [])])
            case Enclosure():
                yield from self._counted(item.said, [({}, [item.rows])])
            case dict():
                yield item, []
            case _:
                assert_never(item)

    def _sign_of_life(self) -> dict[str, Any]:
        """With our positions, unless somebody is at the books: on a busy machine that may take longer than
        the others' patience, and positions can wait for the next one."""
        context = self._context
        if not context.lock.acquire(blocking=False):
            return {"epoch": context.core.epoch}
        try:
            return {"epoch": context.core.epoch, "positions": context.positions()}
        finally:
            context.lock.release()

    def _counted(self, said: dict[str, Any], letters: Iterable[Letter]) -> Iterator[Letter]:
        for words, blobs in letters:
            letter = said | words
            size = len(wire.pack(letter)) + sum(map(len, blobs))
            self._context.story.shipped_bytes += size
            self.shipped_to_secondary += size
            yield letter, blobs
