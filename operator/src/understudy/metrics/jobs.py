"""The metrics of the operator: what outlives a process.

Gauges of a job are functions of its status, as `kubectl get` shows it. Counters grow when the operator
records something: an Incident, or the result of a drill. So they begin at zero with each operator that leads,
and the sum of `increase()` over all operators gives the number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from understudy.metrics.causes import cause_of
from understudy.metrics.family import Family, Sample, counter, families_in, gauge, histogram
from understudy.model.kinds import FailoverDrillStatus
from understudy.model.status import Role

Json = Mapping[str, Any]

JOB_LABELS: Final = ("namespace", "streamjob")
_JOB: Final = JOB_LABELS
_SUBJOB: Final = (*_JOB, "subjob")

# ---- a job, from its status

READY: Final = gauge("understudy_ready", "1 if the condition Ready of the job is True.", *_JOB)
PROTECTED: Final = gauge(
    "understudy_protected",
    "1 if a standby of the subjob is ready to take over now. Absent if no standby is wanted, or the job has "
    "completed.",
    *_SUBJOB,
)
OBJECTIVE_MET: Final = gauge(
    "understudy_recovery_objective_met",
    "1 if the newest take-over of every subjob was within its maxRecovery. Absent without an objective or "
    "without a take-over.",
    *_JOB,
)
DEGRADED: Final = gauge(
    "understudy_degraded",
    "1 for the reason why the condition Degraded of the job is True. Absent while it is False.",
    *_JOB,
    "reason",
)
REPLAY_SECONDS: Final = gauge(
    "understudy_if_failed_now_replay_seconds",
    "How long a take-over at this moment would replay. Absent if no instance could take over.",
    *_SUBJOB,
)
LOST_TUPLES: Final = gauge(
    "understudy_if_failed_now_lost_tuples",
    "How many tuples a take-over at this moment would lose. Absent if no instance could take over.",
    *_SUBJOB,
)
SUBJOB_INFO: Final = gauge(
    "understudy_subjob_info",
    "1 for the mode, the guarantee and the state that the subjob has now.",
    *_SUBJOB,
    *("mode", "guarantee", "state"),
)
CERTIFICATE_ENDS: Final = gauge(
    "understudy_certificate_expiry_timestamp_seconds",
    "When the certificate that new pods of the job get expires, in seconds since 1970. Absent if the job has "
    "none.",
    *_JOB,
)
CERTIFICATE_LIFETIME: Final = gauge(
    "understudy_certificate_lifetime_seconds",
    "How long a new certificate of the job is valid. It is replaced when a third of that is left.",
    *_JOB,
)

# ---- a job, from its Incidents and drills

INCIDENTS: Final = counter(
    "understudy_incidents_total",
    "Failures that the operator recorded. `role`: of the process that failed.",
    *_JOB,
    *("role", "class"),
)
FAILOVERS: Final = counter(
    "understudy_failovers_total",
    "Take-overs after a failure that the operator recorded.",
    *_SUBJOB,
    *("mode", "cause", "class"),
)
RECOVERY: Final = histogram(
    "understudy_recovery_seconds",
    "How long output stood still in a take-over: recoverySeconds of the Incident.",
    *_JOB,
    "mode",
    buckets=(0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30, 60, 300),
)
LOST: Final = counter(
    "understudy_tuples_lost_total", "Tuples that take-overs could not recover, by the Incidents.", *_SUBJOB
)
DUPLICATED: Final = counter(
    "understudy_tuples_duplicated_total", "Tuples that take-overs sent twice, by the Incidents.", *_SUBJOB
)
REPLAYED: Final = counter(
    "understudy_tuples_replayed_total", "Tuples that take-overs processed again, by the Incidents.", *_SUBJOB
)
DRILLS: Final = counter(
    "understudy_drills_total", "FailoverDrills that ended. `result`: passed or failed.", *_JOB, "result"
)

# ---- the operator itself

LEADER: Final = gauge(
    "understudy_leader", "1 if this operator acts, 0 if it waits until the one that acts is gone."
)
RECONCILE: Final = histogram(
    "understudy_reconcile_seconds",
    "How long the operator took to look at an object and to act on it. `kind`: of the object.",
    "kind",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
RECONCILE_ERRORS: Final = counter(
    "understudy_reconcile_errors_total",
    "Looks at an object that failed. `error`: unreachable or refused (the API server), or defect.",
    *("kind", "error"),
)

JOB_FAMILIES: Final[tuple[Family, ...]] = families_in(globals())

PASSED: Final = "passed"
FAILED: Final = "failed"


@dataclass(frozen=True, slots=True)
class JobSight:
    """What the operator saw of a job at its newest look."""

    namespace: str
    name: str
    status: Json = field(default_factory=dict)
    certificate_ends_ms: int | None = None
    certificate_lifetime_ms: int = 0

    @property
    def subjobs(self) -> tuple[str, ...]:
        return tuple(subjob["name"] for subjob in self.status.get("subjobs") or ())


def gauges_of(sight: JobSight) -> Iterator[Sample]:
    job = (sight.namespace, sight.name)
    held = {c["type"]: c for c in sight.status.get("conditions") or ()}
    if "Ready" in held:
        yield READY.at(held["Ready"]["status"] == "True", *job)
    if (met := held.get("RecoveryObjectiveMet")) and met["status"] != "Unknown":
        yield OBJECTIVE_MET.at(met["status"] == "True", *job)
    if (degraded := held.get("Degraded")) and degraded["status"] == "True":
        yield DEGRADED.at(1, *job, degraded["reason"])
    for subjob in sight.status.get("subjobs") or ():
        yield from _of_subjob(subjob, (*job, subjob["name"]))
    if sight.certificate_ends_ms:
        yield CERTIFICATE_ENDS.at(sight.certificate_ends_ms / 1000, *job)
        yield CERTIFICATE_LIFETIME.at(sight.certificate_lifetime_ms / 1000, *job)


def _of_subjob(subjob: Json, who: tuple[str, str, str]) -> Iterator[Sample]:
    yield SUBJOB_INFO.at(1, *who, subjob["mode"], subjob["guarantee"], subjob.get("state") or "")
    if subjob.get("protected") is not None:
        yield PROTECTED.at(subjob["protected"], *who)
    if cost := subjob.get("ifItFailedNow"):
        yield REPLAY_SECONDS.at(cost["replaySeconds"], *who)
        yield LOST_TUPLES.at(cost["lostTuples"], *who)


def zeros_of(sight: JobSight) -> Iterator[Sample]:
    """Counters that exist from the first look on: an alert sees only what grows while it looks."""
    job = (sight.namespace, sight.name)
    yield from (DRILLS.at(0, *job, result) for result in (PASSED, FAILED))
    for subjob in sight.subjobs:
        yield from (family.at(0, *job, subjob) for family in (LOST, DUPLICATED, REPLAYED))


def counts_of(namespace: str, spec: Json, status: Json, before: Json | None) -> Iterator[Sample]:
    """What an Incident adds to the counters. `before`: its status until now; None if it is new."""
    job, failed_class = (namespace, spec["job"]), spec.get("class") or ""
    role = spec.get("role") or Role.PRIMARY
    took_over = role == Role.PRIMARY
    if before is None:
        yield INCIDENTS.at(1, *job, role, failed_class)
    if before is None and took_over:
        yield FAILOVERS.at(
            1, *job, spec["subjob"], spec.get("mode") or "", cause_of(spec.get("cause") or ""), failed_class
        )
    known = before or {}
    if took_over and known.get("recoverySeconds") is None and status.get("recoverySeconds") is not None:
        yield RECOVERY.at(status["recoverySeconds"], *job, spec.get("mode") or "")
    for family, figure in ((LOST, "lost"), (DUPLICATED, "duplicated"), (REPLAYED, "replayed")):
        more = (status.get(figure) or 0) - (known.get(figure) or 0)
        if more > 0:
            yield family.at(more, *job, spec["subjob"])


def drills_of(
    namespace: str, job: str, before: FailoverDrillStatus, after: FailoverDrillStatus
) -> Iterator[Sample]:
    """What a new status of a drill adds to the counters."""
    for result, more in ((PASSED, after.passed - before.passed), (FAILED, after.failed - before.failed)):
        if more > 0:
            yield DRILLS.at(more, namespace, job, result)
