"""The entries of a numbering log as bytes: JSON, so that any consumer can show them.

A new field needs a new VERSION. A reader that meets a later version stops: if it ignored the entry, it would
number the tuples differently from other readers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from understudy.protocol.ids import Seq
from understudy.protocol.numbering import (
    Bad,
    LogEntry,
    Numbering,
    Offset,
    Place,
    Recreated,
    Removed,
    Run,
    Taken,
)
from understudy.protocol.selection import Micros

VERSION: Final = 1


class NotUnderstood(Exception):
    """The log was written by a later version, or is not a numbering log: this process must not go on."""


def to_bytes(entry: LogEntry) -> bytes:
    return json.dumps({"v": VERSION, **_fields(entry)}, separators=(",", ":")).encode()


def from_bytes(data: bytes) -> LogEntry:
    """The entry in these bytes. Raises NotUnderstood."""
    try:
        found = json.loads(data)
        if found["v"] != VERSION:
            raise NotUnderstood(f"an entry of the numbering log has version {found['v']}, known is {VERSION}")
        return _entry(found)
    except (ValueError, KeyError, TypeError) as error:
        raise NotUnderstood(f"not an entry of a numbering log: {data[:80]!r}") from error


def _fields(entry: LogEntry) -> dict[str, Any]:
    match entry:
        case Numbering():
            places = [[p, place.next, place.latest] for p, place in sorted(entry.places.items())]
            known = {"topic": entry.topic, "next": entry.next, "progress": entry.progress}
            return {"kind": "state", "serial": entry.serial, "places": places, **known}
        case Taken():
            parts = {
                "runs": [[run.partition, run.start, run.stop] for run in entry.runs],
                "bad": [[bad.partition, bad.offset, bad.why] for bad in entry.bad],
                "removed": [[gone.partition, gone.start, gone.stop] for gone in entry.removed],
                "latest": [[p, time] for p, time in sorted(entry.latest.items())],
                "progress": entry.progress,
            }
            return {
                "kind": "taken",
                "serial": entry.serial,
                **{k: v for k, v in parts.items() if v not in ([], None)},
            }
        case Recreated():
            return {"kind": "recreated", "serial": entry.serial, "topic": entry.topic}


def _entry(found: Mapping[str, Any]) -> LogEntry:
    serial = int(found["serial"])
    match found["kind"]:
        case "state":
            places = {p: Place(Offset(offset), _micros(latest)) for p, offset, latest in found["places"]}
            return Numbering(found["topic"], places, serial, Seq(found["next"]), _micros(found["progress"]))
        case "taken":
            return Taken(
                serial,
                tuple(Run(p, Offset(start), Offset(stop)) for p, start, stop in found.get("runs", ())),
                tuple(Bad(p, Offset(offset), why) for p, offset, why in found.get("bad", ())),
                tuple(Removed(p, Offset(start), Offset(stop)) for p, start, stop in found.get("removed", ())),
                {p: Micros(time) for p, time in found.get("latest", ())},
                _micros(found.get("progress")),
            )
        case "recreated":
            return Recreated(serial, found["topic"])
        case kind:
            raise NotUnderstood(f"an entry of the numbering log is of the unknown kind {kind!r}")


def _micros(time: int | None) -> Micros | None:
    return Micros(time) if time is not None else None
