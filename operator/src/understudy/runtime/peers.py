"""The other instance of this subjob: as its primary we ship to it, as its secondary we follow it."""

from __future__ import annotations

import queue
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import structlog

from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.ids import Epoch, Millis, Range, Seq, Stream
from understudy.runtime.checkpoints import QUEUE, Message, encode, to_ship
from understudy.runtime.clock import now_ms
from understudy.runtime.following import Follower, Hooks
from understudy.runtime.scene import Scene

log = structlog.get_logger()
FIRST_CONTACT_MS = 2_000  # before the first keep-alive of a primary: a connection may take its time

Letter = tuple[dict[str, Any], list[bytes]]  # what goes to the secondary: metadata and blobs


class Peers:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._follower: Follower | None = None
        self._outbox: queue.SimpleQueue[Message | dict[str, Any]] | None = None
        self.secondary_address: str | None = None

    def leave(self) -> None:
        """Leave the role: follow nobody, ship to nobody."""
        if self._follower is not None:
            self._follower.stop()
        self._follower, self._outbox, self.secondary_address = None, None, None

    # --- as secondary

    def follow(self, command: do.Follow) -> None:
        self.leave()
        log.info("following", primary=command.primary.holder, epoch=command.primary.epoch)
        self._scene.story.take_over = None
        self._scene.post(on.KeepAlive(Millis(now_ms() + FIRST_CONTACT_MS), command.primary.epoch))
        hooks = Hooks(self._heard, self._checkpoint, self._trimming, self._closed, self._refused)
        self._follower = Follower(command.primary, self._scene.core.name, self._scene.address, hooks)
        self._follower.start()

    def report_progress(self, command: do.ReportProgress) -> None:
        if self._follower is not None:
            self._follower.report(command.epoch, {s: int(n) for s, n in command.positions.items()})

    def _heard(self, epoch: int, positions: dict[str, int]) -> None:
        if positions:
            self._scene.story.primary_positions = positions
        self._scene.post(on.KeepAlive(Millis(now_ms()), Epoch(epoch)))

    def _checkpoint(self, message: Message) -> bool:
        """Put it on the shelf if the core wants it; the shelf must be filled before what else the core orders."""
        with self._scene.lock:
            if message.checkpoint.epoch < self._scene.core.epoch or self._scene.leading:
                return False
            self._scene.shelf.put(message, self._scene.core.wiring.replayable)
            self._scene.post(on.CheckpointArrived(message.checkpoint))
            return True

    def _trimming(self, epoch: int, high: Mapping[str, Mapping[str, int]]) -> None:
        marks = {Stream(s): {Stream(i): Seq(n) for i, n in per.items()} for s, per in high.items()}
        self._scene.post(on.QueueTrimming(Epoch(epoch), marks))

    def _closed(self) -> None:
        self._scene.post(on.PeerClosed(Millis(now_ms())))

    def _refused(self) -> None:
        self._scene.stopping.wait(0.1)
        self._scene.reread_lease("the instance we follow is no primary")

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
        scene.story.shipped_bytes += message.size
        scene.story.shipped_at = now_ms()
        self._outbox.put(message)

    def _held(self, element: str, part: str, wanted: Range) -> pa.Table:
        if part == QUEUE:
            return self._scene.stores[element].rows(wanted.start, wanted.stop)
        return self._scene.inboxes[element].tail(part, wanted.start)

    def send_queue_trimming(self, command: do.SendQueueTrimming) -> None:
        if self._outbox is not None:
            high = {s: {i: int(n) for i, n in per.items()} for s, per in command.high.items()}
            self._outbox.put({"epoch": command.epoch, "trimming": high})

    def joined(self, name: str, address: str) -> queue.SimpleQueue[Message | dict[str, Any]]:
        """A secondary connects; what the core wants to tell it comes out of the queue. Called under the lock."""
        log.info("secondary joined", secondary=name)
        self._outbox, self.secondary_address = queue.SimpleQueue(), address
        outbox = self._outbox
        self._scene.post(on.SecondaryJoined(name))
        return outbox

    def left(self, name: str, outbox: queue.SimpleQueue[Message | dict[str, Any]]) -> None:
        with self._scene.lock:
            if self._outbox is outbox:
                log.info("secondary left", secondary=name)
                self._outbox = self.secondary_address = None
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
        return {"epoch": item.checkpoint.epoch, "header": header}, blobs
