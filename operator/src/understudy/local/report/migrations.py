"""What each move cost, in milliseconds since the primary was asked. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from understudy.local.report.record import Record
from understudy.local.run.moves import Underway
from understudy.model.job import StreamJob


@dataclass(frozen=True, slots=True)
class Migration:
    subjob: str
    mode: str
    why: str
    source: str
    target: str
    at_ms: int
    """When the primary was asked, wall clock; when the target was started, if it never was."""
    failure: str | None = None
    """Why it did not take place."""
    paused_ms: int | None = None
    """No further micro-batch was begun; None: it never stood still."""
    settled_ms: int | None = None
    handed_over_ms: int | None = None
    promoted_ms: int | None = None
    restored_ms: int | None = None
    first_output_ms: int | None = None
    caught_up_ms: int | None = None
    moved_bytes: int = 0
    replayed: int = 0
    lost: int = 0

    @property
    def pause_ms(self) -> int | None:
        """From the last micro-batch here to the moment from which the target can begin one."""
        if self.restored_ms is None:
            return None
        return 0 if self.paused_ms is None else max(0, self.restored_ms - self.paused_ms)


def migrations_of(record: Record, job: StreamJob) -> list[Migration]:
    return [_migration(move, record, job) for move in record.moves]


def _migration(move: Underway, record: Record, job: StreamJob) -> Migration:
    subjob = job.subjob(move.planned.subjob)
    assert subjob is not None
    departure = record.departures.get((move.source.name, move.target.name), {})
    arrival = _arrival(move, record)
    at = departure.get("requestedMs") or move.began_ms

    def since(told: Mapping[str, Any], key: str) -> int | None:
        return None if told.get(key) is None else max(0, told[key] - at)

    return Migration(
        subjob=subjob.name,
        mode=subjob.ha.mode.value,
        why=move.planned.why,
        source=move.source.name,
        target=move.target.name,
        at_ms=at,
        failure=None if arrival else move.failure or departure.get("givenUp") or _unplanned(move),
        paused_ms=since(departure, "pausedMs"),
        settled_ms=since(departure, "settledMs"),
        handed_over_ms=since(departure, "handedOverMs"),
        promoted_ms=since(arrival, "promotedMs"),
        restored_ms=since(arrival, "restoredMs"),
        first_output_ms=since(arrival, "firstOutputMs"),
        caught_up_ms=since(arrival, "caughtUpMs"),
        moved_bytes=departure.get("bytes", 0),
        replayed=arrival.get("replayed", 0),
        lost=arrival.get("lost", 0),
    )


def _unplanned(move: Underway) -> str:
    """Why there is no planned arrival, though nothing went wrong with the move."""
    if move.ended_ms is None:
        return "the job was over first"
    return f"{move.target.name} took over before it was handed to it"


def _arrival(move: Underway, record: Record) -> Mapping[str, Any]:
    """The take-over by which the target became primary."""
    found = (
        s
        for (name, _), s in record.takeovers.items()
        if name == move.target.name and s["from"] == move.source.name
    )
    return next((story for story in found if story.get("planned")), {})
