"""Savepoint recovery (Koldehofe, Figure 7): requests to predecessors, answers to successors, what sources keep.

A request waits at its predecessor until that has recovered itself: that is the recovery notification. Sources are read
inside the subjob, so the surroundings keep the tree for them. A kept tree may be older than the newest: sources can be
read again from wherever it says.
"""

from __future__ import annotations

import json
import threading

import pyarrow as pa
import pyarrow.flight as flight
import structlog

from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.ids import Consumer, Stream
from understudy.protocol.savepoints import Tree
from understudy.runtime import wire
from understudy.runtime.ports import Unreachable
from understudy.runtime.scene import Scene
from understudy.runtime.watermarks import tree_from_json, tree_to_json

log = structlog.get_logger()
KEEP_SECONDS = 0.25
ANSWER_SECONDS = 2.0
RETRY_SECONDS = 0.05


class Recovery:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._sources = scene.core.wiring.replayable
        self._newest: Tree | None = None
        self._answer: Tree | None = None

    def start(self) -> None:
        threading.Thread(target=self._keep_forever, name="savepoints", daemon=True).start()

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
        generation = self._scene.generation
        threading.Thread(target=self._ask, args=(command.stream, generation), name="recovery", daemon=True).start()

    def _ask(self, stream: Stream, generation: int) -> None:
        while not self._scene.stopping.is_set() and self._scene.generation == generation:
            found = self._kept() if stream in self._sources else self._asked(stream)
            if found is not None:
                with self._scene.lock:
                    if self._scene.generation == generation:
                        self._scene.post(on.RecoveryInformation(stream, found[0]))
                return
            self._scene.stopping.wait(RETRY_SECONDS)

    def _asked(self, stream: Stream) -> tuple[Tree | None] | None:
        """The answer of whoever leads the producer; None if nobody does."""
        for address in self._scene.surroundings.addresses(stream):
            try:
                with wire.connect(address) as client:
                    said = wire.do(client, "recover", ANSWER_SECONDS, stream=stream, consumer=self._scene.subjob.name)
            except (flight.FlightError, pa.ArrowException, OSError, StopIteration):
                continue
            if "tree" in said:
                return (tree_from_json(said["tree"]),)
        return None

    # --- in place of the sources

    def keep(self, tree: Tree) -> None:
        self._newest = tree

    def _kept(self) -> tuple[Tree | None] | None:
        try:
            text = self._scene.surroundings.kept_savepoint(self._scene.subjob.name)
        except Unreachable as error:
            log.warning("savepoint unreachable", error=str(error))
            return None
        return (tree_from_json(json.loads(text)) if text else None,)

    def _keep_forever(self) -> None:
        kept: Tree | None = None
        while not self._scene.stopping.wait(KEEP_SECONDS):
            with self._scene.lock:
                tree = self._newest if self._scene.leading else None
            if tree is None or tree is kept:
                continue
            try:
                self._scene.surroundings.keep_savepoint(self._scene.subjob.name, json.dumps(tree_to_json(tree)))
                kept = tree
            except Unreachable as error:
                log.warning("savepoint not kept", error=str(error))
