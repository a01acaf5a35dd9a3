"""The job as a whole: when it starts, when it has ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from understudy.control.intents import DeletePod, Intent, Record
from understudy.control.lost_pods import fresh
from understudy.control.observed import Observed, Phase
from understudy.control.sink_pods import finished
from understudy.control.views import SubjobView
from understudy.model.job import StreamJob
from understudy.protocol.statuspage import State

START_UNPROTECTED_MS: Final = 180_000  # a standby that finds no node for so long does not hold up the job


def plan_start(seen: Observed, job: StreamJob, views: Sequence[SubjobView]) -> tuple[Intent, ...]:
    """Starts the streams once every instance and every sink is ready: otherwise they would begin with the
    backlog of a cold start."""
    if seen.started or not _sinks_ready(seen, job):
        return ()
    entries = {"startTime": str(seen.now_ms)}
    if all(view.protected for view in views):
        return (Record(entries, "every instance and every sink is ready"),)
    late = seen.now_ms - seen.created_ms >= START_UNPROTECTED_MS
    if late and all(view.protected or (view.serving and not _coming(view)) for view in views):
        return (Record(entries, "every primary and every sink is ready; a standby finds no node"),)
    return ()


def _coming(view: SubjobView) -> bool:
    """Whether a standby is on its way, however slowly."""
    return any(pod.phase is Phase.RUNNING and pod.trouble is None for pod in view.standbys)


def plan_end(seen: Observed) -> tuple[Intent, ...]:
    """Records the end of the job, then removes the pods of subjobs. Pods of sinks stay: they have ended, and
    their logs can be read."""
    if not seen.completed:
        return (Record({"completed": str(seen.now_ms)}, "every sink has written its whole stream"),)
    pods = [pod.name for pod in seen.pods if not pod.is_sink and not pod.terminating]
    trials = [trial.name for trial in seen.trials if not trial.terminating]
    return tuple(
        DeletePod(name, False, f"{name} is removed: the job has completed") for name in (*pods, *trials)
    )


def has_ended(seen: Observed, job: StreamJob, views: Sequence[SubjobView]) -> bool:
    if job.sinks:
        return finished(seen, job)
    return seen.started and all(view.finished for view in views)


def _sinks_ready(seen: Observed, job: StreamJob) -> bool:
    pods = [seen.sink_pod(sink.name) for sink in job.sinks]
    pages = [seen.sink_page(pod.name) if pod and fresh(seen, pod.name) else None for pod in pods]
    return all(page is not None and page.state in (State.READY, State.FINISHED) for page in pages)
