"""A local run, while it runs: what its supervisor observes, as the console sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from understudy.console.board import Board
from understudy.console.look import counts_of, view_of
from understudy.console.seen import PROTECTED_AGAIN, Arrived, IncidentSeen, JobSeen, ProcessSeen, plans_of
from understudy.console.series import Rates
from understudy.console.view import ConsoleView, NodeKind, Part
from understudy.local.report.fault_effects import Incident, incidents_of
from understudy.local.report.record import Record
from understudy.local.run.members import Kind
from understudy.local.run.observed import Observed, Seen
from understudy.model.job import StreamJob
from understudy.model.plan import SubjobPlan

PLACE: Final = "local run"
LOOK_MS: Final = 250
SILENT_MS: Final = 3_000
"""After so long without an answer, a page says nothing about the present."""


def seen_of(
    record: Record, observed: Observed, plans: Mapping[str, SubjobPlan], arrivals: Mapping[str, list[Arrived]]
) -> JobSeen:
    job = record.versions[-1]
    return JobSeen(
        job=job,
        place=PLACE,
        now_ms=observed.now_ms,
        started_ms=observed.started_ms,
        ended_ms=record.ended_ms,
        plans=plans,
        processes=tuple(_process(seen, observed) for seen in observed.seen),
        incidents=tuple(incident_seen(i) for i in incidents_of(record, job)),
        arrivals=arrivals,
    )


def _process(seen: Seen, observed: Observed) -> ProcessSeen:
    process, holder = seen.process, observed.holders.get(seen.process.owner)
    silent = seen.silent_ms if seen.alive and seen.page and seen.silent_ms >= SILENT_MS else None
    if process.kind is Kind.SINK:
        finished = seen.exit_code == 0
        part = Part.SINK if seen.alive or finished else Part.GONE
        return ProcessSeen(process.name, NodeKind.SINK, process.owner, part, seen.page, silent)
    part = Part.GONE if not seen.alive else Part.PRIMARY if process.name == holder else Part.STANDBY
    return ProcessSeen(process.name, NodeKind.SUBJOB, process.owner, part, seen.page, silent)


def incident_seen(incident: Incident, duplicated: int | None = None, lost: int | None = None) -> IncidentSeen:
    """`lost` and `duplicated`: as the sinks showed them after the run."""
    steps = {
        "detected": incident.detected_ms,
        "promoted": incident.promoted_ms,
        "state restored": incident.restored_ms,
        "first output": incident.first_output_ms,
        "caught up": incident.caught_up_ms,
        PROTECTED_AGAIN: incident.reprotected_ms,
    }
    return IncidentSeen(
        at_ms=incident.at_ms,
        subjob=incident.subjob,
        mode=incident.mode,
        cause=incident.cause,
        victim=incident.victim,
        role=incident.role,
        successor=incident.successor,
        steps={name: at for name, at in steps.items() if at is not None},
        recovery_ms=incident.recovery_ms,
        replayed=incident.replayed,
        lost=incident.lost if lost is None else lost,
        duplicated=duplicated,
    )


class LiveRun:
    """An audience of a supervisor: it looks four times a second, and puts what it sees on the board."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._record: Record | None = None
        self._arrivals: dict[str, list[Arrived]] = {}
        self._rates = Rates()
        self._planned: tuple[StreamJob, Mapping[str, SubjobPlan]] | None = None
        self._looked_ms = 0
        self._last: Observed | None = None

    def follow(self, record: Record) -> None:
        self._record = record

    def note(self, text: str) -> None:
        pass

    def watch(self, observed: Observed, tuples: Mapping[str, int]) -> None:
        for sink, count in tuples.items():
            known = self._arrivals.setdefault(sink, [])
            if count > (known[-1].tuples if known else 0):
                known.append(Arrived(observed.now_ms, count))
        self._last = observed
        if self._record is not None and observed.now_ms - self._looked_ms >= LOOK_MS:
            self._looked_ms = observed.now_ms
            self._board.show(self._look(self._record, observed))

    def end(self) -> None:
        """The record is complete; whether the promises were kept is not known yet."""
        if self._record is not None and self._last is not None:
            self._board.show(self._look(self._record, self._last))

    def _look(self, record: Record, observed: Observed) -> ConsoleView:
        job = record.versions[-1]
        if self._planned is None or self._planned[0] is not job:
            self._planned = (job, plans_of(job))
        seen = seen_of(record, observed, self._planned[1], self._arrivals)
        self._rates = self._rates.seen(observed.now_ms, counts_of(seen))
        return view_of(replace(seen, rates=self._rates.per_second))
