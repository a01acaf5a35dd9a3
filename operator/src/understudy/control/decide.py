"""Observed → intents: the whole controller in one function.

An intent may rely on the intents before it. Carrying them out may stop after any of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.control.branches import plan_branches
from understudy.control.cluster_moves import plan_moves
from understudy.control.conditions import sink_runs
from understudy.control.foundation import plan_foundation, plan_leftovers
from understudy.control.incidents import plan_incidents
from understudy.control.instances import plan_instances
from understudy.control.intents import Intent, PatchStatus
from understudy.control.job_events import news
from understudy.control.job_status import (
    CONFIRM_MS,
    figures_ms,
    same_but_for_figures,
    same_but_for_time,
    status_of,
)
from understudy.control.kills import plan_kills
from understudy.control.lifecycle import has_ended, plan_end, plan_start
from understudy.control.observed import Observed
from understudy.control.retirement import retire
from understudy.control.room import plan_room
from understudy.control.sink_pods import plan_sinks
from understudy.control.times import millis
from understudy.control.views import SubjobView, views
from understudy.model.job import StreamJob


def decide(seen: Observed) -> tuple[Intent, ...]:
    if seen.deleted:
        return ()
    plan = _plan_job(seen, seen.job, views(seen, seen.job)) if seen.job and not seen.remains else ()
    return (*retire(seen, plan), *_tell(seen))


def is_calm(seen: Observed, plan: Sequence[Intent]) -> bool:
    """Whether nothing is under way, so that the next look can wait."""
    if any(not isinstance(intent, PatchStatus) for intent in plan):
        return False
    if seen.job is None or seen.completed:
        return not seen.remains
    moves = seen.run.moves if seen.run else {}
    writing = all(sink_runs(seen, seen.sink_pod(sink.name)) for sink in seen.job.sinks)
    return (
        seen.started
        and writing
        and all(v.settled and v.subjob.name not in moves for v in views(seen, seen.job))
    )


def _plan_job(seen: Observed, job: StreamJob, found: Sequence[SubjobView]) -> tuple[Intent, ...]:
    if seen.completed or has_ended(seen, job, found):
        return (*plan_incidents(seen, found), *plan_end(seen))
    return (
        *plan_foundation(seen, job),
        *plan_sinks(seen, job),
        *(intent for view in found for intent in plan_instances(seen, job, view)),
        *(intent for view in found for intent in plan_moves(seen, job, view)),
        *plan_leftovers(seen, job),
        *plan_start(seen, job, found),
        *plan_incidents(seen, found),
        *(intent for view in found for intent in plan_kills(seen, view)),
        *plan_branches(seen, found),
        *plan_room(seen, found),
    )


def _tell(seen: Observed) -> tuple[Intent, ...]:
    status = status_of(seen)
    if not _worth_writing(seen, status):
        return ()
    return (*news(seen, status), PatchStatus(status, "the status follows what was observed"))


def _worth_writing(seen: Observed, status: Mapping[str, Any]) -> bool:
    """Whether the status is written now. Changes that a person waits for are written at once. Figures are
    written from time to time, and less often while they do not change."""
    if not same_but_for_figures(seen.status, status):
        return True
    measured = millis(seen.status.get("measuredAt"))
    patience = figures_ms(seen.jobs)
    if same_but_for_time(seen.status, status):
        patience = max(CONFIRM_MS, patience)
    return seen.job is not None and (measured is None or seen.now_ms - measured >= patience)
