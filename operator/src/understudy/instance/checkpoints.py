"""Checkpoints with their rows, and how a secondary keeps them in memory.

The core names ranges; here they become rows. A message contains the rows that the secondary lacks. The
secondary appends each part to the rows it has, and drops those that the new checkpoint no longer names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from understudy.engine.state import InboxState
from understudy.protocol.checkpoint import Checkpoint, missing
from understudy.protocol.ids import Range, Stream
from understudy.streams.spill import Kept, Spill

QUEUE = "queue"  # an element's output queue; any other part name is an input stream: its tail


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one range: of an element's output queue, or of the tail of one of its inputs."""

    element: str
    name: str
    wanted: Range


@dataclass(frozen=True, slots=True)
class Message:
    """A checkpoint as it is sent; for elements that changed also the inbox state and the new rows."""

    checkpoint: Checkpoint
    inboxes: Mapping[str, InboxState]
    rows: Mapping[tuple[str, str], pa.Table] = field(default_factory=dict)


def parts(checkpoint: Checkpoint, replayable: frozenset[Stream]) -> list[Part]:
    """All parts of a checkpoint. Tails of sources are not shipped, because sources can be read again."""
    found = []
    for name, state in checkpoint.elements.items():
        found.append(Part(name, QUEUE, state.held))
        found += [Part(name, s, state.tail(s)) for s in state.positions if s not in replayable]
    return found


def to_ship(
    checkpoint: Checkpoint, base: Checkpoint | None, replayable: frozenset[Stream]
) -> list[tuple[Part, Range]]:
    """For each part, the range that a secondary lacks if it has stored `base`."""
    stored = {(p.element, p.name): p.wanted for p in parts(base, replayable)} if base else {}
    return [(p, missing(p.wanted, stored.get((p.element, p.name)))) for p in parts(checkpoint, replayable)]


class Shelf:
    """What a secondary stores: the rows of its newest checkpoint."""

    def __init__(self, spill: Spill) -> None:
        self.newest: Checkpoint | None = None
        self.spill = spill
        self._inboxes: dict[str, InboxState] = {}
        self._rows: dict[tuple[str, str], Kept] = {}
        self._ahead: dict[str, pa.Table] = {}

    def emptied(self) -> Shelf:
        return Shelf(self.spill)

    def with_(self, message: Message, replayable: frozenset[Stream]) -> Shelf:
        """A new shelf with the content of this one and the message. This one does not change."""
        other = self.emptied()
        other._rows, other._inboxes = self._rows, self._inboxes
        other.put(message, replayable)
        return other

    def extended(self, stream: str, rows: pa.Table) -> Shelf:
        """A new shelf with additional input of a stream after its position (Brettlecker §4.6)."""
        other = self.emptied()
        other.newest, other._rows, other._inboxes = self.newest, self._rows, self._inboxes
        longer = [t for t in (self._ahead.get(stream), rows) if t is not None]
        other._ahead = {**self._ahead, stream: pa.concat_tables(longer)}
        return other

    def ahead(self, stream: str) -> pa.Table | None:
        return self._ahead.get(stream)

    def put(self, message: Message, replayable: frozenset[Stream]) -> None:
        kept = {}
        for part in parts(message.checkpoint, replayable):
            key = (part.element, part.name)
            held, new = self._rows.get(key), message.rows.get(key)
            if held is not None:
                kept[key] = held.within(part.wanted)
            if new is not None:
                kept[key] = kept.get(key, Kept.nothing(new.schema)).followed_by(new, self.spill)
        self._rows, self._ahead = kept, {}
        self._inboxes = {**self._inboxes, **message.inboxes}
        self.newest = message.checkpoint

    def inbox(self, element: str) -> InboxState:
        return self._inboxes[element]

    def rows(self, element: str, name: str) -> pa.Table | None:
        kept = self._rows.get((element, name))
        rows = kept.rows if kept is not None else None
        return rows if rows is not None and rows.num_rows else None

    @property
    def size(self) -> int:
        return sum(kept.rows.nbytes for kept in self._rows.values())
