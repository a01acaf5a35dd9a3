"""Where a life without state begins: recovery requests (Koldehofe, Figure 7), and what sources keep.

A request waits at its predecessor until that has recovered itself: that is the recovery notification. Sources are read
inside the subjob, so the surroundings keep the acks to them. What is kept may be older than the newest ack: a source
can be read again from wherever it says.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight
import structlog

from understudy.modes.build import sink_consumer
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.events import Event
from understudy.protocol.ids import Consumer, Seq, Stream
from understudy.protocol.savepoints import Tree
from understudy.runtime import wire
from understudy.runtime.ports import Unreachable
from understudy.runtime.scene import Scene
from understudy.runtime.watermarks import tree_from_json, tree_to_json

log = structlog.get_logger()
KEEP_SECONDS = 1.0
ROLL_SECONDS = 0.5
ANSWER_SECONDS = 2.0
PING_SECONDS = 0.5
RETRY_SECONDS = 0.05


class Recovery:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._sources = scene.core.wiring.replayable
        self._released: dict[Stream, Seq] = {}
        self._tree: Tree | None = None
        self._answer: Tree | None = None
        self.has_kept = False

    def start(self) -> None:
        threading.Thread(target=self._answer_for_who_left, name="roll-call", daemon=True).start()
        threading.Thread(target=self._keep_forever, name="kept-acks", daemon=True).start()

    # --- as predecessor

    def requested(self, stream: str, consumer: str) -> Tree | None:
        """A consumer restarts. Called under the lock, while this instance leads."""
        self._scene.post(on.RecoveryRequested(Stream(stream), Consumer(consumer)))
        return self._answer

    def answer(self, command: do.AnswerRecovery) -> None:
        log.info("answering a recovery request", stream=command.stream, consumer=command.consumer)
        self._answer = command.tree

    # --- as successor

    def request(self, command: do.RequestRecovery) -> None:
        self._until_known(lambda: self._tree_of(command.stream))

    def replay(self, command: do.Replay) -> None:
        """A source is held from where it was acked last."""
        self._until_known(lambda: self._start_of(command.stream))

    def _until_known(self, ask: Callable[[], Event | None]) -> None:
        generation = self._scene.generation
        threading.Thread(target=self._ask, args=(ask, generation), name="recovery", daemon=True).start()

    def _ask(self, ask: Callable[[], Event | None], generation: int) -> None:
        while not self._scene.stopping.is_set() and self._scene.generation == generation:
            event = ask()
            if event is not None:
                with self._scene.lock:
                    if self._scene.generation == generation:
                        self._scene.post(event)
                return
            self._scene.stopping.wait(RETRY_SECONDS)

    def _tree_of(self, stream: Stream) -> Event | None:
        if stream not in self._sources:
            return self._asked(stream)
        kept = self._kept()
        return on.RecoveryInformation(stream, tree_from_json(kept["tree"])) if kept is not None else None

    def _start_of(self, source: Stream) -> Event | None:
        kept = self._kept()
        return on.Released(source, Seq(kept["released"].get(source, 0))) if kept is not None else None

    def _asked(self, stream: Stream) -> Event | None:
        """The answer of whoever leads the producer; None if nobody does. Where nobody does, one is waited for."""
        addresses = self._scene.surroundings.addresses(stream)
        for address, patient in ((a, patient) for patient in (False, True) for a in addresses):
            try:
                with wire.connect(address) as client:
                    if not patient and not wire.leads(wire.do(client, "ping", PING_SECONDS)):
                        continue
                    said = wire.do(client, "recover", ANSWER_SECONDS, stream=stream, consumer=self._scene.subjob.name)
            except (flight.FlightError, pa.ArrowException, OSError, StopIteration):
                continue
            if "tree" in said:
                return on.RecoveryInformation(stream, tree_from_json(said["tree"]))
        return None

    # --- in place of consumers that are through

    def _answer_for_who_left(self) -> None:
        """A sink that wrote its stream to the end answers no roll call. What it has is known."""
        while not self._scene.stopping.wait(ROLL_SECONDS):
            if self._scene.core.roll_open and self._scene.leading:
                self._answer_roll_call()

    def _answer_roll_call(self) -> None:
        scene, subjob = self._scene, self._scene.subjob.name
        try:
            ends = scene.surroundings.ends(subjob)
        except Unreachable as error:
            log.warning("ends of sinks unknown", error=str(error))
            return
        for sink, at in ends.items():
            with scene.lock:
                if scene.leading and scene.core.roll_open:
                    scene.post(on.Subscribed(Stream(subjob), sink_consumer(sink), Seq(at), scene.core.epoch))

    # --- in place of the sources

    def acked(self, command: do.SendAck) -> None:
        """An ack to a source. Called under the lock."""
        self._released = {**self._released, command.stream: command.upto}
        self._tree = command.tree

    def begin_anew(self) -> None:
        """What was acked in another mode does not count."""
        self._released, self._tree, self.has_kept = {}, None, False

    def _kept(self) -> dict[str, Any] | None:
        try:
            text = self._scene.surroundings.kept_acks(self._scene.subjob.name)
        except Unreachable as error:
            log.warning("kept acks unreachable", error=str(error))
            return None
        found: dict[str, Any] = json.loads(text) if text else {"released": {}, "tree": None}
        return found

    def _keep_forever(self) -> None:
        kept: str | None = None
        while not self._scene.stopping.wait(KEEP_SECONDS):
            with self._scene.lock:
                released, tree = (self._released, self._tree) if self._scene.leading else ({}, None)
            text = json.dumps({"released": released, "tree": tree_to_json(tree)}, separators=(",", ":"))
            if not released or (text == kept and self.has_kept):
                continue
            try:
                self._scene.surroundings.keep_acks(self._scene.subjob.name, text)
                kept, self.has_kept = text, True
                self._note_kept(released, tree)
                self._scene.story.acked_bytes += len(text)
            except Unreachable as error:
                log.warning("acks not kept", error=str(error))

    def _note_kept(self, released: Mapping[Stream, Seq], tree: Tree | None) -> None:
        with self._scene.lock:
            for stream, upto in released.items() if self._scene.leading else ():
                self._scene.told = self._scene.told.with_ack(stream, upto, tree)
