"""The cost of each move, in milliseconds since the primary was asked. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from understudy.local.report.record import Record
from understudy.local.run.local_moves import Underway
from understudy.model.job import StreamJob
from understudy.protocol.statuspage import Departure, TakeOver


@dataclass(frozen=True, slots=True)
class Migration:
    subjob: str
    mode: str
    why: str
    source: str
    target: str
    at_ms: int
    """When the primary was asked, wall clock; if it never was, when the target was started."""
    failure: str | None = None
    """Why the move did not take place."""
    paused_ms: int | None = None
    """When the last micro-batch before the move began; None: the move had no pause."""
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
    departure = record.departures.get((move.source.name, move.target.name), Departure())
    found = _arrival(move, record)
    at, arrival = departure.requested or move.began_ms, found or TakeOver()

    def since(moment: int | None) -> int | None:
        return None if moment is None else max(0, moment - at)

    return Migration(
        subjob=subjob.name,
        mode=subjob.ha.mode.value,
        why=move.planned.why,
        source=move.source.name,
        target=move.target.name,
        at_ms=at,
        failure=None if found else move.failure or departure.given_up or _unplanned(move),
        paused_ms=since(departure.paused),
        settled_ms=since(departure.settled),
        handed_over_ms=since(departure.handed_over),
        promoted_ms=since(arrival.promoted),
        restored_ms=since(arrival.restored),
        first_output_ms=since(arrival.first_output),
        caught_up_ms=since(arrival.caught_up),
        moved_bytes=departure.bytes,
        replayed=arrival.replayed,
        lost=arrival.lost,
    )


def _unplanned(move: Underway) -> str:
    """Why there is no planned arrival, although the move did not fail."""
    if move.ended_ms is None:
        return "the job was over first"
    return f"{move.target.name} took over before it was handed to it"


def _arrival(move: Underway, record: Record) -> TakeOver | None:
    """The take-over by which the target became primary."""
    found = (
        story
        for (instance, _), story in record.takeovers.items()
        if instance == move.target and story.gone == move.source.name
    )
    return next((story for story in found if story.planned), None)
