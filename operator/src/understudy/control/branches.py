"""Subjobs that have failed for good: no node can take them (Brettlecker §4.1).

| what is declared | what is done | until |
|---|---|---|
| an alternative | pods get the alternative's query and resources | a node has room (`room`), or an edit |
| a failure process | its Job is made, once for each epoch | |
| nothing | the conditions of the StreamJob say what is wrong | |
"""

from __future__ import annotations

from collections.abc import Sequence

from understudy.control import names
from understudy.control.giving_up import give_up, means_of
from understudy.control.intents import Emit, Intent, Reason, Record, RunProcess, Severity
from understudy.control.lost_pods import NO_ROOM_MS
from understudy.control.observed import Observed, Phase, Pod, Run
from understudy.control.room import has_room
from understudy.control.views import SubjobView
from understudy.model.job import Subjob
from understudy.protocol.failures import AlternativeBranch, FailureProcess


def plan_branches(seen: Observed, views: Sequence[SubjobView]) -> tuple[Intent, ...]:
    back = [
        _back(name, why) for name, failed_in in seen.failed.items() if (why := _again(seen, name, failed_in))
    ]
    gone = [_give_up(seen, view) for view in views if view.subjob.name not in seen.failed]
    return tuple(intent for part in (*back, *gone) for intent in part)


def _again(seen: Observed, subjob: str, failed_in: int) -> str | None:
    """Why the subjob itself is tried again."""
    if failed_in != seen.generation:
        return "the job was edited"
    return "there is room for it" if has_room(seen, subjob) else None


def _back(subjob: str, why: str) -> tuple[Intent, ...]:
    said = f"{subjob} is tried again: {why}"
    return Record({f"failed.{subjob}": None}, said), Emit(Severity.NORMAL, Reason.BRANCH_ENDED, said)


def _give_up(seen: Observed, view: SubjobView) -> tuple[Intent, ...]:
    why, subjob = _no_place(seen, view), view.subjob
    if why is None:
        return ()
    covered = view.serving or bool(view.ready_standbys)
    match give_up(why, started=seen.started, covered=covered, means=means_of(subjob)):
        case AlternativeBranch(alternative, reason):
            return _stand_in(seen, subjob.name, alternative, reason)
        case FailureProcess(reason):
            return _process(seen, subjob, view, reason)
        case _:
            return ()


def _no_place(seen: Observed, view: SubjobView) -> str | None:
    """Why no node can take any instance, if that has lasted long enough."""
    if not view.pods:
        return None
    since, declared = seen.status_since("Ready", "False"), view.subjob.ha.on_permanent_failure
    if since is None or declared is None or seen.now_ms - since < declared.after.total_seconds() * 1000:
        return None
    troubles = [_stuck(seen, pod) for pod in view.pods]
    return f"{view.subjob.name} finds no place: {troubles[0]}" if all(troubles) else None


def _stuck(seen: Observed, pod: Pod) -> str | None:
    waits = pod.phase is Phase.PENDING and seen.now_ms - pod.created_ms >= NO_ROOM_MS
    return (pod.unschedulable or pod.trouble) if waits else None


def _stand_in(seen: Observed, subjob: str, alternative: str, why: str) -> tuple[Intent, ...]:
    said = f"{alternative} stands in for {subjob}: {why}"
    entries = {f"failed.{subjob}": str(seen.generation)}
    return Record(entries, said), Emit(Severity.WARNING, Reason.BRANCH_BEGUN, said)


def _process(seen: Observed, subjob: Subjob, view: SubjobView, why: str) -> tuple[Intent, ...]:
    """The failure process, once for each epoch. It is made first and recorded after that: the name of its Job
    is the same each time, so making it again does no harm."""
    epoch, declared = view.lease.epoch if view.lease else 0, subjob.ha.on_permanent_failure
    run = seen.run or Run()
    if declared is None or declared.process is None or run.processes.get(subjob.name) == epoch:
        return ()
    name = names.failure_process(seen.name, subjob.name, epoch)
    said = f"the failure process {name} is run: {why}"
    return (
        RunProcess(name, declared.process.job_template, said),
        Record({f"process.{subjob.name}": str(epoch)}, said),
        Emit(Severity.WARNING, Reason.PROCESS_RUN, said),
    )
