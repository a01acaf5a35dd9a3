"""The instances of one subjob: removes lost pods, makes missing ones, and replaces those that an edit has
outdated.

The plan is safe if it stops in between: the number of a pod is recorded before the pod is made, so it is
never used twice; a surplus pod is removed later; roles change only by the Lease.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from understudy.control import names
from understudy.control.certificates import certificate_for
from understudy.control.cluster_moves import is_to_move
from understudy.control.intents import (
    ChangeInstance,
    CreateInstance,
    DeletePod,
    Emit,
    Intent,
    LabelPod,
    Reason,
    Record,
    Severity,
)
from understudy.control.lost_pods import Loss, fresh, no_room
from understudy.control.observed import Observed, Phase, Pod, Run, Spread
from understudy.control.placement import elect_node, nodes_to_avoid, spread_for
from understudy.control.replacing import TOO_MANY, Instances, surplus
from understudy.control.revision import Digests, digests_before_live_edits, digests_of
from understudy.control.views import SubjobView
from understudy.model.job import StreamJob
from understudy.model.status import Role

HEAD_START_MS: Final = 5_000  # primaries first: their cold starts should not compete with the standbys'
# Between two new instances of a subjob, so that pods that fail at once do not pile up
SPACING_MS: Final = 3_000
# How long a take-over may have the machine to itself before a replacement starts
TAKE_OVER_MS: Final = 10_000


def plan_instances(seen: Observed, job: StreamJob, view: SubjobView) -> tuple[Intent, ...]:
    digests = digests_of(job, view.subjob, certificate_for(seen))
    crowded = [pod for pod in view.live if no_room(seen, pod)]
    outdated = _outdated(view, digests, digests_before_live_edits(job, view.subjob, certificate_for(seen)))
    doomed = {
        **view.losses,
        **{pod.name: Loss("no other node has room for it") for pod in crowded},
        **outdated,
    }
    live = [pod for pod in view.pods if pod.name not in doomed]
    removals = [
        _remove(pod, doomed[pod.name]) for pod in view.pods if pod.name in doomed and not pod.terminating
    ]
    extra = () if is_to_move(seen, view) else _surplus(view, live)
    return (
        *(intent for pair in removals for intent in pair),
        *(intent for pod in extra for intent in _remove(pod, Loss(TOO_MANY))),
        *_creation(seen, job, view, live, digests, bool(crowded)),
        *_labels(view, [pod for pod in live if pod not in extra]),
        *_changes(seen, view, live),
    )


def _remove(pod: Pod, loss: Loss) -> tuple[Intent, ...]:
    why = f"{pod.name} is removed: {loss.why}"
    return DeletePod(pod.name, False, why), Emit(Severity.NORMAL, Reason.INSTANCE_REMOVED, why)


# ---- edits -----------------------------------------------------------------------------------------------


def _outdated(view: SubjobView, *wanted: Digests) -> dict[str, Loss]:
    """Pods that are removed now because of an edit. If the query changed, all at once. If settings changed,
    the standby first and then the primary; while no primary serves, the pods that have not begun."""
    old_query = [pod for pod in view.live if pod.digests.query not in {digests.query for digests in wanted}]
    if old_query:
        return {pod.name: Loss("the query was changed") for pod in old_query}
    old = [pod for pod in view.live if pod.digests.settings not in {digests.settings for digests in wanted}]
    if not view.serving:
        return {pod.name: Loss("its settings were changed") for pod in old if pod.phase is Phase.PENDING}
    standbys = [pod for pod in old if pod in view.standbys]
    if standbys or view.protected:
        return {pod.name: Loss("its settings were changed") for pod in standbys or old}
    return {}


def _changes(seen: Observed, view: SubjobView, live: Sequence[Pod]) -> tuple[Intent, ...]:
    """Instances that have not received the new high-availability settings of the manifest yet."""
    ha = view.subjob.ha
    pages = [(pod, page) for pod in live if fresh(seen, pod.name) and (page := seen.instance_page(pod.name))]
    why = f"the manifest keeps {view.subjob.name} alive by {ha.mode}, with other settings than before"
    return tuple(
        ChangeInstance(pod.name, pod.ip, pod.certificate, ha, f"{pod.name} is told: {why}")
        for pod, page in pages
        if pod.ip and page.settings not in (None, ha.digest)
    )


def _surplus(view: SubjobView, live: Sequence[Pod]) -> tuple[Pod, ...]:
    """Surplus instances. The primary is never one."""
    if view.page is None:
        return ()
    standbys = [pod for pod in live if pod in view.standbys]
    names = [pod.name for pod in standbys]
    extra = surplus(Instances(view.wanted, len(live), names, view.page.secondary, view.mode))
    return tuple(pod for pod in standbys if pod.name in extra)


# ---- new instances ---------------------------------------------------------------------------------------


def _creation(
    seen: Observed, job: StreamJob, view: SubjobView, live: Sequence[Pod], digests: Digests, crowded: bool
) -> tuple[Intent, ...]:
    if len(live) >= view.wanted or _must_wait(seen, job, view, live, digests):
        return ()
    subjob, run = view.subjob.name, seen.run or Run()
    number = _next_number(seen, view, run)
    avoid = nodes_to_avoid(seen, live, [pod for pod in view.pods if pod.name in _suspects(view)])
    spread, where = spread_for(seen, live, avoid)
    if crowded:
        spread, where = Spread.PREFERRED, "beside its peer if need be, since no other node has room"
    if (
        spread is Spread.REQUIRED
    ):  # also away from one that had to share a node, which others do not keep away from
        avoid |= {pod.node for pod in live if pod.node}
    role = view.standby_role if live else Role.PRIMARY
    name = names.instance(seen.name, subjob, number)
    prefer, nearest = elect_node(seen, job, subjob, live, avoid, name)
    clauses = [clause for clause in (where, nearest) if clause and live]
    why = ", ".join([f"{name} is made as {role} of {subjob}", *clauses]) + _after(view)
    entries: dict[str, str | None] = {f"next.{subjob}": str(number + 1), f"made.{subjob}": str(seen.now_ms)}
    return (
        Record(entries, f"number {number} is given to an instance of {subjob}"),
        CreateInstance(
            name, subjob, role, spread, avoid, prefer, digests, seen.revision, certificate_for(seen), why
        ),
        Emit(Severity.NORMAL, Reason.INSTANCE_CREATED, why),
    )


def _next_number(seen: Observed, view: SubjobView, run: Run) -> int:
    holder = view.lease.holder if view.lease and view.lease.holder else ""
    known = [names.number_of(name) for name in (*(pod.name for pod in view.pods), holder)]
    return max([run.next.get(view.subjob.name, 0), *(number + 1 for number in known)])


def _suspects(view: SubjobView) -> set[str]:
    return {name for name, loss in view.losses.items() if loss.suspect}


def _after(view: SubjobView) -> str:
    return "".join(f"; {name} is lost: {loss.why}" for name, loss in view.losses.items())


def _must_wait(
    seen: Observed, job: StreamJob, view: SubjobView, live: Sequence[Pod], digests: Digests
) -> bool:
    run = seen.run or Run()
    age = seen.now_ms - run.made_ms.get(view.subjob.name, 0)
    if age < SPACING_MS and (live or view.pods):
        return True
    earlier = digests_before_live_edits(job, view.subjob, certificate_for(seen))
    if any(pod.digests.query not in (digests.query, earlier.query) for pod in view.pods):
        return True  # an instance with the old query must not hand its state to one with the new
    if not seen.started and live and not view.serving:
        return age < HEAD_START_MS
    return _taking_over(seen, view)


def _taking_over(seen: Observed, view: SubjobView) -> bool:
    """Whether a take-over is under way and still has time: a replacement would only take processor time from
    it."""
    if view.failing_over:
        lost_at = seen.status_since("Ready", "False")
        return lost_at is None or seen.now_ms - lost_at < TAKE_OVER_MS
    taken = view.page.take_over if view.page else None
    if taken is None or taken.first_output is not None or taken.promoted is None:
        return False
    return seen.now_ms - taken.promoted < TAKE_OVER_MS


# ---- labels ----------------------------------------------------------------------------------------------


def _labels(view: SubjobView, live: Sequence[Pod]) -> tuple[Intent, ...]:
    """Labels follow the Lease and the mode in force, never the other way round."""
    if view.primary is None:
        return ()
    why = f"the Lease of {view.subjob.name} is held by {view.primary.name}, the mode is {view.mode}"
    return tuple(LabelPod(pod.name, role, why) for pod in live if pod.role is not (role := view.role_of(pod)))
