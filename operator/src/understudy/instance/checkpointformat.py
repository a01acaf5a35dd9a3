"""A checkpoint as bytes. This is the only module that knows its format.

A checkpoint is sent as letters: a letter is a message with blobs. The last letter contains the header, as
compressed JSON with a version, and one Arrow IPC stream for each part that the header names. Rows that are
too many for it are sent before it, each with a `Piece`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from understudy.engine.state import InboxState
from understudy.instance.checkpoints import Message
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.peermessage import HandOver, Piece, Said, Shipped
from understudy.protocol.versioned import Format, NotUnderstood, Wire
from understudy.streams.spill import Kept, Spill

LETTER_BYTES: Final = 32 << 20  # of rows in one letter
Letter = tuple[Said, list[bytes]]
Key = tuple[str, str]
"""The key of a part: its element and its name."""


@dataclass(frozen=True, slots=True)
class Header(Wire):
    checkpoint: Checkpoint
    inboxes: Mapping[str, InboxState]
    parts: tuple[Key, ...]
    """The parts whose rows are in the last letter, in this order."""


_FORMAT: Final = Format[Header]("the checkpoint", version=(1, 0), brief=True, kinds={"checkpoint": Header})


def header_to_bytes(header: Header) -> bytes:
    """The header, compressed, because names and zeros are most of it."""
    return zlib.compress(_FORMAT.to_bytes(header))


def header_from_bytes(raw: bytes) -> Header | NotUnderstood:
    try:
        return _FORMAT.from_bytes(zlib.decompress(raw))
    except zlib.error as error:
        return NotUnderstood(f"the checkpoint is not compressed as it should be: {error}")


def letters_of(message: Message, last: Shipped | HandOver, most: int = LETTER_BYTES) -> Iterator[Letter]:
    rest = {}
    for key, rows in message.rows.items():
        *ahead, rest[key] = _slices(rows, most)
        element, part = key
        for piece in ahead:
            yield Piece(epoch=last.epoch, element=element, part=part), [table_to_bytes(piece)]
    header = Header(message.checkpoint, message.inboxes, tuple(rest))
    yield last, [header_to_bytes(header), *map(table_to_bytes, rest.values())]


def _slices(rows: pa.Table, most: int) -> list[pa.Table]:
    count = max(-(-rows.nbytes // most), 1)
    length = max(-(-rows.num_rows // count), 1)
    return [rows.slice(start, length) for start in range(0, max(rows.num_rows, 1), length)]


class Unpacking:
    """Collects the letters of a checkpoint. The checkpoint is complete with its last letter."""

    def __init__(self, spill: Spill) -> None:
        self._spill = spill
        self._pieces: dict[Key, Kept] = {}

    def add(self, piece: Piece, blobs: list[bytes]) -> None:
        self._add((piece.element, piece.part), blobs[0])

    def finish(self, blobs: list[bytes]) -> Message | NotUnderstood:
        header = header_from_bytes(blobs[0])
        if isinstance(header, NotUnderstood):
            return header
        for key, blob in zip(header.parts, blobs[1:], strict=True):
            self._add(key, blob)
        rows = {key: kept.rows for key, kept in self._pieces.items()}
        self._pieces = {}
        return Message(header.checkpoint, header.inboxes, rows)

    def _add(self, key: Key, blob: bytes) -> None:
        rows = table_from_bytes(blob)
        before = self._pieces.get(key) or Kept.nothing(rows.schema)
        self._pieces[key] = before.followed_by(rows, self._spill)


def table_to_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def table_from_bytes(blob: bytes) -> pa.Table:
    return pa.ipc.open_stream(blob).read_all()
