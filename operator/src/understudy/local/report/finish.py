"""After a run: its record is written, the sinks are checked, the report is made."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from understudy.local.effective import cut_at, write
from understudy.local.environment import for_children
from understudy.local.folder import Folder
from understudy.local.processes import Child, Reaper
from understudy.local.report.fault_effects import incidents_of
from understudy.local.report.page import render
from understudy.local.report.record import Record
from understudy.local.report.report import Report, record_to_json, too_late
from understudy.local.report.verdicts import Verdict, verdict_from_json
from understudy.local.run.intents import Finish
from understudy.model.job import StreamJob
from understudy.protocol.ids import WallMillis

CHECK_TICK_SECONDS = 0.1
CHECK_NOTE_SECONDS = 10.0


class Notes(Protocol):
    def note(self, text: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Telling:
    report: Report
    verdicts: Mapping[str, Verdict] | None
    """For each sink; None if the check failed."""

    @property
    def kept(self) -> bool:
        """Whether all guarantees are known to have been kept."""
        return not self.broken()

    def broken(self) -> list[str]:
        """A sentence for every guarantee that was not kept, or is not known to have been kept."""
        late = too_late(self.report.record, self.report.incidents, self.report.job)
        if self.verdicts is None:
            return ["the sinks could not be checked", *late]
        wrong = [
            f"{name}: {verdict.sentence()}" for name, verdict in self.verdicts.items() if not verdict.kept
        ]
        return [*wrong, *late]


def tell_of(job: StreamJob, folder: Folder, record: Record, notes: Notes) -> Telling:
    incidents = incidents_of(record, job)
    folder.record.write_text(json.dumps(record_to_json(record, incidents)))
    if isinstance(record.outcome, Finish) and not record.outcome.complete:
        write(cut_at(job, due(job, record.started_ms, record.clock.wall_now())), folder.job)
    verdicts = _check(folder, notes) if job.sinks else {}
    report = Report(
        job, record, incidents, {n: v.comparison for n, v in (verdicts or {}).items() if v.comparison}
    )
    folder.report.write_text(json.dumps(report.to_json(), indent=2) + "\n")
    folder.page.write_text(render(report))
    return Telling(report, verdicts)


def due(job: StreamJob, started_ms: int | None, now: WallMillis) -> dict[str, int]:
    """How many tuples of each source are due by now. All processes have ended, so none has read further;
    tuples that they did not reach are an open end."""
    elapsed = now - (started_ms or now)
    found = {source.name: source.origin.due(elapsed) for source in job.sources}
    return {name: due for name, due in found.items() if due is not None}


def _check(folder: Folder, notes: Notes) -> dict[str, Verdict] | None:
    """Runs in a process of its own, because the check needs a Spark session, of which nothing should remain.
    None if it failed."""
    notes.note("computing the result without failures, as a batch in Spark, to compare the sinks with")
    reaper = Reaper()
    command = [sys.executable, "-m", "understudy.cli", "verify", str(folder.path), "--json"]
    child = Child("verify", command, folder.logs / "verify.log", reaper, for_children())
    try:
        _wait(child, notes)
    finally:
        reaper.close()
    if not folder.verdict.exists():
        notes.note("the check failed: " + " / ".join(child.last_lines(3)))
        return None
    return {name: verdict_from_json(found) for name, found in json.loads(folder.verdict.read_text()).items()}


def _wait(child: Child, notes: Notes) -> None:
    began = said = time.monotonic()
    while child.exit_code() is None:
        time.sleep(CHECK_TICK_SECONDS)
        if time.monotonic() - said > CHECK_NOTE_SECONDS:
            said = time.monotonic()
            notes.note(f"still computing, for {said - began:.0f} s")
