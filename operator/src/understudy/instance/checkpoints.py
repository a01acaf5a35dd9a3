"""Checkpoints on the wire and in the secondary's memory.

The core names ranges; here they become rows. A message holds the rows that the secondary lacks, one Arrow IPC
stream per part; the secondary puts each part behind what it has and drops what the new checkpoint no longer
names.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from understudy.protocol.checkpoint import Checkpoint, ElementState, missing
from understudy.protocol.ids import Consumer, Epoch, Range, Seq, Stream
from understudy.streams.encoding import (
    log_from_json,
    log_to_json,
    positions_from_json,
    step_from_json,
    step_to_json,
    trees_from_json,
    trees_to_json,
)
from understudy.streams.spill import Kept, Spill

LETTER_BYTES = 32 << 20  # of rows
QUEUE = "queue"  # an element's output queue; any other part name is an input stream: its tail


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one range: of an element's output queue, or of the tail of one of its inputs."""

    element: str
    name: str
    wanted: Range


@dataclass(frozen=True, slots=True)
class Message:
    """A checkpoint as it travels: what it is, and of the elements that changed the inbox state and the new
    rows."""

    checkpoint: Checkpoint
    inboxes: Mapping[str, Any]
    rows: Mapping[tuple[str, str], pa.Table] = field(default_factory=dict)


def parts(checkpoint: Checkpoint, replayable: frozenset[Stream]) -> list[Part]:
    """Everything a checkpoint consists of. Tails of sources are not shipped: they can be read again."""
    found = []
    for name, state in checkpoint.elements.items():
        found.append(Part(name, QUEUE, state.held))
        found += [Part(name, s, state.tail(s)) for s in state.positions if s not in replayable]
    return found


def to_ship(
    checkpoint: Checkpoint, base: Checkpoint | None, replayable: frozenset[Stream]
) -> list[tuple[Part, Range]]:
    """Each part with the range of it that a secondary that has stored `base` lacks."""
    stored = {(p.element, p.name): p.wanted for p in parts(base, replayable)} if base else {}
    return [(p, missing(p.wanted, stored.get((p.element, p.name)))) for p in parts(checkpoint, replayable)]


class Shelf:
    """What a secondary holds: the rows of its newest checkpoint."""

    def __init__(self, spill: Spill) -> None:
        self.newest: Checkpoint | None = None
        self.spill = spill
        self._inboxes: dict[str, Any] = {}
        self._rows: dict[tuple[str, str], Kept] = {}
        self._ahead: dict[str, pa.Table] = {}

    def emptied(self) -> Shelf:
        return Shelf(self.spill)

    def with_(self, message: Message, replayable: frozenset[Stream]) -> Shelf:
        """Another shelf, with what this one holds and the message: this one stays as it is."""
        other = self.emptied()
        other._rows, other._inboxes = self._rows, self._inboxes
        other.put(message, replayable)
        return other

    def extended(self, stream: str, rows: pa.Table) -> Shelf:
        """Another shelf, with input of a stream beyond the position (Brettlecker §4.6)."""
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

    def inbox(self, element: str) -> Any:
        return self._inboxes[element]

    def rows(self, element: str, name: str) -> pa.Table | None:
        kept = self._rows.get((element, name))
        rows = kept.rows if kept is not None else None
        return rows if rows is not None and rows.num_rows else None

    @property
    def size(self) -> int:
        return sum(kept.rows.nbytes for kept in self._rows.values())


# --- bytes


Letter = tuple[dict[str, Any], list[bytes]]  # JSON-able words, and blobs


