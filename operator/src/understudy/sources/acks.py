"""The acks to sources, written down by the rule of `protocol.keeping`. Instances run this, and `make scale`
does."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import structlog

from understudy.process.clock import steady_ms
from understudy.process.ports import Surroundings, Unreachable
from understudy.protocol.ids import Epoch, Millis, Seq, Stream
from understudy.protocol.keeping import Keeping, Phase, SourceAcks
from understudy.streams.encoding import tree_from_json, tree_to_json

log = structlog.get_logger()


class AckKeeper:
    """Writes in the thread that calls `look`, and takes as long as the surroundings do."""

    def __init__(
        self, surroundings: Surroundings, subjob: str, clock: Callable[[], Millis] = steady_ms
    ) -> None:
        self._at, self._subjob, self._clock = surroundings, subjob, clock
        self._keeping = Keeping()
        self._writing = threading.Lock()

    @property
    def kept(self) -> SourceAcks | None:
        """What this life has written down: the next one would begin there. None before the first time."""
        return self._keeping.kept

    def forget(self) -> None:
        """This life has ended, or what was acked in another mode does not count."""
        self._keeping = Keeping()

    def look(self, acks: SourceAcks, epoch: Epoch, phase: Phase, interval: Millis) -> int:
        """Write them down if the rule says so. Returns how many bytes were written."""
        with self._writing:
            before = self._keeping
            return self._write(acks, before, epoch) if before.due(acks, phase, self._clock(), interval) else 0

    def _write(self, acks: SourceAcks, before: Keeping, epoch: Epoch) -> int:
        text = to_json(acks)
        try:
            self._at.keep_acks(self._subjob, text, epoch)
        except Unreachable as error:
            log.warning("acks not kept", error=str(error))
            return 0
        if self._keeping is before:  # else they were forgotten meanwhile
            self._keeping = before.written(acks, self._clock())
        return len(text)


def read_kept(surroundings: Surroundings, subjob: str) -> SourceAcks:
    """What was written down last, by whichever life. Raises Unreachable."""
    text = surroundings.kept_acks(subjob)
    return from_json(text) if text else SourceAcks()


def to_json(acks: SourceAcks) -> str:
    return json.dumps(
        {"released": dict(acks.released), "tree": tree_to_json(acks.tree)}, separators=(",", ":")
    )


def from_json(text: str) -> SourceAcks:
    found: dict[str, Any] = json.loads(text)
    released = {Stream(source): Seq(upto) for source, upto in found["released"].items()}
    return SourceAcks(released, tree_from_json(found["tree"]))
