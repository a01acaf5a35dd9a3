"""The conditions of a StreamJob. Each follows from the observations alone and has a sentence as its message.

| condition | True means |
|---|---|
| Accepted | the spec was accepted and is what runs |
| Ready | every subjob has a primary that serves, every sink runs, and the stream has been started |
| Protected | every standby that is asked for is ready to take over now |
| Progressing | something is being made, replaced or taken over |
| Degraded | something needs a look |
| RecoveryObjectiveMet | the newest take-over of every subjob was within its maxRecovery |
| SourcesHealthy | no source from outside stands still, and no record of one was lost or could not be read |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from understudy.control.kills import kills_of
from understudy.control.lost_pods import fresh, loss_of
from understudy.control.observed import Observed, Pod
from understudy.control.retirement import is_planned
from understudy.control.times import iso
from understudy.control.views import SubjobView
from understudy.model.ha import Mode
from understudy.model.job import StreamJob
from understudy.model.plan import warnings
from understudy.model.status import Condition, ConditionStatus, ConditionType
from understudy.protocol.poison import sentence
from understudy.protocol.statuspage import InstancePage, Queue, State


@dataclass(frozen=True, slots=True)
class Finding:
    """A condition without its times."""

    type: ConditionType
    status: ConditionStatus
    reason: str
    message: str


def finding(kind: ConditionType, holds: bool | None, reason: str, message: str) -> Finding:
    statuses = {True: ConditionStatus.TRUE, False: ConditionStatus.FALSE, None: ConditionStatus.UNKNOWN}
    return Finding(kind, statuses[holds], reason, message)


def conditions_of(seen: Observed, views: Sequence[SubjobView]) -> list[Finding]:
    if seen.job is None:
        refused = finding(ConditionType.READY, False, "Rejected", "the manifest was refused; nothing runs")
        return [accepted(seen), refused]
    if seen.completed:
        return [accepted(seen), *_completed(), objective(seen, views)]
    return [
        accepted(seen),
        ready(seen, seen.job, views),
        protected(views),
        progressing(seen, views),
        degraded(seen, views),
        objective(seen, views),
        *sources_healthy(seen.job, views),
    ]


def stamped(seen: Observed, found: Sequence[Finding]) -> list[Condition]:
    """The finding with the time of its last change. The time stays as long as the status stays."""
    return [_stamp(seen, c) for c in found]


def _stamp(seen: Observed, found: Finding) -> Condition:
    before = seen.condition(found.type)
    same = before is not None and before.get("status") == found.status
    return Condition(
        type=found.type,
        status=found.status,
        reason=found.reason,
        message=found.message,
        last_transition_time=str(before["lastTransitionTime"]) if before and same else iso(seen.now_ms),
        observed_generation=seen.generation,
    )


def _completed() -> list[Finding]:
    sentence = "the job has completed: every sink has written its whole stream"
    return [
        finding(ConditionType.READY, True, "Completed", sentence),
        finding(ConditionType.PROTECTED, True, "Completed", "nothing is left to protect"),
        finding(ConditionType.PROGRESSING, False, "Completed", sentence),
        finding(ConditionType.DEGRADED, False, "Completed", sentence),
    ]


# ---- one function per condition --------------------------------------------------------------------------


def accepted(seen: Observed) -> Finding:
    if not seen.refusals:
        said = "; ".join(["the manifest was accepted", *warnings(seen.plans)])
        return finding(ConditionType.ACCEPTED, True, "Valid", said)
    first, *rest = seen.refusals
    more = f" (and {len(rest)} more)" if rest else ""
    kept = "; the job goes on as it was" if seen.running else ""
    return finding(ConditionType.ACCEPTED, False, first.reason, f"{first.message}{more}{kept}")


def ready(seen: Observed, job: StreamJob, views: Sequence[SubjobView]) -> Finding:
    if seen.remains:
        what = f"{seen.remains[0]} of an earlier job of this name is still there"
        return finding(ConditionType.READY, False, "Waiting", what)
    idle = [view.subjob.name for view in views if not view.serving]
    if not seen.started:
        what = f"no primary serves {', '.join(idle)}" if idle else "standbys and sinks are getting ready"
        return finding(ConditionType.READY, False, "Starting", f"the stream has not started yet: {what}")
    if idle:
        return finding(ConditionType.READY, False, "NoPrimary", f"no primary serves {', '.join(idle)}")
    missing = [sink.name for sink in job.sinks if not sink_runs(seen, seen.sink_pod(sink.name))]
    stalled = [f"{name}: {why}" for name in missing if (why := stall_of(seen, seen.sink_pod(name)))]
    if stalled:
        return finding(ConditionType.READY, False, "SinkStalled", f"the disk of sink {'; '.join(stalled)}")
    if missing:
        return finding(ConditionType.READY, False, "SinkMissing", f"sink {', '.join(missing)} is not running")
    return finding(
        ConditionType.READY, True, "Serving", "every subjob has a primary that serves, and every sink runs"
    )


def sink_runs(seen: Observed, pod: Pod | None) -> bool:
    if pod is None or loss_of(seen, pod):
        return False
    if pod.has_finished:
        return True
    page = seen.sink_page(pod.name) if fresh(seen, pod.name) else None
    return page is not None and page.state.serves


def stall_of(seen: Observed, pod: Pod | None) -> str | None:
    """Why the disk of this sink counts as stalled."""
    page = seen.sink_page(pod.name) if pod is not None and fresh(seen, pod.name) else None
    return page.stalled if page is not None and page.state is State.STALLED else None


def protected(views: Sequence[SubjobView]) -> Finding:
    paired = [view for view in views if view.wanted > 1]
    if not paired:
        return finding(
            ConditionType.PROTECTED,
            True,
            "NoStandbyAsked",
            "no subjob asks for a standby: a loss costs tuples",
        )
    bare = [view.subjob.name for view in paired if not view.protected]
    if bare:
        return finding(
            ConditionType.PROTECTED,
            False,
            "StandbyMissing",
            f"no standby is ready to take over {', '.join(bare)}",
        )
    beside = [view.subjob.name for view in paired if view.shares_node]
    shared = f"; {', '.join(beside)}: primary and standby share a node" if beside else ""
    lossy = [view.subjob.name for view in paired if view.mode is Mode.AMNESIA]
    costs = f"; {', '.join(lossy)}: a take-over costs tuples" if lossy else ""
    what = f"every standby is ready to take over{shared}{costs}"
    return finding(ConditionType.PROTECTED, True, "StandbysReady", what)


def progressing(seen: Observed, views: Sequence[SubjobView]) -> Finding:
    if not seen.started:
        return finding(ConditionType.PROGRESSING, True, "Starting", "instances and sinks are getting ready")
    moving = [view.subjob.name for view in views if not view.settled]
    if moving:
        return finding(
            ConditionType.PROGRESSING,
            True,
            "Replacing",
            f"instances of {', '.join(moving)} are being replaced",
        )
    return finding(ConditionType.PROGRESSING, False, "Settled", "every instance is where it should be")


def degraded(seen: Observed, views: Sequence[SubjobView] = ()) -> Finding:
    problems = [*poison_plans(seen, views), *problems_of(seen)]
    if not problems:
        return finding(ConditionType.DEGRADED, False, "AllWell", "nothing needs a look")
    reason, sentence = problems[0]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return finding(ConditionType.DEGRADED, True, reason, sentence + more)


def poison_plans(seen: Observed, views: Sequence[SubjobView]) -> list[tuple[str, str]]:
    found = [(view, kills) for view in views if (kills := kills_of(seen, view)).poisonous]
    return [("PoisonPlan", sentence(view.subjob.name, kills, _limit(view))) for view, kills in found]


def _limit(view: SubjobView) -> str:
    return next((pod.memory_limit for pod in view.pods if pod.memory_limit), "unknown size")


def problems_of(seen: Observed) -> list[tuple[str, str]]:
    found = [("PodInTrouble", f"{pod.name}: {pod.trouble}") for pod in seen.pods if pod.trouble]
    found += [("NoRoom", f"{pod.name}: {pod.unschedulable}") for pod in seen.pods if pod.unschedulable]
    found += [
        ("StoodIn", f"another stands in for {subjob} until there is room for it") for subjob in seen.failed
    ]
    found += [
        (
            "NodeShared",
            f"{trial.subjob}: primary and standby share a node; {trial.name} waits for room on another",
        )
        for trial in seen.trials
        if trial.subjob not in seen.failed and not trial.runs
    ]
    for pod in seen.pods:
        kept = seen.pages.get(pod.name)
        if kept and kept.page.state is State.FAILED:
            found.append(("ProcessFailed", f"{pod.name}: {kept.page.error or 'failed'}"))
        if kept and not kept.silent and isinstance(kept.page, InstancePage) and kept.page.stalled:
            found.append(("EngineStalled", f"{pod.name}: Spark stands still: {kept.page.stalled}"))
        if why := stall_of(seen, pod):
            found.append(("SinkStalled", f"{pod.name}: its disk stands still: {why}"))
        if kept and kept.page.lost:
            found.append(("TuplesLost", f"{pod.part}: {kept.page.lost} tuples of its input were lost"))
        if kept and isinstance(kept.page, InstancePage) and kept.page.leads:
            found += [
                ("QueueFull", _full(stream, queue))
                for stream, queue in kept.page.outputs.items()
                if queue.full
            ]
    return found


def _full(stream: str, queue: Queue) -> str:
    slowest = queue.slowest
    return f"the output queue of {stream} is full, and its inputs wait: {slowest} has not released more of it"


def objective(seen: Observed, views: Sequence[SubjobView]) -> Finding:
    kind = ConditionType.RECOVERY_OBJECTIVE_MET
    judged = [(view, took) for view in views if (took := _last_recovery(seen, view)) is not None]
    limits = [
        (view.subjob.name, took, int(view.subjob.ha.max_recovery.total_seconds() * 1000))
        for view, took in judged
        if view.subjob.ha.max_recovery is not None
    ]
    if not any(view.subjob.ha.max_recovery for view in views):
        return finding(kind, None, "NoObjective", "no subjob sets maxRecovery")
    if not limits:
        return finding(kind, None, "NoFailoverYet", "nothing has been recovered yet")
    missed = [f"{name} took {took} ms of {most} ms" for name, took, most in limits if took > most]
    if missed:
        return finding(kind, False, "TooSlow", "; ".join(missed))
    return finding(
        kind, True, "Met", "; ".join(f"{name} took {took} ms of {most} ms" for name, took, most in limits)
    )


def _last_recovery(seen: Observed, view: SubjobView) -> int | None:
    taken = view.page.take_over if view.page and view.page.leads else None
    if taken and taken.recovery_ms is not None and not is_planned(seen, taken):
        return taken.recovery_ms
    seconds = (seen.before(view.subjob.name).get("lastFailover") or {}).get("recoverySeconds")
    return round(seconds * 1000) if seconds is not None else None


def sources_healthy(job: StreamJob, views: Sequence[SubjobView]) -> list[Finding]:
    """Of a job with sources whose rows are read; other jobs have no such condition."""
    outside = {source.name for source in job.sources if not source.origin.computed}
    if not outside:
        return []
    kind = ConditionType.SOURCES_HEALTHY
    pages = [view.page for view in views if view.page is not None]
    inputs = [(name, at) for page in pages for name, at in page.inputs.items() if name in outside]
    faults = dict.fromkeys(f"{name}: {at.fault}" for name, at in inputs if at.fault)
    if faults:
        return [finding(kind, False, "NotRead", "; ".join(faults))]
    if gone := _gone(pages, outside):
        return [finding(kind, False, "RecordsLost", gone)]
    bad = {name: max(at.bad for other, at in inputs if other == name) for name, _ in inputs}
    if any(bad.values()):
        said = ", ".join(f"{count} of {name}" for name, count in sorted(bad.items()) if count)
        return [
            finding(kind, False, "BadRecords", f"records that could not be read became no tuples: {said}")
        ]
    return [finding(kind, True, "Read", "every source is read")]


def _gone(pages: Sequence[InstancePage], outside: set[str]) -> str:
    lost = [loss for page in pages for loss in page.losses if loss.stream in outside]
    return "; ".join(
        f"{loss.stream}: tuples {loss.start} to {loss.stop} were gone before they were processed"
        for loss in lost
    )
