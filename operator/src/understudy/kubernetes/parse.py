"""Kubernetes objects as the values of `control.observed`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from understudy.control import names
from understudy.control.observed import Death, IncidentSeen, Lease, Node, Order, Phase, Pod, Spread, Trial
from understudy.control.revision import Digests
from understudy.control.taken import Other
from understudy.control.times import millis
from understudy.model.load import KIND
from understudy.model.status import Role

Json = Mapping[str, Any]

# Reasons of waiting that end by themselves.
OOM_KILLED: Final = "OOMKilled"  # exit code 137 alone may be any SIGKILL: a liveness probe, a drill, a drain

# Taints of nodes that Karpenter and the Cluster Autoscaler are about to remove.
_REMOVAL: Final = ("karpenter.sh/disrupted", "karpenter.sh/disruption", "ToBeDeleted")

_PATIENCE: Final = frozenset({"ContainerCreating", "PodInitializing"})


def millis_of(text: object) -> int:
    return millis(text) or 0


def pod_of(raw: Json) -> Pod | None:
    """None for pods with our label that are not instances or sinks, such as executors."""
    metadata, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    labels, notes = metadata.get("labels") or {}, metadata.get("annotations") or {}
    part = labels.get(names.SINK) or labels.get(names.SUBJOB)
    if part is None or names.DRIVER in labels:
        return None
    return Pod(
        name=metadata["name"],
        part=part,
        role=_role(labels.get(names.ROLE)),
        phase=_phase(status),
        created_ms=millis_of(metadata["creationTimestamp"]),
        node=spec.get("nodeName"),
        ip=status.get("podIP"),
        ready=_condition(status, "Ready").get("status") == "True",
        terminating="deletionTimestamp" in metadata,
        restarts=sum(c.get("restartCount", 0) for c in status.get("containerStatuses") or ()),
        digests=Digests(notes.get(names.QUERY, ""), notes.get(names.SETTINGS, "")),
        revision=notes.get(names.REVISION, ""),
        spread=Spread(notes.get(names.SPREAD, Spread.PREFERRED)),
        trouble=next(_troubles(status), None),
        unschedulable=_unschedulable(status),
        certificate=int(notes.get(names.CERTIFICATE, "0")),
        uid=metadata["uid"],
        evicted=_condition(status, "DisruptionTarget").get("reason") == "EvictionByEvictionAPI",
        death=max(_deaths(status), key=lambda death: death.at_ms or 0, default=None),
        memory_limit=next(_memory_limits(spec), ""),
    )


def trial_of(raw: Json) -> Trial | None:
    metadata, status = raw["metadata"], raw.get("status") or {}
    labels, notes = metadata.get("labels") or {}, metadata.get("annotations") or {}
    if names.TRIAL not in labels:
        return None
    asks, going = notes.get(names.SETTINGS, ""), "deletionTimestamp" in metadata
    return Trial(
        metadata["name"], labels[names.TRIAL], asks, _phase(status) is Phase.RUNNING and not going, going
    )


def _role(label: str | None) -> Role | None:
    """None: an earlier version used other words; the label will be corrected."""
    return Role(label) if label in list(Role) else None


def _phase(status: Json) -> Phase:
    try:
        return Phase(status.get("phase", "Pending"))
    except ValueError:
        return Phase.UNKNOWN


def _troubles(status: Json) -> Iterator[str]:
    """What is wrong with the containers, in Kubernetes' words."""
    if status.get("phase") == "Failed" and status.get("reason"):
        yield _sentence(status["reason"], status.get("message"))
    for container in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting and waiting.get("reason") not in _PATIENCE:
            ended = (container.get("lastState") or {}).get("terminated") or {}
            yield _sentence(waiting.get("reason", "Waiting"), ended.get("message") or waiting.get("message"))
        ended = (container.get("state") or {}).get("terminated") or {}
        if ended.get("exitCode"):
            yield _sentence(ended.get("reason", "Error"), ended.get("message"))


def _memory_limits(spec: Json) -> Iterator[str]:
    for container in spec.get("containers") or ():
        if limit := ((container.get("resources") or {}).get("limits") or {}).get("memory"):
            yield str(limit)


