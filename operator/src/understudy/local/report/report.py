"""The report of a run: `report.json` in the format that users and checks know, and `run.json` with all
observations."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from understudy.local.report.arrivals import Arrival
from understudy.local.report.comparison import Comparison
from understudy.local.report.fault_effects import Incident
from understudy.local.report.move_costs import Migration, migrations_of
from understudy.local.report.record import Record
from understudy.local.run.intents import Finish
from understudy.local.sink_guarantees import SubjobPromise, path_of, promises
from understudy.model.ha import Guarantee
from understudy.model.job import StreamJob, Subjob
from understudy.model.load import to_manifest
from understudy.protocol.statuspage import SinkPage, to_json


@dataclass(frozen=True, slots=True)
class Report:
    job: StreamJob
    record: Record
    incidents: Sequence[Incident]
    comparisons: Mapping[str, Comparison]
    """For each sink; a sink that can't be compared (a console, a failed check) is missing."""

    def to_json(self) -> dict[str, Any]:
        return {
            "job": self.job.name,
            "sinks": {s.name: self._sink(s.name) for s in self.job.sinks},
            "incidents": [
                _incident(i, caused) for i, caused in zip(self.incidents, blame(self), strict=True)
            ],
            "migrations": [migration_to_json(m) for m in self.migrations],
            "subjobs": {name: self._subjob(name, promise) for name, promise in promises(self.job).items()},
        }

    @property
    def migrations(self) -> list[Migration]:
        return migrations_of(self.record, self.job)

    def _subjob(self, name: str, promise: SubjobPromise) -> dict[str, Any]:
        found = self.record.degraded.get(name)
        return _subjob(promise) | ({"degraded": found} if found else {})

    def _sink(self, name: str) -> dict[str, Any]:
        found, lag = self.comparisons.get(name), self._lag(name)
        if found is None:
            return {
                "tuples": self.received(name),
                "lost": None,
                "duplicated": None,
                "reordered": None,
                "recovery": None,
                "lag": lag,
            }
        return {
            "tuples": found.tuples,
            "lost": found.lost,
            "duplicated": found.duplicated,
            "reordered": found.reordered,
            "recovery": found.recovery.value,
            "lag": lag,
        }

    def _lag(self, sink: str) -> dict[str, Any] | None:
        """How far the sink was behind the end of its stream: at most, and at the end."""
        lags = self.record.lags.get(sink)
        if lags is None:
            return None
        named = (("most", lags.most), ("last", lags.last))
        return {name: {"tuples": lag.tuples, "seconds": lag.milliseconds / 1000} for name, lag in named}

    def received(self, sink: str) -> int:
        arrivals, page = self.record.arrivals.get(sink), self.record.last.get(f"sink-{sink}")
        if arrivals:
            return arrivals[-1].tuples
        return page.tuples if isinstance(page, SinkPage) else 0


def _incident(incident: Incident, caused: Blame) -> dict[str, Any]:
    return {
        "subjob": incident.subjob,
        "mode": incident.mode,
        "cause": incident.cause,
        "detectedMs": incident.detected_ms,
        "promotedMs": incident.promoted_ms,
        "firstOutputMs": incident.first_output_ms,
        "caughtUpMs": incident.caught_up_ms,
        "recoveryMs": incident.recovery_ms,
        "replayed": incident.replayed,
        "lost": caused.lost,
        "duplicated": caused.duplicated,
    }


def migration_to_json(migration: Migration) -> dict[str, Any]:
    return {
        "subjob": migration.subjob,
        "mode": migration.mode,
        "why": migration.why,
        "from": migration.source,
        "to": migration.target,
        "failure": migration.failure,
        "pauseMs": migration.pause_ms,
        "movedBytes": migration.moved_bytes,
        "pausedMs": migration.paused_ms,
        "settledMs": migration.settled_ms,
        "handedOverMs": migration.handed_over_ms,
        "promotedMs": migration.promoted_ms,
        "restoredMs": migration.restored_ms,
        "firstOutputMs": migration.first_output_ms,
        "caughtUpMs": migration.caught_up_ms,
        "replayed": migration.replayed,
        "lost": migration.lost,
    }


def _subjob(promise: SubjobPromise) -> dict[str, Any]:
    return {
        "mode": promise.mode.value,
        "operatorClass": promise.operator_class.value,
        "guarantee": promise.guarantee.value,
    }


# --- recoveries that took too long


