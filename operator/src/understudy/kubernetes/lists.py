"""The job's objects, as the API server has them.

Pods and Leases change by themselves and are read each time. The other objects change when the operator
changes them (or a person deletes them), so they are read after each act, and otherwise every five minutes:
with hundreds of jobs this keeps looks at calm jobs cheap. Nodes are the same for all jobs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from understudy.control import names
from understudy.control.observed import Access, IncidentSeen, Lease, Node, Pod, Safeguards, Trial
from understudy.control.taken import Other
from understudy.kubernetes import objects
from understudy.kubernetes.act import BATCH, CORE, LEASES, NETWORKING, OURS, POLICY, RBAC
from understudy.kubernetes.api import Api, ApiError
from understudy.kubernetes.objects import Owner
from understudy.kubernetes.parse import (
    incident_of,
    is_left_over,
    is_owned_by,
    lease_of,
    node_of,
    other_of,
    pod_of,
    role_has_executors,
    role_leases,
    trial_of,
)
from understudy.kubernetes.settings import PodSettings
from understudy.kubernetes.writes import Key, Version, Versions, versions
from understudy.model.job import StreamJob

KEPT_SECONDS: Final = 300.0
NODES_SECONDS: Final = 1.0

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Foundation:
    """Objects that change only when the operator acts."""

    services: frozenset[str]
    config_maps: Mapping[str, Json]
    access: Access
    safeguards: Safeguards
    incidents: tuple[IncidentSeen, ...]
    remains: tuple[str, ...]
    versions: Versions


@dataclass(frozen=True, slots=True)
class Objects:
    pods: tuple[Pod, ...]
    trials: tuple[Trial, ...]
    leases: tuple[Lease, ...]
    nodes: tuple[Node, ...]
    foundation: Foundation
    remains: tuple[str, ...]
    """Objects of an earlier job with the same name."""
    versions: Versions
    """The versions of all these objects, as they were read."""


class _Owned:
    """Lists the objects that one job owns. Objects of an earlier job with the same name will be deleted soon,
    and are not taken for this job's."""

    def __init__(self, api: Api, namespace: str, name: str, uid: str) -> None:
        self._api, self.owner = api, Owner(name, namespace, uid)
        self.remains: list[str] = []
        self.versions: dict[Key, Version] = {}

    def __call__(self, group: str, plural: str) -> list[Json]:
        path = f"{group}/namespaces/{self.owner.namespace}/{plural}"
        found = self._api.list(path, labelSelector=f"{names.JOB}={self.owner.name}")
        self.remains += [
            f"{plural}/{f['metadata']['name']}" for f in found if is_left_over(f, self.owner.uid)
        ]
        mine = [f for f in found if is_owned_by(f, self.owner.uid)]
        self.versions |= versions(group, plural, mine)
        return mine


