"""FailoverDrills: when the fault is made, in which pod, and whether the take-over met the expectations.

| phase | until |
|---|---|
| Pending | it is time: the drill first records its victim, then makes the fault |
| Running | an Incident with a later epoch reports the take-over, or the time is over |
| Pending again | the victim no longer led when the fault was due; lasts until the job is protected again |
| Passed, Failed | for a schedule, its next moment |

A restarted operator continues: it repeats a fault only while the recorded victim still leads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, assert_never

from understudy.control import schedules
from understudy.control.intents import Reason, Severity
from understudy.control.observed import IncidentSeen, Pod
from understudy.control.times import iso_ms, millis
from understudy.model.kinds import (
    DrillPhase,
    FailoverDrillSpec,
    FailoverDrillStatus,
    Fault,
    Measured,
)

CATCH_UP_MS: Final = 30_000  # how long after the first output a drill waits for the rest of the story
TOO_LONG_MS: Final = 120_000
MISSED_MS: Final = 300_000  # a moment of a schedule that was missed by more is let pass
FREEZE_SECONDS: Final = 20.0
HANG_SECONDS: Final = 60  # at the least
HANG_TIMEOUTS: Final = 2  # engine timeouts: a hang that ends before it is seen is no drill
PARTITION_SECONDS: Final = 20.0
THROTTLE_SECONDS: Final = 60.0

ORDERED: Final = (Fault.PROCESS_STOP, Fault.PARTITION, Fault.OVERLOAD, Fault.ENGINE_HANG)
"""Faults that a pod makes in itself when it is ordered to."""

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SeenDrill:
    now_ms: int
    name: str
    created_ms: int
    spec: FailoverDrillSpec
    status: FailoverDrillStatus
    job: Json | None
    """The StreamJob's status; None: there is no such job."""
    pods: tuple[Pod, ...]
    """The pods of the job."""
    incidents: tuple[IncidentSeen, ...]
    certified: bool
    """Whether the job's pods have certificates: pods without them take no orders."""
    watching: frozenset[str] = frozenset()
    """The subjobs that watch for overload."""
    engine_timeout_ms: int = 0
    """The engine timeout in force at the victim, from its status page; 0 if unknown."""

    @property
    def subjob(self) -> Json | None:
        found = (self.job or {}).get("subjobs") or ()
        return next((subjob for subjob in found if subjob.get("name") == self.spec.subjob), None)

    def pod(self, name: str | None) -> Pod | None:
        return next((pod for pod in self.pods if pod.name == name), None)


@dataclass(frozen=True, slots=True)
class WriteDown:
    """Write the drill's new status."""

    status: FailoverDrillStatus


@dataclass(frozen=True, slots=True)
class Kill:
    """Kill these pods at once. Later pods with the same names are left alone."""

    pods: tuple[Pod, ...]


@dataclass(frozen=True, slots=True)
class Freeze:
    """Stop all processes of this pod for some seconds."""

    pod: Pod
    seconds: float


@dataclass(frozen=True, slots=True)
class Hang:
    """Stop the JVM of this pod for some seconds, and nothing else."""

    pod: Pod
    seconds: float


@dataclass(frozen=True, slots=True)
class CutOff:
    """Drop all packets between this pod and other pods for some seconds."""

    pod: Pod
    seconds: float


@dataclass(frozen=True, slots=True)
class Throttle:
    """Give all processes of this pod a fifth of the processor for some seconds."""

    pod: Pod
    seconds: float


@dataclass(frozen=True, slots=True)
class Tell:
    severity: Severity
    reason: Reason
    message: str


Step = WriteDown | Kill | Freeze | Hang | CutOff | Throttle | Tell


def decide_drill(seen: SeenDrill) -> tuple[Step, ...]:
    match seen.status.phase:
        case None:
            return (_written(seen, phase=DrillPhase.PENDING, message=_plan(seen.spec)),)
        case DrillPhase.PENDING:
            return _begin(seen)
        case DrillPhase.RUNNING:
            return _go_on(seen)
        case DrillPhase.PASSED | DrillPhase.FAILED:
            return _begin(seen) if seen.spec.schedule else ()
        case _:
            assert_never(seen.status.phase)


def _plan(spec: FailoverDrillSpec) -> str:
    zone = f" in {spec.time_zone}" if spec.time_zone else ""
    when = (
        f"by the schedule {spec.schedule}{zone}" if spec.schedule else f"at {spec.at}" if spec.at else "now"
    )
    return f"{spec.fault} to the primary of {spec.subjob}, {when}"


def _written(seen: SeenDrill, **changes: Any) -> WriteDown:
    return WriteDown(seen.status.model_copy(update=changes))


# ---- beginning -------------------------------------------------------------------------------------------


