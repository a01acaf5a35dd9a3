"""The objects of a job as Kubernetes wants them. All belong to the StreamJob, and are deleted with it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from understudy.control import names
from understudy.control.times import iso_ms
from understudy.kubernetes.settings import OperatorPods
from understudy.model.job import StreamJob
from understudy.model.load import API_VERSION, KIND, to_manifest
from understudy.model.sources import Source
from understudy.model.status import Role

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Owner:
    """The StreamJob to which the objects belong."""

    name: str
    namespace: str
    uid: str

    def reference(self) -> Json:
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
        }

    def metadata(
        self, name: str, labels: Mapping[str, str] | None = None, annotations: Mapping[str, str] | None = None
    ) -> Json:
        common = {
            "app.kubernetes.io/name": "understudy",
            "app.kubernetes.io/managed-by": "understudy",
            "app.kubernetes.io/instance": self.name,
            names.JOB: self.name,
        }
        found: Json = {
            "name": name,
            "namespace": self.namespace,
            "labels": {**common, **(labels or {})},
            "ownerReferences": [self.reference()],
        }
        return found | ({"annotations": dict(annotations)} if annotations else {})


# ---- the account of a job's pods -------------------------------------------------------------------------


def service_account(owner: Owner) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": owner.metadata(names.account(owner.name)),
        "automountServiceAccountToken": False,
    }


# What a driver needs of pods to have executors. The right to create objects can't be limited to names.
EXECUTOR_RULE: Final[Json] = {
    "apiGroups": [""],
    "resources": ["pods"],
    "verbs": ["create", "delete", "deletecollection", "get", "list", "watch"],
}


def role(owner: Owner, leases: frozenset[str], executors: bool) -> Json:
    """The job's own Leases, its own record, pods if it has executors; nothing else."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": owner.metadata(names.account(owner.name)),
        "rules": [
            {
                "apiGroups": ["coordination.k8s.io"],
                "resources": ["leases"],
                "resourceNames": sorted(leases),
                "verbs": ["get", "update", "patch"],
            },
            {
                "apiGroups": [""],
                "resources": ["configmaps"],
                "resourceNames": [names.run(owner.name)],
                "verbs": ["get"],
            },
            *([EXECUTOR_RULE] if executors else []),
        ],
    }


def role_binding(owner: Owner) -> Json:
    name = names.account(owner.name)
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": owner.metadata(name),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": owner.namespace}],
    }


# ---- what pods read and agree on -------------------------------------------------------------------------


def manifest(owner: Owner, job: StreamJob, declared: StreamJob, revision: str) -> Json:
    """What pods read (`job`, in which alternatives replace failed subjobs), and the manifest as it was
    accepted."""
    accepted, moved = to_manifest(declared), to_manifest(in_pods(job))
    data = {"job.yaml": _yaml(moved)} | ({"accepted.yaml": _yaml(accepted)} if moved != accepted else {})
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": owner.metadata(
            names.manifest(owner.name, revision), annotations={names.REVISION: revision}
        ),
        "immutable": True,
        "data": data,
    }


def failure_process(owner: Owner, name: str, template: Mapping[str, Any]) -> Json:
    """A Job as it was declared, under a name of ours and owned by the StreamJob."""
    given = template.get("metadata") or {}
    metadata = owner.metadata(name, given.get("labels") or {}, given.get("annotations") or {})
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template.get("spec") or {}}


def accepted_text(config_map: Json) -> str:
    """The manifest as it was accepted."""
    data = config_map.get("data") or {}
    return str(data.get("accepted.yaml") or data.get("job.yaml") or "")


def in_pods(job: StreamJob) -> StreamJob:
    """The job with files of a source with a volume at the place where the volume is mounted."""
    return job.model_copy(update={"sources": tuple(_mounted(source) for source in job.sources)})


def _mounted(source: Source) -> Source:
    if not source.origin.pod_volume:
        return source
    return source.with_origin(source.origin.mounted_at(source_folder(source.name)))


def source_folder(name: str) -> str:
    return f"/sources/{name}"


def _yaml(manifest: Json) -> str:
    return str(yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True))


