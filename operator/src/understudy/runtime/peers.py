"""The other instance of this subjob: as its primary we ship to it, as its secondary we follow it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping
from typing import Any, Protocol

import pyarrow as pa
import structlog

from understudy.model.ha import Ha
from understudy.modes.build import millis
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.detector import Detector
from understudy.protocol.ids import Epoch, Millis, Range, Stream
from understudy.runtime import determinants, wire
from understudy.runtime.checkpoints import QUEUE, Message, encode, to_ship
from understudy.runtime.clock import now_ms
from understudy.runtime.following import Follower, Hooks, Me
from understudy.runtime.scene import Scene
from understudy.runtime.watermarks import positions_from_json, trees_from_json, trees_to_json

log = structlog.get_logger()
FIRST_CONTACT_MS = 2_000  # before the first keep-alive of a primary: a connection may take its time
SILENCE = 6  # heart-beats without a word after which a secondary counts as lost
LEAST_SILENCE_MS = 1_000
LOOK_AGAIN_SECONDS = 0.1

Letter = tuple[dict[str, Any], list[bytes]]  # what goes to the secondary: metadata and blobs


class Changes(Protocol):
    """What live changes have to do with the other instance."""

    def dictated(self, ha: Ha) -> None: ...
    def before_state(self) -> None: ...
    def secondary_joined(self, name: str) -> None: ...


class Peers:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._follower: Follower | None = None
        self._outbox: queue.SimpleQueue[Message | dict[str, Any]] | None = None
        self._secondary: str | None = None
        self._watched = self._detector()
        self.secondary_address: str | None = None
        self.secondary_mode: str | None = None
        self.changes: Changes
        self.heard_ms: int | None = None  # the last sign of life of the other instance

    @property
    def _interval(self) -> int:
        return millis(self._scene.subjob.ha.heartbeat.interval)

    @property
    def secondary(self) -> str | None:
        return self._secondary

    def _detector(self) -> Detector:
        """Of the secondary, as of now."""
        fresh = Detector.of(self._interval, max(SILENCE, LEAST_SILENCE_MS // self._interval))
        return fresh.on_keep_alive(Millis(now_ms()))

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
        self._scene.story.take_over = self.heard_ms = None
        self._scene.post(on.KeepAlive(Millis(now_ms() + FIRST_CONTACT_MS), command.primary.epoch))
        hooks = Hooks(
            self._heard,
            self._dictated,
            self._checkpoint,
            self._trimming,
            self._determinants,
            self._closed,
            self._refused,
        )
        me = Me(self._scene.core.name, self._scene.address, str(self._scene.subjob.ha.mode))
        self._follower = Follower(command.primary, me, lambda: self._scene.heartbeat, hooks, self._scene.lock)
        self._follower.start()

    def report_progress(self, command: do.ReportProgress) -> None:
        """To the other replica, whichever end of the connection is ours."""
        positions = {s: int(n) for s, n in command.positions.items()}
        if self._follower is not None:
            self._follower.say("progress", epoch=command.epoch, positions=positions)
        if self._outbox is not None:
            self._outbox.put({"epoch": command.epoch, "positions": positions})

    def confirm_choices(self, command: do.Choose) -> None:
        if self._follower is not None:
            self._follower.say("chosen", epoch=self._scene.core.epoch, number=command.number)

    def _heard(self, epoch: int, positions: dict[str, int]) -> None:
        self.heard_ms = now_ms()
        if positions:
            self._scene.story.primary_positions = positions
        found = positions_from_json(positions) if positions else None
        self._scene.post(on.KeepAlive(Millis(now_ms()), Epoch(epoch), found))

    def _checkpoint(self, message: Message) -> bool:
        """Put it on the shelf if the core wants it; the shelf must be filled before what else the core orders."""
        with self._scene.lock:
            if message.checkpoint.epoch < self._scene.core.epoch:
                return False
            self.changes.before_state()
            if self._scene.leading:
                return False
            self._scene.shelf.put(message, self._scene.core.wiring.replayable)
            self._scene.post(on.CheckpointArrived(message.checkpoint))
            return True

    def _dictated(self, ha: Mapping[str, Any]) -> None:
        self.changes.dictated(Ha.model_validate(ha))

    def _trimming(self, epoch: int, high: Mapping[str, Mapping[str, int]], trees: Mapping[str, Any]) -> None:
        marks = {Stream(s): positions_from_json(per) for s, per in high.items()}
        self._scene.post(on.QueueTrimming(Epoch(epoch), marks, trees_from_json(trees)))

    def _determinants(self, epoch: int, number: int, chosen: list[Any]) -> None:
        self._scene.post(on.DeterminantsArrived(Epoch(epoch), number, determinants.from_json(chosen)))

    def _closed(self) -> None:
        self._scene.post(on.PeerClosed(Millis(now_ms())))

    def _refused(self) -> None:
        """It is no primary any more, or we are none of its secondaries. A replica has lost its peer by that."""
        if self._scene.leading:
            self._closed()
            return
        again = threading.Timer(LOOK_AGAIN_SECONDS, self._scene.reread_lease, ("the instance we follow is no primary",))
        again.daemon = True
        again.start()

    # --- as primary

    def ship(self, command: do.Ship) -> None:
        if self._outbox is None:
            return
        scene, base = self._scene, command.base.elements if command.base else {}
        changed = [n for n, state in command.checkpoint.elements.items() if base.get(n) != state]
        rows = {
            (part.element, part.name): self._held(part.element, part.name, lacking)
            for part, lacking in to_ship(command.checkpoint, command.base, scene.core.wiring.replayable)
            if len(lacking)
        }
        message = Message(command.checkpoint, {n: scene.inboxes[n].state().to_dict() for n in changed}, rows)
        scene.story.shipped_at = now_ms()
        self._outbox.put(message)

    def _held(self, element: str, part: str, wanted: Range) -> pa.Table:
        if part == QUEUE:
            return self._scene.stores[element].rows(wanted.start, wanted.stop)
        return self._scene.inboxes[element].tail(part, wanted.start)

    def send_queue_trimming(self, command: do.SendQueueTrimming) -> None:
        if self._outbox is not None:
            high = {s: {i: int(n) for i, n in per.items()} for s, per in command.high.items()}
            self._outbox.put({"epoch": command.epoch, "trimming": high, "trees": trees_to_json(command.trees)})

    def ship_determinants(self, command: do.ShipDeterminants) -> None:
        if self._outbox is not None:
            chosen = determinants.to_json(command.determinants)
            self._outbox.put({"epoch": command.epoch, "number": command.number, "determinants": chosen})

    def spoke(self, name: str) -> None:
        if name == self._secondary:
            self.heard_ms = now_ms()
            self._watched = self._watched.on_keep_alive(Millis(self.heard_ms))

    def watch(self) -> None:
        """A secondary that lives says so; one that is silent is given up, and will find that out by itself."""
        now = Millis(now_ms())
        self._watched = self._watched.on_tick(now)
        if self._secondary is not None and self._outbox is not None and self._watched.suspects(now):
            log.info("secondary silent", secondary=self._secondary)
            self.left(self._secondary, self._outbox)

    def dictate(self, ha: Ha) -> None:
        """Say to the secondary what is in force from here on."""
        self._watched = self._detector()
        if self._outbox is not None:
            self._outbox.put({"epoch": self._scene.core.epoch, "ha": ha.model_dump(mode="json", by_alias=True)})

    def joined(self, name: str, address: str, mode: str) -> queue.SimpleQueue[Message | dict[str, Any]]:
        """A secondary connects; what the core wants to tell it comes out of the queue. Called under the lock."""
        log.info("secondary joined", secondary=name)
        self._outbox, self._secondary, self.secondary_address = queue.SimpleQueue(), name, address
        outbox, self.secondary_mode = self._outbox, mode
        self.changes.secondary_joined(name)
        return outbox

    def left(self, name: str, outbox: queue.SimpleQueue[Message | dict[str, Any]]) -> None:
        with self._scene.lock:
            if self._outbox is outbox:
                log.info("secondary left", secondary=name)
                self._secondary = self._outbox = self.secondary_address = self.secondary_mode = None
                self._scene.post(on.SecondaryLeft(name))

    def is_current(self, outbox: queue.SimpleQueue[Message | dict[str, Any]]) -> bool:
        return self._outbox is outbox

    def next_letter(self, outbox: queue.SimpleQueue[Message | dict[str, Any]], timeout: float) -> Letter:
        """What to send next; a keep-alive with our positions if there is nothing."""
        try:
            item = outbox.get(timeout=timeout)
        except queue.Empty:
            with self._scene.lock:
                return {"epoch": self._scene.core.epoch, "positions": self._scene.positions()}, []
        if isinstance(item, dict):
            return item, []
        header, blobs = encode(item)
        letter = {"epoch": item.checkpoint.epoch, "header": header}
        self._scene.story.shipped_bytes += len(wire.pack(letter)) + sum(map(len, blobs))
        return letter, blobs
