"""`kubectl understudy report`: the content of a local run's `report.json`, for a job on the cluster.

Nothing is compared here: the take-overs themselves report how many tuples were lost or duplicated, and of a
sink only the number of tuples is known, and how far it is behind. Times are in milliseconds since the last
sign of life of the instance that failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.cli.terminal import Part, table
from understudy.control.times import millis

Json = Mapping[str, Any]

STEPS = ("detected", "promoted", "firstOutput", "caughtUp")
SINK = ("tuples", "lag", "lagSeconds")
COSTS = ("replayed", "lost", "duplicated")


def report_of(job: Json, incidents: Sequence[Json]) -> dict[str, Any]:
    status = job.get("status") or {}
    subjobs = status.get("subjobs") or ()
    oldest_first = sorted(incidents, key=lambda i: str(i["metadata"]["creationTimestamp"]))
    return {
        "job": job["metadata"]["name"],
        "sinks": {sink["name"]: {key: sink.get(key) for key in SINK} for sink in status.get("sinks") or ()},
        "incidents": [_incident(i["spec"], i.get("status") or {}) for i in oldest_first],
        "migrations": [_move(subjob["name"], move) for subjob in subjobs if (move := subjob.get("lastMove"))],
        "subjobs": {
            s["name"]: {key: s[key] for key in ("mode", "operatorClass", "guarantee")} for s in subjobs
        },
    }


def _incident(spec: Json, status: Json) -> dict[str, Any]:
    began = millis(spec.get("failedAt")) or millis(status.get("detected"))
    reached = {step: millis(status.get(step)) for step in STEPS}
    since = {
        f"{step}Ms": at - began if at is not None and began is not None else None
        for step, at in reached.items()
    }
    told = {"subjob": spec.get("subjob"), "role": spec.get("role", "primary"), "sink": spec.get("sink")}
    told |= {key: spec.get(key) for key in ("mode", "cause")}
    recovery = status.get("recoverySeconds")
    took = {"recoveryMs": round(recovery * 1000) if recovery is not None else None}
    return told | since | took | {key: status.get(key) for key in COSTS}


def _move(subjob: str, move: Json) -> dict[str, Any]:
    told = {
        key: move.get(key) for key in ("from", "to", "why", "succeeded", "pauseSeconds", "movedBytes", "lost")
    }
    return {"subjob": subjob, **told}


def parts(report: Json) -> tuple[Part, ...]:
    """A headline and tables; - stands for what is not known."""
    steps = [f"{step}Ms" for step in STEPS]
    tables = [
        _section("SUBJOB", report["subjobs"], ("mode", "operatorClass", "guarantee")),
        _section("SINK", report["sinks"], SINK),
        _rows("INCIDENT", report["incidents"], ("role", "mode", *steps, "recoveryMs", *COSTS, "cause")),
        _rows("MOVE", report["migrations"], ("from", "to", "pauseSeconds", "movedBytes", "lost", "why")),
    ]
    count = len(report["incidents"])
    head = f"{report['job']}: {count} incident{'' if count == 1 else 's'}"
    return head, *(each for each in tables if each is not None)


def _section(head: str, named: Mapping[str, Json], keys: Sequence[str]) -> Part | None:
    return _rows(head, [{"subjob": name, **fields} for name, fields in named.items()], keys)


def _rows(head: str, found: Sequence[Json], keys: Sequence[str]) -> Part | None:
    rows = [
        [each["subjob"], *("-" if each.get(key) is None else str(each[key]) for key in keys)]
        for each in found
    ]
    return table([head, *(key.upper() for key in keys)], rows) if rows else None
