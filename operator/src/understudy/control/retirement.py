"""Pods that go because somebody wants them to: so that nobody takes them for lost when they are gone.

| who wants it | how it is known |
|---|---|
| the operator: an edit, a move, a certificate, room elsewhere, one too many | the plan removes a pod that is not lost |
| a person or an autoscaler that empties a node | the pod is being evicted, or its node is cordoned |

It is written down before the pod is removed, and forgotten when no status speaks of the pod any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from understudy.control.health import loss_of
from understudy.control.intents import DeletePod, Intent, Record
from understudy.control.observed import Observed, Pod


def retire(seen: Observed, plan: Sequence[Intent]) -> tuple[Intent, ...]:
    """The plan, with what it removes written down first."""
    if seen.run is None or seen.completed:
        return tuple(plan)
    wanted = _retired(seen, {intent.name for intent in plan if isinstance(intent, DeletePod)})
    known = seen.run.retired
    entries: dict[str, str | None] = {f"retired.{name}": None for name in known if name not in wanted}
    entries |= {f"retired.{name}": uid for name, uid in wanted.items() if known.get(name) != uid}
    return (Record(entries, _why(wanted)), *plan) if entries else tuple(plan)


def is_retired(seen: Observed, name: str, uid: str | None = None) -> bool:
    """`uid`: this one of the pods of that name."""
    written = seen.run.retired.get(name) if seen.run else None
    return written is not None and uid in (None, written)


def is_evicted(seen: Observed, pod: Pod) -> bool:
    return pod.terminating and (pod.evicted or is_emptied(seen, pod.node))


def is_emptied(seen: Observed, node: str | None) -> bool:
    """Somebody wants the node empty, and it is well: what is gone from there was sent away."""
    found = seen.node(node) if node else None
    return found is not None and found.ready and found.cordoned


def _retired(seen: Observed, removed: set[str]) -> dict[str, str]:
    found = dict(seen.run.retired) if seen.run else {}
    kept = {name: uid for name, uid in found.items() if _is_going(seen, name, uid)}
    new = {pod.name: pod.uid for pod in seen.pods if _goes(seen, pod, removed)}
    return {**kept, **new}


def _goes(seen: Observed, pod: Pod, removed: set[str]) -> bool:
    return is_evicted(seen, pod) or (pod.name in removed and loss_of(seen, pod) is None)


def _is_going(seen: Observed, name: str, uid: str) -> bool:
    """It has been asked to, or is gone and the status does not say so yet. One that lives on may fail later."""
    pod = seen.pod(name)
    if pod is not None and pod.uid == uid:
        return pod.terminating
    replicas = [replica for subjob in seen.status.get("subjobs") or () for replica in subjob.get("replicas") or ()]
    sinks = seen.status.get("sinks") or ()
    return any(r.get("pod") == name for r in replicas) or any(s.get("uid") == uid for s in sinks)


def _why(retired: Mapping[str, str]) -> str:
    if not retired:
        return "nobody waits for a pod to go any more"
    return f"{', '.join(sorted(retired))} {'goes' if len(retired) == 1 else 'go'} as planned: nothing has failed"
