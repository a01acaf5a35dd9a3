"""Pods that are removed on purpose. They are recorded, so that their end does not count as a failure.

| who removes the pod | how it is known |
|---|---|
| the operator: edit, move, certificate, room elsewhere, surplus | the plan removes a pod that is not lost |
| a person or an autoscaler that empties a node | the pod is being evicted, or its node is cordoned |

The pod is recorded with the reason before it is removed. A take-over from such a pod is a planned change, no
failure. So the entry is kept until no status names the pod and no take-over from it can follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from understudy.control.intents import DeletePod, Intent, Record
from understudy.control.lost_pods import loss_of
from understudy.control.observed import Observed, Pod, Retired
from understudy.control.run_record import retired_to_text
from understudy.protocol.statuspage import InstancePage, StatusPage, TakeOver


def retire(seen: Observed, plan: Sequence[Intent]) -> tuple[Intent, ...]:
    """The plan, with the record of the pods that it removes before it."""
    if seen.run is None or seen.completed:
        return tuple(plan)
    wanted = _retired(seen, {intent.name: intent.why for intent in plan if isinstance(intent, DeletePod)})
    known = seen.run.retired
    entries: dict[str, str | None] = {f"retired.{name}": None for name in known if name not in wanted}
    entries |= {f"retired.{name}": retired_to_text(r) for name, r in wanted.items() if known.get(name) != r}
    return (Record(entries, _why(wanted)), *plan) if entries else tuple(plan)


def is_retired(seen: Observed, name: str, uid: str | None = None) -> bool:
    """`uid`: the pod with this uid, of all pods with this name."""
    written = seen.run.retired.get(name) if seen.run else None
    return written is not None and uid in (None, written.uid)


def reason_to_go(seen: Observed, name: str) -> str | None:
    """Why the pod was removed on purpose; None if it was not."""
    written = seen.run.retired.get(name) if seen.run else None
    return (written.why or "it was removed on purpose") if written is not None else None


def is_planned(seen: Observed, taken: TakeOver) -> bool:
    """Whether the former primary handed over, or was removed on purpose."""
    return taken.planned or is_retired(seen, taken.gone)


def is_evicted(seen: Observed, pod: Pod) -> bool:
    return pod.terminating and (pod.evicted or is_emptied(seen, pod.node))


def is_emptied(seen: Observed, node: str | None) -> bool:
    """Whether the node is being emptied although it is healthy: then pods that are gone from it were removed
    on purpose."""
    found = seen.node(node) if node else None
    return found is not None and found.ready and found.cordoned


def _retired(seen: Observed, removed: Mapping[str, str]) -> dict[str, Retired]:
    found = dict(seen.run.retired) if seen.run else {}
    kept = {name: retired for name, retired in found.items() if _is_going(seen, name, retired.uid)}
    new = {
        pod.name: Retired(pod.uid, why) for pod in seen.pods if (why := _goes(seen, pod, removed)) is not None
    }
    return {**new, **kept}


def _goes(seen: Observed, pod: Pod, removed: Mapping[str, str]) -> str | None:
    """Why the pod is removed; None if it stays or is lost."""
    if is_evicted(seen, pod):
        return f"{pod.node} is to be empty" if is_emptied(seen, pod.node) else "it is evicted"
    return removed.get(pod.name) if loss_of(seen, pod) is None else None


def _is_going(seen: Observed, name: str, uid: str) -> bool:
    """Whether the pod was asked to stop, or is gone and no status says so yet. A pod that still lives may
    fail later."""
    pod = seen.pod(name)
    if pod is not None and pod.uid == uid:
        return pod.terminating
    if any(lease.holder == name for lease in seen.leases) or any(
        _took_over(s.page, name) for s in seen.pages.values()
    ):
        return True
    replicas = [
        replica for subjob in seen.status.get("subjobs") or () for replica in subjob.get("replicas") or ()
    ]
    sinks = seen.status.get("sinks") or ()
    return any(r.get("pod") == name for r in replicas) or any(s.get("uid") == uid for s in sinks)


def _took_over(page: StatusPage, gone: str) -> bool:
    return (
        isinstance(page, InstancePage)
        and page.leads
        and page.take_over is not None
        and page.take_over.gone == gone
    )


def _why(retired: Mapping[str, Retired]) -> str:
    if not retired:
        return "nobody waits for a pod to go any more"
    return (
        f"{', '.join(sorted(retired))} {'goes' if len(retired) == 1 else 'go'} as planned: nothing has failed"
    )