def _begin(seen: SeenDrill) -> tuple[Step, ...]:
    if seen.spec.schedule and (why := schedules.refusal(seen.spec.schedule, seen.spec.time_zone)):
        return _refused(seen, why) if _unsaid(seen) else ()
    if not _is_time(seen) or _is_behind(seen):
        return ()
    if reason := _refusal(seen):
        return () if _begins_anew(seen) else _refused(seen, f"refused: {reason}")
    subjob = seen.subjob or {}
    status = FailoverDrillStatus(
        phase=DrillPhase.RUNNING,
        message=f"{seen.spec.fault} to {subjob['currentPrimary']}",
        target=subjob["currentPrimary"],
        epoch=subjob["epoch"],
        started_at=iso_ms(seen.now_ms),
        passed=seen.status.passed,
        failed=seen.status.failed,
    )
    return WriteDown(status), Tell(
        Severity.NORMAL, Reason.DRILL_STARTED, f"drill {seen.name}: {status.message}"
    )


def _begins_anew(seen: SeenDrill) -> bool:
    """Whether the drill is about to begin a second time. It was allowed the first time, so a job that is not
    ready now may be ready soon."""
    began = millis(seen.status.started_at) if seen.status.phase is DrillPhase.PENDING else None
    return began is not None and seen.now_ms - began < TOO_LONG_MS


def _unsaid(seen: SeenDrill) -> bool:
    return seen.status.phase is DrillPhase.PENDING


def _is_time(seen: SeenDrill) -> bool:
    if not seen.spec.schedule:
        return seen.spec.at is None or (millis(seen.spec.at) or 0) <= seen.now_ms
    last = max(seen.created_ms, millis(seen.status.started_at) or 0, seen.now_ms - MISSED_MS)
    return schedules.is_due(seen.spec.schedule, seen.spec.time_zone, last, seen.now_ms)


def _is_behind(seen: SeenDrill) -> bool:
    """Whether the status is older than a take-over: the primary that it names no longer leads."""
    return seen.subjob is not None and _incident(seen, seen.subjob.get("epoch") or 0) is not None


def _refusal(seen: SeenDrill) -> str | None:
    spec, subjob = seen.spec, seen.subjob
    if seen.job is None:
        return f"there is no StreamJob {spec.job}"
    if subjob is None:
        return f"{spec.job} has no subjob {spec.subjob}, or it has not been accepted yet"
    if spec.fault in ORDERED and not seen.certified:
        return f"{spec.fault} needs a job with certificates: its pods take orders from nobody else"
    if spec.fault is Fault.OVERLOAD and spec.subjob not in seen.watching:
        return f"{spec.subjob} does not watch for overloads; set its ha.overload"
    target = seen.pod(subjob.get("currentPrimary"))
    if target is None:
        return f"{spec.subjob} has no primary"
    risk = None if spec.force else _risk(seen, subjob, target)
    return f"{risk}; force: true hurts it all the same" if risk else None


def _risk(seen: SeenDrill, subjob: Json, target: Pod) -> str | None:
    """Why the job may not survive the fault. The condition Protected covers only standbys that are asked for:
    a subjob that asks for none has no instance that could take over, and one node may hold both instances of
    a pair."""
    conditions: Iterable[Json] = (seen.job or {}).get("conditions") or ()
    protected: Json = next((c for c in conditions if c.get("type") == "Protected"), {})
    if protected.get("status") != "True":
        why = protected.get("message") or "the operator has not said so yet"
        return f"{seen.spec.job} is not Protected: {why}"
    if not subjob.get("protected"):
        return f"no standby is ready to take over {seen.spec.subjob}"
    bare = _only_there(seen, target.node) if seen.spec.fault is Fault.NODE_LOSS else []
    return f"every instance of {', '.join(bare)} is on {target.node}" if bare else None


def _only_there(seen: SeenDrill, node: str | None) -> list[str]:
    """The subjobs that have no instance on another node."""
    instances = [pod for pod in seen.pods if not pod.is_sink]
    elsewhere = {pod.part for pod in instances if pod.node != node}
    return sorted({pod.part for pod in instances} - elsewhere)


def _refused(seen: SeenDrill, why: str) -> tuple[Step, ...]:
    moment = iso_ms(seen.now_ms)
    status = FailoverDrillStatus(
        phase=DrillPhase.FAILED,
        message=why,
        started_at=moment,
        finished_at=moment,
        passed=seen.status.passed,
        failed=seen.status.failed + 1,
    )
    return WriteDown(status), Tell(Severity.WARNING, Reason.DRILL_FAILED, f"drill {seen.name}: {why}")


# ---- the fault, and what followed ------------------------------------------------------------------------