def too_late(record: Record, incidents: Sequence[Incident], job: StreamJob) -> list[str]:
    """A sentence for every take-over that exceeded the `maxRecovery` of its subjob."""
    return [
        sentence for i in incidents if (sentence := _too_late(i, job.subjob(i.subjob), record)) is not None
    ]


def _too_late(incident: Incident, subjob: Subjob | None, record: Record) -> str | None:
    limit = subjob.ha.max_recovery if subjob is not None else None
    if limit is None or incident.role != "primary":
        return None
    most, took = round(limit.total_seconds() * 1000), incident.recovery_ms
    said = f"{incident.subjob} had no output for {took} ms after {incident.victim} was lost"
    if took is None:
        complete = isinstance(record.outcome, Finish) and record.outcome.complete
        took = 0 if complete or record.ended_ms is None else record.ended_ms - incident.at_ms
        between = f"the {took} ms between the loss of {incident.victim} and the end"
        said = f"{incident.subjob} had no output in {between}"
    return f"{said}; its maxRecovery is {most} ms" if took > most else None


# --- which incident caused which loss


@dataclass(frozen=True, slots=True)
class Blame:
    """The effect of an incident on the sinks."""

    lost: int
    duplicated: int


def blame(report: Report) -> list[Blame]:
    """Tuples lost and duplicated at the sinks that read from each incident's subjob.

    If the sinks could not be compared, the losses that the new primary itself reported.
    """
    given = promises(report.job)
    behind = [_sinks_behind(report, incident) for incident in report.incidents]
    likely = [_likelihood(incident, given[incident.subjob].guarantee) for incident in report.incidents]
    lost, duplicated = [0] * len(behind), [0] * len(behind)
    for sink, comparison in report.comparisons.items():
        suspects = [n for n, sinks in enumerate(behind) if sink in sinks]
        arrivals = report.record.arrivals.get(sink, [])
        for place, count in comparison.holes:
            _charge(lost, _before(suspects, report, arrived_at(arrivals, place)), likely, count)
        for place in comparison.surplus if comparison.duplicated else ():
            _charge(duplicated, _before(suspects, report, arrived_at(arrivals, place)), likely, 1)
    compared = [sinks & report.comparisons.keys() for sinks in behind]
    return [
        Blame(lost[n] if compared[n] else incident.lost, duplicated[n])
        for n, incident in enumerate(report.incidents)
    ]


def _sinks_behind(report: Report, incident: Incident) -> set[str]:
    job = report.job
    return {s.name for s in job.sinks if incident.subjob in (p.name for p in path_of(job, s.input))}


def _likelihood(incident: Incident, promise: Guarantee) -> int:
    """First an incident that reported lost tuples, then one whose subjob did not promise a precise
    recovery."""
    if incident.lost:
        return 2
    return 1 if promise is not Guarantee.PRECISE else 0


def _before(suspects: Sequence[int], report: Report, at_ms: float) -> list[int]:
    return [n for n in suspects if report.incidents[n].at_ms <= at_ms]


def _charge(counts: list[int], suspects: Sequence[int], likely: Sequence[int], count: int) -> None:
    """Charges the last of the likeliest incidents; incidents are in the order of time."""
    if suspects:
        counts[max(suspects, key=lambda n: (likely[n], n))] += count


def arrived_at(arrivals: Sequence[Arrival], place: int) -> float:
    """When the tuple at this place in the sink's files was first seen there; infinite if it never was."""
    at = bisect_right(arrivals, place, key=lambda a: a.tuples)
    return arrivals[at].at_ms if at < len(arrivals) else inf


# --- everything


def record_to_json(record: Record, incidents: Sequence[Incident]) -> dict[str, Any]:
    return {
        "complete": isinstance(record.outcome, Finish) and record.outcome.complete,
        "why": record.outcome.why if record.outcome else None,
        "beganMs": record.began_ms,
        "startedMs": record.started_ms,
        "endedMs": record.ended_ms,
        "faults": [
            {"fault": str(d.fault), "plannedMs": d.fault.at_ms, "victim": d.victim.name, "atMs": d.at_ms}
            for d in record.done
        ],
        "incidents": [asdict(i) for i in incidents],
        "arrivals": {name: [[a.at_ms, a.tuples] for a in seen] for name, seen in record.arrivals.items()},
        "status": {name: to_json(page) if page else {} for name, page in record.last.items()},
        "versions": [to_manifest(job) for job in record.versions],
    }