def encode(message: Message, most: int = LETTER_BYTES) -> Iterator[Letter]:
    """The last letter says what it is, and has one IPC stream per part named there; rows that are too many
    for it go ahead, in letters of their own. Names and zeros are most of what it is: that is compressed."""
    rest = {}
    for key, rows in message.rows.items():
        *ahead, rest[key] = _slices(rows, most)
        yield from (({"piece": list(key)}, [table_to_bytes(piece)]) for piece in ahead)
    header = {
        "checkpoint": _checkpoint_to_json(message.checkpoint),
        "inboxes": dict(message.inboxes),
        "parts": [list(key) for key in rest],
    }
    packed = zlib.compress(json.dumps(header, separators=(",", ":")).encode())
    yield {"checkpoint": True}, [packed, *map(table_to_bytes, rest.values())]


def _slices(rows: pa.Table, most: int) -> list[pa.Table]:
    count = max(-(-rows.nbytes // most), 1)
    length = max(-(-rows.num_rows // count), 1)
    return [rows.slice(start, length) for start in range(0, max(rows.num_rows, 1), length)]


class Unpacking:
    """A message is whole with its last letter."""

    def __init__(self, spill: Spill) -> None:
        self._spill = spill
        self._pieces: dict[tuple[str, str], Kept] = {}

    def take(self, said: Mapping[str, Any], blobs: list[bytes]) -> Message | None:
        if "piece" in said:
            self._add(said["piece"], blobs[0])
        if "checkpoint" not in said:
            return None
        header = json.loads(zlib.decompress(blobs[0]))
        for key, blob in zip(header["parts"], blobs[1:], strict=True):
            self._add(key, blob)
        rows = {key: kept.rows for key, kept in self._pieces.items()}
        self._pieces = {}
        return Message(_checkpoint_from_json(header["checkpoint"]), header["inboxes"], rows)

    def _add(self, key: Sequence[str], blob: bytes) -> None:
        element, name = key
        rows = table_from_bytes(blob)
        before = self._pieces.get((element, name)) or Kept.nothing(rows.schema)
        self._pieces[element, name] = before.followed_by(rows, self._spill)


def _checkpoint_to_json(checkpoint: Checkpoint) -> dict[str, Any]:
    elements = {
        name: {
            "positions": dict(e.positions),
            "selection": dict(e.selection),
            "held": [e.held.start, e.held.stop],
            "ended": e.ended,
        }
        for name, e in checkpoint.elements.items()
    }
    marks = {s: step_to_json(step) for s, step in checkpoint.marks.items()}
    numbers = {"epoch": checkpoint.epoch, "number": checkpoint.number}
    steps = {s: [step_to_json(step) for step in log] for s, log in checkpoint.steps.items()}
    rest = {"trees": trees_to_json(checkpoint.trees), "steps": steps, "extended": dict(checkpoint.extended)}
    shifts = {s: dict(per) for s, per in checkpoint.shifts.items()}
    logged = {"marks": marks, "log": log_to_json(checkpoint.log)}
    return numbers | {"elements": elements, "shifts": shifts} | logged | rest


def _checkpoint_from_json(value: Mapping[str, Any]) -> Checkpoint:
    elements = {
        name: ElementState(
            positions_from_json(e["positions"]),
            positions_from_json(e["selection"]),
            Range(Seq(e["held"][0]), Seq(e["held"][1])),
            e["ended"],
        )
        for name, e in value["elements"].items()
    }
    marks = {
        Stream(s): mark for s, step in value["marks"].items() if (mark := step_from_json(step)) is not None
    }
    steps = {Stream(s): tuple(filter(None, map(step_from_json, log))) for s, log in value["steps"].items()}
    trees, extended = trees_from_json(value["trees"]), positions_from_json(value["extended"])
    log = log_from_json(value["log"])
    shifts = {Stream(s): {Consumer(c): n for c, n in per.items()} for s, per in value["shifts"].items()}
    return Checkpoint(
        Epoch(value["epoch"]), value["number"], elements, marks, trees, steps, log, extended, shifts
    )


def table_to_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def table_from_bytes(blob: bytes) -> pa.Table:
    return pa.ipc.open_stream(blob).read_all()