def _go_on(seen: SeenDrill) -> tuple[Step, ...]:
    incident = _incident(seen, seen.status.epoch or 0)
    if seen.status.made_at is None:
        target = seen.pod(seen.status.target)
        moment = iso_ms(seen.now_ms)
        if (
            incident is not None
            and target is not None
            and seen.spec.fault in (Fault.POD_KILL, Fault.NODE_LOSS)
        ):
            return _once_more(seen)
        if incident is not None or target is None:
            return (_written(seen, made_at=seen.status.started_at or moment),)
        if seen.now_ms - (millis(seen.status.started_at) or seen.now_ms) >= TOO_LONG_MS:
            return _ended(seen, None, f"the fault could not be made within {TOO_LONG_MS // 1000} s")
        lasts = _hang_seconds(seen) if seen.spec.fault is Fault.ENGINE_HANG else None
        return _fault(seen, target), _written(seen, made_at=moment, lasts_seconds=lasts)
    made = millis(seen.status.made_at) or seen.now_ms
    before, incident = incident, _incident(seen, seen.status.epoch or 0, made)
    if before is not None and incident is None:
        return _once_more(seen)
    if incident is None or incident.status.get("recoverySeconds") is None:
        limit = TOO_LONG_MS + 1000 * max(0, (seen.status.lasts_seconds or 0) - HANG_SECONDS)
        late = seen.now_ms - made >= limit
        return _ended(seen, incident, f"no new output within {limit // 1000} s") if late else ()
    first = millis(incident.status.get("firstOutput")) or made
    if not incident.status.get("caughtUp") and seen.now_ms - first < CATCH_UP_MS:
        return ()
    return _ended(seen, incident, None)


def _once_more(seen: SeenDrill) -> tuple[Step, ...]:
    why = f"{seen.status.target} was succeeded before it was hurt; once more"
    return (_written(seen, phase=DrillPhase.PENDING, message=why, made_at=None),)


def _fault(seen: SeenDrill, target: Pod) -> Step:
    match seen.spec.fault:
        case Fault.PROCESS_STOP:
            return Freeze(target, FREEZE_SECONDS)
        case Fault.ENGINE_HANG:
            return Hang(target, _hang_seconds(seen))
        case Fault.PARTITION:
            return CutOff(target, PARTITION_SECONDS)
        case Fault.OVERLOAD:
            return Throttle(target, THROTTLE_SECONDS)
        case Fault.NODE_LOSS:
            return Kill(tuple(pod for pod in seen.pods if pod.node == target.node))
        case _:
            return Kill((target,))


def _hang_seconds(seen: SeenDrill) -> int:
    return max(HANG_SECONDS, -(-HANG_TIMEOUTS * seen.engine_timeout_ms // 1000))


def _incident(seen: SeenDrill, before: int, since: int = 0) -> IncidentSeen | None:
    """The first later take-over that gave output; if none did, the first one. A new primary that is itself
    replaced may never give output."""
    taken_over = [i for i in seen.incidents if "epoch" in i.spec and i.spec.get("subjob") == seen.spec.subjob]
    later = [i for i in taken_over if i.spec["epoch"] > before]
    later = [i for i in later if (millis(i.status.get("detected")) or since) >= since]
    later.sort(key=lambda incident: incident.spec["epoch"])
    return next(
        (i for i in later if i.status.get("recoverySeconds") is not None), later[0] if later else None
    )


def _ended(seen: SeenDrill, incident: IncidentSeen | None, trouble: str | None) -> tuple[Step, ...]:
    measured = _measured(incident) if incident else None
    misses = [trouble] if trouble else _misses(seen.spec, measured)
    phase = DrillPhase.FAILED if misses else DrillPhase.PASSED
    message = "; ".join(misses) or _praise(seen, measured)
    status = seen.status.model_copy(
        update={
            "phase": phase,
            "message": message,
            "finished_at": iso_ms(seen.now_ms),
            "incident": incident.name if incident else None,
            "measured": measured,
            "passed": seen.status.passed + (not misses),
            "failed": seen.status.failed + bool(misses),
        }
    )
    severity, reason = (
        (Severity.WARNING, Reason.DRILL_FAILED) if misses else (Severity.NORMAL, Reason.DRILL_PASSED)
    )
    return WriteDown(status), Tell(severity, reason, f"drill {seen.name}: {message}")


def _measured(incident: IncidentSeen) -> Measured:
    return Measured(
        recovery_seconds=incident.status.get("recoverySeconds"),
        lost=incident.status.get("lost"),
        duplicated=incident.status.get("duplicated"),
    )


def _misses(spec: FailoverDrillSpec, measured: Measured | None) -> list[str]:
    """Where a measured figure is worse than expected. A figure that was not measured counts as missed."""
    if measured is None:
        return ["nothing was measured"]
    found = []
    if spec.expect.recovery is not None:
        most, took = spec.expect.recovery.total_seconds(), measured.recovery_seconds
        if took is None or took > most:
            found.append(f"recovery took {_said(took)} s, expected at most {most:g} s")
    for what, count, limit in (
        ("lost", measured.lost, spec.expect.lost),
        ("duplicated", measured.duplicated, spec.expect.duplicated),
    ):
        if count is None or count > limit:
            found.append(f"{_said(count)} tuples {what}, expected at most {limit}")
    return found


def _said(figure: float | None) -> str:
    return "an unknown number of" if figure is None else f"{figure:g}"


def _praise(seen: SeenDrill, measured: Measured | None) -> str:
    took = _said(measured.recovery_seconds if measured else None)
    lost = measured.lost if measured else 0
    return f"{seen.spec.fault} to {seen.status.target}: no output for {took} s, {lost} tuples lost"
