"""Events: the differences between a new status and the old one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from understudy.control.intents import Emit, Reason, Severity
from understudy.control.observed import Observed

Json = Mapping[str, Any]

OF_THEIR_OWN: Final = {str(r): r for r in (Reason.TUPLES_LOST, Reason.ENGINE_STALLED, Reason.SINK_STALLED)}
"""Reasons of Degraded that also get an event."""

OF_SOURCES: Final = {"NotRead": Reason.SOURCE_NOT_READ, "BadRecords": Reason.BAD_RECORDS}
"""Reasons of SourcesHealthy that get an event. A loss has one by Degraded."""


def news(seen: Observed, status: Json) -> tuple[Emit, ...]:
    old = seen.status
    return (
        *_of_conditions(old, status),
        *_of_sources(old, status),
        *_of_phase(old, status),
        *_of_subjobs(old, status),
    )


def _of_conditions(old: Json, new: Json) -> Iterator[Emit]:
    before, after = _conditions(old), _conditions(new)
    verdict = after["Accepted"]
    if _differs(before, after, "Accepted") or old.get("observedGeneration") != new.get("observedGeneration"):
        accepted = verdict["status"] == "True"
        reason = Reason.ACCEPTED if accepted else Reason.REJECTED
        yield Emit(Severity.NORMAL if accepted else Severity.WARNING, reason, verdict["message"])
    if _turned(before, after, "Protected", "True") and after["Protected"]["reason"] == "StandbysReady":
        yield Emit(Severity.NORMAL, Reason.PROTECTED, after["Protected"]["message"])
    if "Degraded" in after and after["Degraded"]["status"] == "True" and _differs(before, after, "Degraded"):
        reason = OF_THEIR_OWN.get(after["Degraded"]["reason"], Reason.DEGRADED)
        yield Emit(Severity.WARNING, reason, after["Degraded"]["message"])


def _of_sources(old: Json, new: Json) -> Iterator[Emit]:
    """A source that stops is news each time that its sentence changes. Bad records are news when the first
    one is found: the message counts them, so it changes with each."""
    kind = "SourcesHealthy"
    before, after = _conditions(old).get(kind, {}), _conditions(new).get(kind, {})
    reason = OF_SOURCES.get(after.get("reason", ""))
    if reason is None or (reason is Reason.BAD_RECORDS and before.get("reason") == after["reason"]):
        return
    if _differs({kind: before}, {kind: after}, kind):
        yield Emit(Severity.WARNING, reason, after["message"])


def _of_phase(old: Json, new: Json) -> Iterator[Emit]:
    if new.get("startTime") and not old.get("startTime"):
        yield Emit(Severity.NORMAL, Reason.STARTED, f"the stream starts at {new['startTime']}")
    if new["phase"] == "Completed" and old.get("phase") != "Completed":
        tuples = ", ".join(f"{s['name']}: {s.get('tuples', '?')} tuples" for s in new.get("sinks") or ())
        yield Emit(Severity.NORMAL, Reason.COMPLETED, f"every sink has written its whole stream ({tuples})")


def _of_subjobs(old: Json, new: Json) -> Iterator[Emit]:
    if new["phase"] == "Completed":
        return
    before = {subjob["name"]: subjob for subjob in old.get("subjobs") or ()}
    for subjob in new.get("subjobs") or ():
        yield from _of_subjob(before.get(subjob["name"], {}), subjob, started="startTime" in old)


def _of_subjob(old: Json, new: Json, started: bool) -> Iterator[Emit]:
    name = new["name"]
    if new.get("state") == "Serving" and old.get("state") in (None, "Starting"):
        yield Emit(Severity.NORMAL, Reason.PRIMARY_READY, f"{new.get('currentPrimary')} serves {name}")
    yield from _of_failover(old, new)
    yield from _of_change(old, new)
    yield from _of_replicas(old, new)
    if started and new.get("protected") and not old.get("protected"):
        standby: Json = next((r for r in new["replicas"] if r["role"] != "primary"), {})
        where = f"{standby.get('pod')} on {standby.get('node')}"
        yield Emit(Severity.NORMAL, Reason.STANDBY_REPLACED, f"{where} is ready to take over {name}")


def _of_failover(old: Json, new: Json) -> Iterator[Emit]:
    last, before = new.get("lastFailover"), old.get("lastFailover") or {}
    if not last or last["epoch"] == before.get("epoch"):
        return
    yield Emit(
        Severity.NORMAL,
        Reason.FAILOVER_COMPLETED,
        f"{last['to']} took over {new['name']} from {last['from']} with epoch {last['epoch']}: "
        f"{last['cause']}",
    )


def _of_change(old: Json, new: Json) -> Iterator[Emit]:
    """The event of a planned change. It waits until it is known how long there was no output."""
    last, before = new.get("lastChange") or {}, old.get("lastChange") or {}
    pause = last.get("pauseSeconds")
    if pause is None or (before.get("epoch"), before.get("pauseSeconds") is None) == (last["epoch"], False):
        return
    what = f"{last['to']} took the place of {last['from']} in {new['name']}, with no output for {pause:g} s"
    yield Emit(Severity.NORMAL, Reason.CHANGED, f"{what}: {last['cause']}")


def _of_replicas(old: Json, new: Json) -> Iterator[Emit]:
    alive = {r["pod"] for r in new["replicas"] if r["state"] != "lost"}
    for replica in old.get("replicas") or ():
        if replica["pod"] in alive or replica["state"] == "lost":
            continue
        reason = Reason.PRIMARY_LOST if replica["role"] == "primary" else Reason.STANDBY_LOST
        yield Emit(
            Severity.WARNING, reason, f"{replica['pod']} of {new['name']} on {replica.get('node')} is lost"
        )


def _conditions(status: Json) -> dict[str, Json]:
    return {c["type"]: c for c in status.get("conditions") or ()}


def _differs(before: Mapping[str, Json], after: Mapping[str, Json], kind: str) -> bool:
    keys = ("status", "reason", "message")
    old, new = before.get(kind, {}), after.get(kind, {})
    return any(old.get(key) != new.get(key) for key in keys)


def _turned(before: Mapping[str, Json], after: Mapping[str, Json], kind: str, to: str) -> bool:
    return after.get(kind, {}).get("status") == to != before.get(kind, {}).get("status")
