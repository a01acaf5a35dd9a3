"""The acks to sources, stored by the rule of `protocol.keeping`. Used by instances and by `make scale`."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

import structlog

from understudy.process.clock import steady_ms
from understudy.process.ports import Surroundings, Unreachable
from understudy.protocol.ids import Consumer, Epoch, Millis, Seq, Stream
from understudy.protocol.keeping import Keeping, Phase, SourceAcks
from understudy.protocol.savepoints import Savepoint, Tree
from understudy.protocol.watermarks import Marks

log = structlog.get_logger()


class AckKeeper:
    """Writes in the thread that calls `look`; a write takes as long as the surroundings do."""

    def __init__(
        self, surroundings: Surroundings, subjob: str, clock: Callable[[], Millis] = steady_ms
    ) -> None:
        self._at, self._subjob, self._clock = surroundings, subjob, clock
        self._keeping = Keeping()
        self._writing = threading.Lock()

    @property
    def kept(self) -> SourceAcks | None:
        """What this life has stored: the next life would begin there. None before the first write."""
        return self._keeping.kept

    def forget(self) -> None:
        """This life has ended, or acks of another mode do not count any more."""
        self._keeping = Keeping()

    def look(self, acks: SourceAcks, epoch: Epoch, phase: Phase, interval: Millis) -> int:
        """Stores the acks if the rule says so. Returns how many bytes were written."""
        with self._writing:
            before = self._keeping
            return self._write(acks, before, epoch) if before.due(acks, phase, self._clock(), interval) else 0

    def _write(self, acks: SourceAcks, before: Keeping, epoch: Epoch) -> int:
        text = to_json(acks)
        try:
            self._at.keep_acks(self._subjob, text, epoch)
        except Unreachable as error:
            log.warning("acks not stored", error=str(error))
            return 0
        if self._keeping is before:  # otherwise they were dropped in the meantime
            self._keeping = before.written(acks, self._clock())
        return len(text)


def read_kept(surroundings: Surroundings, subjob: str) -> SourceAcks:
    """What was stored last, by any life. Raises Unreachable."""
    text = surroundings.kept_acks(subjob)
    return from_json(text) if text else SourceAcks()


# --- the text: it is read by later processes and other versions


def to_json(acks: SourceAcks) -> str:
    said = {"released": dict(acks.released), "tree": _tree_to_json(acks.tree)}
    return json.dumps(said, separators=(",", ":"))


def from_json(text: str) -> SourceAcks:
    found: dict[str, Any] = json.loads(text)
    return SourceAcks(_marks(found["released"]), _tree_from_json(found["tree"]))


def _tree_to_json(tree: Tree | None) -> dict[str, Any] | None:
    if tree is None:
        return None
    root = tree.root
    savepoint = {"selection": dict(root.selection), "positions": dict(root.positions), "next": root.next}
    below = {s: {c: _tree_to_json(t) for c, t in per.items()} for s, per in tree.children.items()}
    return {**savepoint, "children": below}


def _tree_from_json(value: Mapping[str, Any] | None) -> Tree | None:
    if value is None:
        return None
    root = Savepoint(_marks(value["selection"]), _marks(value["positions"]), Seq(value["next"]))
    below = {
        Stream(s): {Consumer(c): t for c, v in per.items() if (t := _tree_from_json(v)) is not None}
        for s, per in value["children"].items()
    }
    return Tree(root, below)


def _marks(value: Mapping[str, int]) -> Marks:
    return {Stream(s): Seq(n) for s, n in value.items()}
