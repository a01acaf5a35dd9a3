"""What the log of a `push` source consists of: records with a length and a checksum.

A crash may leave the last record torn: its length or its checksum is wrong. No ack was sent for what comes
after it, because an ack follows an fsync of everything before.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from understudy.protocol.ids import Seq

VERSION: Final = 1
_HEAD: Final = struct.Struct("<II")  # length of the payload, its CRC-32
_BATCH: Final = struct.Struct("<BBIQ")  # kind, length of the producer's name, rows, sequence
_STATE: Final = struct.Struct("<B")
_IS_BATCH: Final = 1
_IS_STATE: Final = 2
LONGEST: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Batch:
    """One request: lines of NDJSON, each of which is a tuple."""

    producer: str
    sequence: int
    rows: int
    body: bytes

    @property
    def checksum(self) -> int:
        return zlib.crc32(self.body)


@dataclass(frozen=True, slots=True)
class Last:
    """The newest request of a producer."""

    sequence: int
    checksum: int


@dataclass(frozen=True, slots=True)
class State:
    """Everything that the records before say, except their tuples. Every segment begins with one."""

    next: Seq
    producers: Mapping[str, Last] = field(default_factory=dict)
    version: int = VERSION


Record = Batch | State


class Damaged(Exception):
    """The log is not what was written. The text says where."""


def to_bytes(record: Record) -> bytes:
    match record:
        case Batch(producer, sequence, rows, body):
            name = producer.encode()
            payload = b"".join((_BATCH.pack(_IS_BATCH, len(name), rows, sequence), name, body))
        case State():
            payload = _STATE.pack(_IS_STATE) + json.dumps(asdict(record), separators=(",", ":")).encode()
    return _HEAD.pack(len(payload), zlib.crc32(payload)) + payload


def records(raw: bytes | memoryview) -> Iterator[tuple[int, Record]]:
    """Each whole record with the place after it. Ends before the first that is torn."""
    at = 0
    while at + _HEAD.size <= len(raw):
        length, checksum = _HEAD.unpack_from(raw, at)
        start, at = at + _HEAD.size, at + _HEAD.size + length
        if not 0 < length <= LONGEST or at > len(raw) or zlib.crc32(raw[start:at]) != checksum:
            return
        yield at, _record(bytes(raw[start:at]))


def _record(payload: bytes) -> Record:
    if payload[0] == _IS_BATCH:
        _, length, rows, sequence = _BATCH.unpack_from(payload)
        body = _BATCH.size + length
        return Batch(payload[_BATCH.size : body].decode(), sequence, rows, payload[body:])
    if payload[0] == _IS_STATE:
        found = json.loads(payload[_STATE.size :])
        if found["version"] != VERSION:
            raise Damaged(f"version {found['version']} wrote the log; this process reads version {VERSION}")
        return State(Seq(found["next"]), {name: Last(**last) for name, last in found["producers"].items()})
    raise Damaged(f"a record is of the unknown kind {payload[0]}")