def record(owner: Owner, entries: Mapping[str, str | None]) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": owner.metadata(names.run(owner.name)),
        "data": {key: text for key, text in entries.items() if text is not None},
    }


def service(owner: Owner, subjob: str) -> Json:
    """Headless, and including pods that are not ready: consumers wait at a standby that is about to be
    promoted."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": owner.metadata(names.service(owner.name, subjob), {names.SUBJOB: subjob}),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {names.JOB: owner.name, names.SUBJOB: subjob},
            "ports": [
                {"name": "flight", "port": names.FLIGHT_PORT, "protocol": "TCP"},
                {"name": "status", "port": names.STATUS_PORT, "protocol": "TCP"},
            ],
        },
    }


def budget(owner: Owner, subjob: str) -> Json:
    """Forbids to evict the primary: it moves first, and then is no longer primary. The budget is a number,
    because the API server can't compute a share of pods that no workload of its own owns."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": owner.metadata(names.budget(owner.name, subjob), {names.SUBJOB: subjob}),
        "spec": {
            "minAvailable": 1,
            "selector": {
                "matchLabels": {names.JOB: owner.name, names.SUBJOB: subjob, names.ROLE: str(Role.PRIMARY)}
            },
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }


def network_policy(owner: Owner, operator: OperatorPods | None) -> Json:
    """Allows connections among the job's pods, orders of the operator, and from elsewhere only the status
    page."""
    mine = {"matchLabels": {names.JOB: owner.name}}
    spec: Json = {
        "podSelector": mine,
        "policyTypes": ["Ingress"],
        "ingress": [
            {"from": [{"podSelector": mine}]},
            *([_orders_from(operator)] if operator else []),
            {"ports": [{"port": names.STATUS_PORT, "protocol": "TCP"}]},
        ],
    }
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": owner.metadata(names.account(owner.name), annotations={names.DIGEST: _digest(spec)}),
        "spec": spec,
    }


def _orders_from(operator: OperatorPods) -> Json:
    """One entry, so that both namespace and labels must match."""
    its_pods = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": operator.namespace}},
        "podSelector": {"matchLabels": dict(operator.labels)},
    }
    return {"from": [its_pods], "ports": [{"port": names.FLIGHT_PORT, "protocol": "TCP"}]}


def _digest(spec: Json) -> str:
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:10]


def is_same(found: Json, wanted: Json) -> bool:
    """Whether an object is as this operator would make it now. Compared by a digest, because the API server
    may fill in omitted fields."""
    digests = [(body["metadata"].get("annotations") or {}).get(names.DIGEST) for body in (found, wanted)]
    return digests[0] == digests[1]


def secret(owner: Owner, name: str, data: Json) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": owner.metadata(name),
        "immutable": True,
        "data": data,
    }


def lease(
    owner: Owner, subjob: str, holder: str | None, address: str | None, epoch: int, now_ms: int
) -> Json:
    annotations = {names.ADDRESS: address} if address else None
    spec: Json = {"leaseTransitions": epoch}
    if holder:
        spec |= {"holderIdentity": holder, "acquireTime": f"{iso_ms(now_ms)[:-1]}000Z"}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": owner.metadata(names.lease(owner.name, subjob), {names.SUBJOB: subjob}, annotations),
        "spec": spec,
    }


def incident(owner: Owner, name: str, spec: Mapping[str, Any]) -> Json:
    part = {names.SINK: str(spec["sink"])} if spec.get("sink") else {names.SUBJOB: str(spec["subjob"])}
    return {
        "apiVersion": API_VERSION,
        "kind": "Incident",
        "metadata": owner.metadata(name, part),
        "spec": dict(spec),
    }


def event(owner: Owner, severity: str, reason: str, message: str, now_ms: int, name: str) -> Json:
    moment = f"{iso_ms(now_ms)[:-1]}000Z"
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": owner.namespace},
        "eventTime": moment,
        "type": severity,
        "reason": reason,
        "action": reason,
        "note": message[:1024],
        "regarding": {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "name": owner.name,
            "namespace": owner.namespace,
            "uid": owner.uid,
        },
        "reportingController": "understudy.dev/operator",
        "reportingInstance": "understudy-operator",
    }