class Lists:
    def __init__(self, api: Api, settings: PodSettings) -> None:
        self._api = api
        self._settings = settings
        self._foundations: dict[tuple[str, str], tuple[float, str, Foundation]] = {}
        self._nodes: tuple[float, tuple[Node, ...]] = (-NODES_SECONDS, ())
        self._lock = threading.Lock()

    def of(self, namespace: str, name: str, uid: str) -> Objects:
        owned = _Owned(self._api, namespace, name, uid)
        found = owned(CORE, "pods")
        pods = tuple(pod for raw in found if (pod := pod_of(raw)))
        trials = tuple(trial for raw in found if (trial := trial_of(raw)))
        leases = tuple(lease_of(lease) for lease in owned(LEASES, "leases"))
        foundation = self._foundation(namespace, name, uid)
        remains, read = (*owned.remains, *foundation.remains), {**foundation.versions, **owned.versions}
        return Objects(pods, trials, leases, self.nodes(), foundation, remains, read)

    def others(self, owner: Owner, job: StreamJob, certificate: int) -> Iterator[Other]:
        """Objects of the namespace that are not the job's, of all kinds that it needs. `certificate`: the
        number of its next one."""
        for kind, group, plural in self._kinds(job):
            found = self._api.list_metadata(f"{group}/namespaces/{owner.namespace}/{plural}")
            yield from (other for raw in found if (other := other_of(kind, raw, owner.name, owner.uid)))
        numbers = sorted({1, certificate}) if self._settings.mutual_tls else ()
        secrets = [names.authority(owner.name), *(names.certificate(owner.name, n) for n in numbers)]
        for name in secrets if numbers else ():
            found_one = self._api.find(f"{CORE}/namespaces/{owner.namespace}/secrets/{name}")
            if found_one and (other := other_of("Secret", found_one, owner.name, owner.uid)):
                yield other

    def _kinds(self, job: StreamJob) -> Iterator[tuple[str, str, str]]:
        yield "Pod", CORE, "pods"
        yield "Service", CORE, "services"
        yield "ConfigMap", CORE, "configmaps"
        yield "ServiceAccount", CORE, "serviceaccounts"
        yield "Lease", LEASES, "leases"
        yield "Role", RBAC, "roles"
        yield "RoleBinding", RBAC, "rolebindings"
        if self._settings.disruption_budgets:
            yield "PodDisruptionBudget", POLICY, "poddisruptionbudgets"
        if self._settings.network_policies:
            yield "NetworkPolicy", NETWORKING, "networkpolicies"
        if any(s.ha.on_permanent_failure and s.ha.on_permanent_failure.process for s in job.subjobs):
            yield "Job", BATCH, "jobs"

    def forget(self, namespace: str, name: str) -> None:
        """Drops what is cached: an object was changed, or the job is gone."""
        self._foundations.pop((namespace, name), None)

    def nodes(self) -> tuple[Node, ...]:
        """Empty if the operator may not read them."""
        with self._lock:
            read_at, nodes = self._nodes
            if time.monotonic() - read_at >= NODES_SECONDS:
                nodes = self._read_nodes()
                self._nodes = (time.monotonic(), nodes)
            return nodes

    def _read_nodes(self) -> tuple[Node, ...]:
        try:
            return tuple(node_of(node) for node in self._api.list(f"{CORE}/nodes"))
        except ApiError:
            return ()

    def _foundation(self, namespace: str, name: str, uid: str) -> Foundation:
        read_at, owner, kept = self._foundations.get((namespace, name)) or (0.0, "", None)
        if kept is not None and owner == uid and time.monotonic() - read_at < KEPT_SECONDS:
            return kept
        found = self._read_foundation(_Owned(self._api, namespace, name, uid), names.account(name))
        if not found.remains:
            self._foundations[namespace, name] = (time.monotonic(), uid, found)
        return found

    def _read_foundation(self, owned: _Owned, account: str) -> Foundation:
        roles = {role["metadata"]["name"]: role for role in owned(RBAC, "roles")}
        return Foundation(
            services=_names(owned(CORE, "services")),
            config_maps={c["metadata"]["name"]: c for c in owned(CORE, "configmaps")},
            access=Access(
                account=account in _names(owned(CORE, "serviceaccounts")),
                leases=role_leases(roles[account]) if account in roles else None,
                executors=account in roles and role_has_executors(roles[account]),
                bound=account in _names(owned(RBAC, "rolebindings")),
            ),
            safeguards=self._safeguards(owned),
            incidents=tuple(incident_of(incident) for incident in owned(OURS, "incidents")),
            remains=tuple(owned.remains),
            versions=owned.versions,
        )

    def _safeguards(self, owned: _Owned) -> Safeguards:
        budgets = _names(owned(POLICY, "poddisruptionbudgets")) if self._settings.disruption_budgets else None
        policy = self._is_fenced(owned) if self._settings.network_policies else None
        return Safeguards(budgets, policy, self._settings.mutual_tls, self._settings.certificate_ms)

    def _is_fenced(self, owned: _Owned) -> bool:
        wanted = objects.network_policy(owned.owner, self._settings.operator)
        return any(objects.is_same(found, wanted) for found in owned(NETWORKING, "networkpolicies"))


def _names(found: list[Json]) -> frozenset[str]:
    return frozenset(each["metadata"]["name"] for each in found)
