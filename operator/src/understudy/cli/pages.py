"""A StreamJob's status as a page for people. Functions of the objects alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from understudy.cli.terminal import Part, table
from understudy.control.times import millis
from understudy.protocol.lag import Lag

Json = Mapping[str, Any]

RECENT: Final = 5
AWAY_MS: Final = 180_000  # the operator writes its status more often, however many jobs there are


@dataclass(frozen=True, slots=True)
class Page:
    parts: tuple[Part, ...]
    safe: bool
    facts: Json
    """The same for programs."""


def status_page(job: Json, incidents: Sequence[Json], now_ms: int) -> Page:
    status = job.get("status") or {}
    metadata = job["metadata"]
    measured = millis(status.get("measuredAt"))
    safe, verdict = _verdict(status)
    if safe and status.get("phase") != "Completed" and measured is not None and now_ms - measured >= AWAY_MS:
        safe, verdict = False, _not_known((now_ms - measured) // 1000)
    parts: list[Part] = [f"{metadata['namespace']}/{metadata['name']}: {verdict}"]
    if status.get("subjobs"):
        parts.append(_subjobs(status["subjobs"]))
    if status.get("sinks"):
        parts.append(_sinks(status["sinks"]))
    parts += [
        line for line in (_changes(status), _problem(status), _objective(status), _refusal(status)) if line
    ]
    if incidents:
        parts.append(_incidents(incidents, "Newest incidents:", RECENT))
    if measured is not None:
        parts.append(f"(figures are {max(0, now_ms - measured) // 1000} s old)")
    return Page(tuple(parts), safe, _facts(job, incidents, safe, verdict))


def _facts(job: Json, incidents: Sequence[Json], safe: bool, verdict: str) -> Json:
    status, metadata = job.get("status") or {}, job["metadata"]
    told = {"namespace": metadata["namespace"], "job": metadata["name"], "safe": safe, "verdict": verdict}
    kept = {key: status.get(key) for key in ("phase", "measuredAt")}
    lists = {key: list(status.get(key) or ()) for key in ("conditions", "subjobs", "sinks")}
    return told | kept | lists | {"incidents": [incident_facts(each) for each in _newest(incidents, RECENT)]}


def incident_facts(incident: Json) -> Json:
    """For programs: what the operator recorded, in one object."""
    metadata = incident["metadata"]
    named = {"name": metadata.get("name"), "created": metadata["creationTimestamp"]}
    return {**named, **incident["spec"], **(incident.get("status") or {})}


def _verdict(status: Json) -> tuple[bool, str]:
    """Whether it is safe to lose a process now, and a sentence about it."""
    conditions = _conditions(status)
    ready, protected = conditions.get("Ready", {}), conditions.get("Protected", {})
    if not conditions:
        return False, "the operator has not looked at it yet (is it running?)"
    if status.get("phase") == "Completed":
        return True, "COMPLETED. Every sink has written its whole stream."
    if status.get("phase") == "Rejected":
        return False, f"REFUSED. {conditions['Accepted'].get('message')}"
    if ready.get("status") != "True":
        return False, f"NOT READY. {_capital(ready.get('message'))}"
    if protected.get("reason") == "NoStandbyAsked":
        return True, f"RUNNING WITHOUT STANDBYS, as asked. {_capital(protected.get('message'))}"
    if protected.get("status") != "True":
        return False, f"AT RISK. Output flows, but {protected.get('message')}."
    return True, f"SAFE. {_capital(protected.get('message'))}."


def _not_known(seconds: int) -> str:
    """An old status says nothing about the present."""
    since = f"The operator has not looked at it for {seconds} s (is it running?)"
    return f"NOT KNOWN. {since}; what follows is from then"


def _subjobs(subjobs: Sequence[Json]) -> Part:
    heads = ("SUBJOB", "MODE", "GUARANTEE", "EPOCH", "PRIMARY", "STANDBY", "IF IT FAILED NOW")
    rows = [
        (
            subjob["name"],
            subjob["mode"],
            f"{subjob['guarantee']} ({subjob['operatorClass']})",
            str(subjob.get("epoch", "")),
            _replicas(subjob, leads=True) or f"none ({subjob.get('state', '').lower()})",
            _replicas(subjob, leads=False) or "none",
            cost(subjob.get("ifItFailedNow")),
        )
        for subjob in subjobs
    ]
    return table(heads, rows)


def _replicas(subjob: Json, leads: bool) -> str:
    found = [r for r in subjob.get("replicas") or () if (r["role"] == "primary") is leads]
    return ", ".join(f"{r['pod']} on {r.get('node', 'no node yet')}{_unless_ready(r)}" for r in found)


def _unless_ready(replica: Json) -> str:
    return "" if replica["state"] in ("ready", "finished") else f" ({replica['state']})"


def cost(now: Json | None) -> str:
    """What a failure at this moment would cost."""
    if not now:
        return "-"
    lost = f"loses {now['lostTuples']} tuples" if now["lostTuples"] else "loses nothing"
    return f"replays {now['replayTuples']} tuples, about {now['replaySeconds']} s; {lost}"


def _sinks(sinks: Sequence[Json]) -> Part:
    return table(("SINK", "STATE", "TUPLES", "LAG", "POD", "NOTE"), map(_sink, sinks))


def _changes(status: Json) -> str | None:
    """Planned changes of the primary, and how long they stopped the output."""
    found = [(s["name"], last) for s in status.get("subjobs") or () if (last := s.get("lastChange"))]
    lines = [
        f"{name}: {last['to']} for {last['from']}, {_pause(last)}; {last['cause']}" for name, last in found
    ]
    return "\n".join(("Newest planned changes:", *lines)) if lines else None


def _pause(change: Json) -> str:
    pause = change.get("pauseSeconds")
    return "no output yet" if pause is None else f"no output for {pause:.2f} s"


def _sink(sink: Json) -> tuple[str, ...]:
    pod = f"{sink.get('pod', '-')} on {sink.get('node', '-')}"
    return sink["name"], sink["state"], str(sink.get("tuples", "-")), lag(sink), pod, sink.get("note", "")


def lag(sink: Json) -> str:
    """How many tuples a sink is behind, and for how long."""
    tuples, seconds = sink.get("lag"), sink.get("lagSeconds")
    return "-" if tuples is None or seconds is None else str(Lag(tuples, round(seconds * 1000)))


def _problem(status: Json) -> str | None:
    degraded = _conditions(status).get("Degraded", {})
    return f"Needs a look: {degraded.get('message')}" if degraded.get("status") == "True" else None


def _objective(status: Json) -> str | None:
    objective = _conditions(status).get("RecoveryObjectiveMet", {})
    return (
        f"Recovery was too slow: {objective.get('message')}" if objective.get("status") == "False" else None
    )


def _refusal(status: Json) -> str | None:
    accepted = _conditions(status).get("Accepted", {})
    refused = accepted.get("status") == "False" and status.get("phase") != "Rejected"
    return f"The newest edit was refused: {accepted.get('message')}" if refused else None


def incident_table(incidents: Sequence[Json]) -> Part:
    return _incidents(incidents) if incidents else "No incidents."


def _incidents(incidents: Sequence[Json], title: str | None = None, most: int | None = None) -> Part:
    heads = ("WHEN", "JOB", "SUBJOB", "FAILED", "CLASS", "RECOVERY", "REPLAYED", "LOST", "CAUSE")
    return table(
        heads, (_incident(each["spec"], each.get("status") or {}) for each in _newest(incidents, most)), title
    )


def _newest(incidents: Sequence[Json], most: int | None = None) -> list[Json]:
    return sorted(incidents, key=lambda i: str(i["metadata"]["creationTimestamp"]), reverse=True)[:most]


def _incident(spec: Json, status: Json) -> tuple[str, ...]:
    recovery = status.get("recoverySeconds")
    return (
        str(status.get("detected", "-")),
        spec["job"],
        spec["subjob"],
        _failed(spec),
        str(spec.get("class", "-")),
        f"{recovery:.2f} s" if recovery is not None else "-",
        str(status.get("replayed", "-")),
        str(status.get("lost", "-")),
        spec.get("cause", ""),
    )


def _failed(spec: Json) -> str:
    """Which pod failed, and which took over; what the pod was if no other had to take over."""
    role = spec.get("role", "primary")
    if role == "primary":
        return f"{spec.get('from', '?')} → {spec.get('to', '?')}"
    return f"{spec.get('from', '?')} ({role})"


def _conditions(status: Json) -> dict[str, Json]:
    return {condition["type"]: condition for condition in status.get("conditions") or ()}


def _capital(sentence: str | None) -> str:
    return sentence[:1].upper() + sentence[1:] if sentence else ""
