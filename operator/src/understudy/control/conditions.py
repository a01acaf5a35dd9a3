"""The conditions of a StreamJob. Each is worked out from the observations alone and carries a sentence.

| condition | True means |
|---|---|
| Accepted | the spec was accepted and is what runs |
| Ready | every subjob has a primary that serves, every sink runs, and the stream has been started |
| Protected | every standby that the modes ask for is ready to take over now |
| Progressing | something is being made, replaced or taken over |
| Degraded | something needs a look |
| RecoveryObjectiveMet | the newest take-over of every subjob was within its maxRecovery |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from understudy.control.health import fresh, loss_of
from understudy.control.observed import Observed, Phase, Pod
from understudy.control.pages import State
from understudy.control.times import iso
from understudy.control.views import SubjobView
from understudy.model.job import StreamJob


@dataclass(frozen=True, slots=True)
class Condition:
    type: str
    status: str
    reason: str
    message: str


def condition(kind: str, holds: bool | None, reason: str, message: str) -> Condition:
    return Condition(kind, {True: "True", False: "False", None: "Unknown"}[holds], reason, message)


def conditions_of(seen: Observed, job: StreamJob | None, views: Sequence[SubjobView]) -> list[Condition]:
    if job is None:
        return [accepted(seen), condition("Ready", False, "Rejected", "the manifest was refused; nothing runs")]
    if seen.run and seen.run.completed_ms is not None:
        return [accepted(seen), *_completed()]
    return [
        accepted(seen),
        ready(seen, job, views),
        protected(views),
        progressing(seen, views),
        degraded(seen, views),
        objective(seen, views),
    ]


def stamped(seen: Observed, found: Sequence[Condition]) -> list[dict[str, Any]]:
    """With the time of the last change, which stays while the status stays."""
    return [_stamp(seen, c) for c in found]


def _stamp(seen: Observed, found: Condition) -> dict[str, Any]:
    before = seen.condition(found.type)
    same = before is not None and before.get("status") == found.status
    since = before.get("lastTransitionTime") if before and same else iso(seen.now_ms)
    return {
        "type": found.type,
        "status": found.status,
        "reason": found.reason,
        "message": found.message,
        "lastTransitionTime": since,
        "observedGeneration": seen.generation,
    }


def _completed() -> list[Condition]:
    sentence = "the job has completed: every sink has written its whole stream"
    return [
        condition("Ready", True, "Completed", sentence),
        condition("Protected", True, "Completed", "nothing is left to protect"),
        condition("Progressing", False, "Completed", sentence),
        condition("Degraded", False, "Completed", sentence),
    ]


# ---- one function per condition --------------------------------------------------------------------------


def accepted(seen: Observed) -> Condition:
    if not seen.refusals:
        return condition("Accepted", True, "Valid", "the manifest was accepted")
    first, *rest = seen.refusals
    more = f" (and {len(rest)} more)" if rest else ""
    kept = "; the job goes on as it was" if seen.running else ""
    return condition("Accepted", False, first.reason, f"{first.message}{more}{kept}")


def ready(seen: Observed, job: StreamJob, views: Sequence[SubjobView]) -> Condition:
    idle = [view.subjob.name for view in views if not view.serving]
    if seen.run is None or seen.run.start_ms is None:
        what = f"no primary serves {', '.join(idle)}" if idle else "standbys and sinks are getting ready"
        return condition("Ready", False, "Starting", f"the stream has not started yet: {what}")
    if idle:
        return condition("Ready", False, "NoPrimary", f"no primary serves {', '.join(idle)}")
    missing = [sink.name for sink in job.sinks if not sink_runs(seen, seen.sink_pod(sink.name))]
    if missing:
        return condition("Ready", False, "SinkMissing", f"sink {', '.join(missing)} is not running")
    return condition("Ready", True, "Serving", "every subjob has a primary that serves, and every sink runs")


def sink_runs(seen: Observed, pod: Pod | None) -> bool:
    if pod is None or loss_of(seen, pod):
        return False
    if pod.phase is Phase.SUCCEEDED:
        return True
    page = seen.sink_page(pod.name) if fresh(seen, pod.name) else None
    return page is not None and page.state.serves


def protected(views: Sequence[SubjobView]) -> Condition:
    paired = [view for view in views if view.wanted > 1]
    if not paired:
        return condition("Protected", True, "NoStandbyAsked", "no subjob asks for a standby: a loss costs tuples")
    bare = [view.subjob.name for view in paired if not view.protected]
    if bare:
        return condition("Protected", False, "StandbyMissing", f"no standby is ready to take over {', '.join(bare)}")
    beside = [view.subjob.name for view in paired if shares_node(view)]
    shared = f"; {', '.join(beside)}: primary and standby share a node" if beside else ""
    return condition("Protected", True, "StandbysReady", f"every standby is ready to take over{shared}")


def shares_node(view: SubjobView) -> bool:
    return view.primary is not None and any(pod.node == view.primary.node for pod in view.standbys)


def progressing(seen: Observed, views: Sequence[SubjobView]) -> Condition:
    if seen.run is None or seen.run.start_ms is None:
        return condition("Progressing", True, "Starting", "instances and sinks are getting ready")
    moving = [view.subjob.name for view in views if not view.settled]
    if moving:
        return condition("Progressing", True, "Replacing", f"instances of {', '.join(moving)} are being replaced")
    return condition("Progressing", False, "Settled", "every instance is where it should be")


def degraded(seen: Observed, views: Sequence[SubjobView]) -> Condition:
    problems = [problem for problem in problems_of(seen, views) if problem]
    if not problems:
        return condition("Degraded", False, "AllWell", "nothing needs a look")
    reason, sentence = problems[0]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return condition("Degraded", True, reason, sentence + more)


def problems_of(seen: Observed, views: Sequence[SubjobView]) -> list[tuple[str, str]]:
    found = [("PodInTrouble", f"{pod.name}: {pod.trouble}") for pod in seen.pods if pod.trouble]
    found += [("NoRoom", f"{pod.name}: {pod.unschedulable}") for pod in seen.pods if pod.unschedulable]
    for pod in seen.pods:
        kept = seen.pages.get(pod.name)
        if kept and kept.page.state is State.FAILED:
            found.append(("ProcessFailed", f"{pod.name}: {kept.page.error or 'failed'}"))
        if kept and kept.page.lost:
            found.append(("TuplesLost", f"{pod.part}: {kept.page.lost} tuples of its input were lost"))
    return found


def objective(seen: Observed, views: Sequence[SubjobView]) -> Condition:
    kind = "RecoveryObjectiveMet"
    judged = [(view, took) for view in views if (took := _last_recovery(seen, view)) is not None]
    limits = [
        (view.subjob.name, took, int(view.subjob.ha.max_recovery.total_seconds() * 1000))
        for view, took in judged
        if view.subjob.ha.max_recovery is not None
    ]
    if not any(view.subjob.ha.max_recovery for view in views):
        return condition(kind, None, "NoObjective", "no subjob sets maxRecovery")
    if not limits:
        return condition(kind, None, "NoFailoverYet", "nothing has been recovered yet")
    missed = [f"{name} took {took} ms of {most} ms" for name, took, most in limits if took > most]
    if missed:
        return condition(kind, False, "TooSlow", "; ".join(missed))
    return condition(kind, True, "Met", "; ".join(f"{name} took {took} ms of {most} ms" for name, took, most in limits))


def _last_recovery(seen: Observed, view: SubjobView) -> int | None:
    taken = view.page.take_over if view.page and view.page.leads else None
    if taken and taken.recovery_ms is not None:
        return taken.recovery_ms
    recovery = (seen.before(view.subjob.name).get("lastFailover") or {}).get("recoveryMs")
    return recovery if isinstance(recovery, int) else None
