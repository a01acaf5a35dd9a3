"""Room: whether a node could take an instance. Trials find it out without stopping anything.

A trial is a pod that asks for what an instance would ask for, and does nothing. It waits in the scheduler's
queue, where an autoscaler sees it, too; once it runs, there is room, and the trial is removed.

| what room is wanted for | trials | when they all run |
|---|---|---|
| a subjob whose alternative runs | as many as it has instances | the subjob is tried again (`branches`) |
| a standby on its primary's node | one, on a node without an instance | the next standby is made there |

A trial that is no longer needed is removed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from understudy.control import names
from understudy.control.certificates import certificate_for
from understudy.control.cluster_moves import is_to_move
from understudy.control.intents import CreateTrial, DeletePod, Emit, Intent, Reason, Severity
from understudy.control.observed import Observed
from understudy.control.placement import usable_nodes
from understudy.control.revision import digests_of
from understudy.control.views import SubjobView
from understudy.model.job import StreamJob, Subjob


@dataclass(frozen=True, slots=True)
class _Wish:
    subjob: Subjob
    """The subjob as it is declared, also while its alternative runs."""
    asks: str
    trials: int
    avoid: frozenset[str]
    """Nodes that are not suitable."""
    why: str

    def names(self, job: str) -> set[str]:
        return {names.trial(job, self.subjob.name, number) for number in range(self.trials)}


def plan_room(seen: Observed, views: Sequence[SubjobView]) -> tuple[Intent, ...]:
    if seen.declared is None:
        return ()
    wishes = _wishes(seen, seen.declared, views)
    return (*_unwished(seen, wishes), *_made(seen, wishes), *_apart(seen, wishes, views))


def has_room(seen: Observed, subjob: str) -> bool:
    """Whether all instances of the subjob could run at the same time: there is a trial for each."""
    declared = seen.declared.subjob(subjob) if seen.declared else None
    running = [trial for trial in seen.trials if trial.subjob == subjob and trial.runs]
    return declared is not None and len(running) >= declared.ha.instances


def _wishes(seen: Observed, declared: StreamJob, views: Sequence[SubjobView]) -> dict[str, _Wish]:
    found = {}
    for view in views:
        subjob = declared.subjob(view.subjob.name)
        if subjob is None:
            continue
        if subjob.name in seen.failed:
            asks = _asks(seen, declared, subjob)
            found[subjob.name] = _Wish(
                subjob, asks, subjob.ha.instances, frozenset(), "another stands in for it"
            )
        elif _is_crowded(seen, view):
            taken = frozenset(pod.node for pod in view.live if pod.node)
            asks = " ".join([_asks(seen, declared, subjob), *sorted(taken)])
            found[subjob.name] = _Wish(subjob, asks, 1, taken, "primary and standby share a node")
    return found


def _asks(seen: Observed, declared: StreamJob, subjob: Subjob) -> str:
    return digests_of(declared, subjob, certificate_for(seen)).settings


def _is_crowded(seen: Observed, view: SubjobView) -> bool:
    elsewhere = usable_nodes(seen) - {pod.node for pod in view.live}
    return (
        seen.started
        and view.protected
        and view.shares_node
        and bool(elsewhere)
        and not is_to_move(seen, view)
    )


def _unwished(seen: Observed, wishes: Mapping[str, _Wish]) -> tuple[Intent, ...]:
    kept = {name for wish in wishes.values() for name in wish.names(seen.name)}
    asked = {wish.subjob.name: wish.asks for wish in wishes.values()}
    why = "nobody waits for what it would show"
    return tuple(
        DeletePod(trial.name, False, f"{trial.name} is removed: {why}")
        for trial in seen.trials
        if not trial.terminating and (trial.name not in kept or trial.asks != asked[trial.subjob])
    )


def _made(seen: Observed, wishes: Mapping[str, _Wish]) -> tuple[Intent, ...]:
    there = {trial.name for trial in seen.trials}
    return tuple(
        CreateTrial(name, wish.subjob.name, wish.avoid, wish.asks, f"{name} waits for room: {wish.why}")
        for wish in wishes.values()
        for name in sorted(wish.names(seen.name) - there)
    )


def _apart(seen: Observed, wishes: Mapping[str, _Wish], views: Sequence[SubjobView]) -> tuple[Intent, ...]:
    crowded = [view for view in views if (wish := wishes.get(view.subjob.name)) and wish.avoid]
    granted = {trial.subjob: trial for trial in seen.trials if trial.runs and not trial.terminating}
    return tuple(
        intent
        for view in crowded
        if (trial := granted.get(view.subjob.name))
        for intent in _replaced(view, trial.name)
    )


def _replaced(view: SubjobView, trial: str) -> tuple[Intent, ...]:
    node = view.primary.node if view.primary else None
    why = f"there is room on another node than {node}, which it shares with its primary"
    beside = [pod for pod in view.standbys if pod.node == node]
    return (
        DeletePod(trial, False, f"{trial} is removed: it makes way for a standby"),
        *(DeletePod(pod.name, False, f"{pod.name} is removed: {why}") for pod in beside),
        *(Emit(Severity.NORMAL, Reason.INSTANCE_REMOVED, f"{pod.name} is removed: {why}") for pod in beside),
    )