def _deaths(status: Json) -> Iterator[Death]:
    for container in status.get("containerStatuses") or ():
        if ended := (container.get("lastState") or {}).get("terminated"):
            said = _sentence(ended.get("reason") or "Error", ended.get("message"))
            yield Death(said, millis(ended.get("finishedAt")), ended.get("reason") == OOM_KILLED)


def _sentence(reason: str, message: str | None) -> str:
    """The last line of the message: processes end with their error."""
    lines = (message or "").strip().splitlines()
    return f"{reason}: {lines[-1][:400]}" if lines else reason


def _unschedulable(status: Json) -> str | None:
    scheduled = _condition(status, "PodScheduled")
    if scheduled.get("status") == "False" and scheduled.get("reason") == "Unschedulable":
        return str(scheduled.get("message") or "no node")
    return None


def _condition(status: Json, kind: str) -> Json:
    return next((c for c in status.get("conditions") or () if c.get("type") == kind), {})


def is_owned_by(raw: Json, uid: str) -> bool:
    return any(owner["uid"] == uid for owner in raw["metadata"].get("ownerReferences") or ())


def is_left_over(raw: Json, uid: str) -> bool:
    """Whether it belongs to another StreamJob, or to none that exists. Executors belong to their driver's
    pod."""
    owners = raw["metadata"].get("ownerReferences") or ()
    return not is_owned_by(raw, uid) and (not owners or any(owner["kind"] == KIND for owner in owners))


def other_of(kind: str, raw: Json, job: str, uid: str) -> Other | None:
    """None for an object of the job, or of an earlier job of the same name: that one will be deleted."""
    owners = raw["metadata"].get("ownerReferences") or ()
    jobs = [owner["name"] for owner in owners if owner["kind"] == KIND]
    if is_owned_by(raw, uid) or job in jobs:
        return None
    return Other(kind, raw["metadata"]["name"], next(iter(jobs), ""))


def lease_of(raw: Json) -> Lease:
    metadata, spec = raw["metadata"], raw.get("spec") or {}
    labels = metadata.get("labels") or {}
    return Lease(
        name=metadata["name"],
        job=labels.get(names.JOB, ""),
        subjob=labels.get(names.SUBJOB, ""),
        holder=spec.get("holderIdentity") or None,
        epoch=spec.get("leaseTransitions") or 0,
        successor=(metadata.get("annotations") or {}).get(names.SUCCESSOR) or None,
    )


def node_of(raw: Json) -> Node:
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    taints = spec.get("taints") or ()
    closed = any(taint.get("effect") in ("NoSchedule", "NoExecute") for taint in taints)
    going = any(str(taint.get("key")).startswith(_REMOVAL) for taint in taints)
    return Node(
        name=raw["metadata"]["name"],
        ready=_condition(status, "Ready").get("status") == "True",
        schedulable=not spec.get("unschedulable") and not closed and not going,
        cordoned=bool(spec.get("unschedulable")) or going,
    )


def orders_of(annotations: Mapping[str, str]) -> dict[str, Order]:
    """`move.understudy.dev/SUBJOB: NODE`, or `standby`; after ` by ` the name of the Migration that asks."""
    prefix = f"{names.MOVE}/"
    found = {key.removeprefix(prefix): text for key, text in annotations.items() if key.startswith(prefix)}
    return {subjob: _order(text) for subjob, text in found.items()}


def _order(text: str) -> Order:
    where, _, by = text.partition(" by ")
    return Order(None if where.strip() in ("", "standby") else where.strip(), by.strip())


def incident_of(raw: Json) -> IncidentSeen:
    metadata = raw["metadata"]
    created = millis_of(metadata["creationTimestamp"])
    return IncidentSeen(metadata["name"], created, raw.get("spec") or {}, raw.get("status") or {})


def role_has_executors(raw: Json) -> bool:
    return any("pods" in (rule.get("resources") or ()) for rule in raw.get("rules") or ())


def role_leases(raw: Json) -> frozenset[str]:
    rules = [rule for rule in raw.get("rules") or () if "leases" in (rule.get("resources") or ())]
    return frozenset(name for rule in rules for name in rule.get("resourceNames") or ())
