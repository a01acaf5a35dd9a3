"""A run that is over, from the files in its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.console.live_run import PLACE, incident_seen
from understudy.console.look import counts_of
from understudy.console.seen import Arrived, JobSeen, ProcessSeen, plans_of
from understudy.console.view import NodeKind, Part, Safety, Verdict
from understudy.local.folder import Folder
from understudy.local.report.arrivals import Arrival
from understudy.local.report.fault_effects import Incident
from understudy.local.report.finish import Telling
from understudy.local.report.record import Record
from understudy.local.report.report import Report, blame
from understudy.local.report.verdicts import Verdict as SinkVerdict
from understudy.local.report.verdicts import verdict_from_json
from understudy.local.run.intents import Finish
from understudy.model.job import StreamJob
from understudy.model.load import from_manifest
from understudy.protocol.statuspage import InstancePage, SinkPage, StatusPage, from_json


def read_folder(path: Path) -> JobSeen | str:
    """What the files say, or why they can't be read."""
    folder = Folder(path)
    if not path.is_dir():
        return f"there is no folder {path}"
    if not folder.report.exists():
        return f"there is no report.json in {path}: the run has not ended yet, or it failed"
    try:
        return _seen(folder)
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"the files in {path} can't be read: {type(error).__name__}: {error}"


def _seen(folder: Folder) -> JobSeen:
    run = json.loads(folder.record.read_text())
    job = _job(run["versions"][-1])
    incidents = [Incident(**fields) for fields in run["incidents"]]
    record = _record(run)
    verdicts = _verdicts(folder, job)
    compared = {name: v.comparison for name, v in (verdicts or {}).items() if v.comparison}
    told = Telling(Report(job, record, incidents, compared), verdicts)
    charged = blame(told.report)
    seen = JobSeen(
        job=job,
        place=PLACE,
        now_ms=record.ended_ms or record.began_ms,
        started_ms=record.started_ms,
        ended_ms=record.ended_ms,
        plans=plans_of(job),
        processes=tuple(_processes(record.last, incidents)),
        incidents=tuple(
            incident_seen(i, caused.duplicated if compared else None, caused.lost)
            for i, caused in zip(incidents, charged, strict=True)
        ),
        arrivals={
            name: [Arrived(a.at_ms, a.tuples) for a in found] for name, found in record.arrivals.items()
        },
        outcome=_outcome(told),
    )
    return replace(seen, rates=_mean_rates(seen))


def _job(manifest: object) -> StreamJob:
    found = from_manifest(manifest)
    if isinstance(found, list):
        raise ValueError("; ".join(refusal.message for refusal in found))
    return found


def _record(run: Mapping[str, Any]) -> Record:
    """The part of the record that `run.json` keeps."""
    return Record(
        began_ms=run["beganMs"],
        started_ms=run["startedMs"],
        ended_ms=run["endedMs"],
        outcome=Finish(run["why"] or "", run["complete"]),
        arrivals={name: [Arrival(*each) for each in found] for name, found in run["arrivals"].items()},
        last={name: _page(found) for name, found in run["status"].items()},
    )


def _page(found: Mapping[str, Any]) -> StatusPage | None:
    page = from_json(found) if found else None
    return page if isinstance(page, InstancePage | SinkPage) else None


def _verdicts(folder: Folder, job: StreamJob) -> Mapping[str, SinkVerdict] | None:
    if not folder.verdict.exists():
        return None if job.sinks else {}
    found = json.loads(folder.verdict.read_text())
    return {name: verdict_from_json(verdict) for name, verdict in found.items()}


def _outcome(told: Telling) -> Verdict:
    if broken := told.broken():
        return Verdict(Safety.BROKEN, "; ".join(broken))
    return Verdict(Safety.KEPT, "; ".join(f"{n}: {v.sentence()}" for n, v in (told.verdicts or {}).items()))


def _processes(last: Mapping[str, StatusPage | None], incidents: Sequence[Incident]) -> list[ProcessSeen]:
    """The last holder of each Lease led with the greatest epoch. A victim that does not lead is gone."""
    pages = {name: page for name, page in last.items() if isinstance(page, InstancePage)}
    epochs: dict[str, int] = {}
    for page in pages.values():
        epochs[page.subjob] = max(epochs.get(page.subjob, 0), page.epoch if page.leads else 0)
    victims = {i.victim for i in incidents}

    def part(name: str, page: InstancePage) -> Part:
        if page.leads and page.epoch == epochs[page.subjob]:
            return Part.PRIMARY
        return Part.GONE if name in victims or page.leads else Part.STANDBY

    instances = [
        ProcessSeen(n, NodeKind.SUBJOB, page.subjob, part(n, page), page) for n, page in pages.items()
    ]
    sinks = [
        ProcessSeen(name, NodeKind.SINK, page.sink, Part.SINK, page)
        for name, page in last.items()
        if isinstance(page, SinkPage)
    ]
    return [*instances, *sinks]


def _mean_rates(seen: JobSeen) -> dict[tuple[str, str], float]:
    if seen.started_ms is None or seen.ended_ms is None or seen.ended_ms <= seen.started_ms:
        return {}
    seconds = (seen.ended_ms - seen.started_ms) / 1000
    return {key: count / seconds for key, count in counts_of(seen).items()}
