"""The cluster as `Observed`: lists of the job's objects, and what its processes say of themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from understudy.backends.kubernetes.act import CORE, LEASES, NETWORKING, OURS, POLICY, RBAC
from understudy.backends.kubernetes.admitted import Admitted
from understudy.backends.kubernetes.api import Api, ApiError
from understudy.backends.kubernetes.distances import NodeDistances
from understudy.backends.kubernetes.poll import Poller
from understudy.backends.kubernetes.settings import PodSettings
from understudy.backends.kubernetes.sight import (
    incident_of,
    is_left_over,
    is_owned_by,
    lease_of,
    millis_of,
    node_of,
    pod_of,
    role_leases,
)
from understudy.control import names
from understudy.control.admission import taken_names
from understudy.control.observed import Access, Lease, Node, Observed, Pod, Run, Safeguards
from understudy.control.record import read_record
from understudy.model.job import StreamJob
from understudy.model.refusal import Refusal
from understudy.runtime.clock import now_ms

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Objects:
    """The job's objects, as the API server has them."""

    pods: tuple[Pod, ...]
    leases: tuple[Lease, ...]
    services: frozenset[str]
    config_maps: Mapping[str, Json]
    access: Access
    safeguards: Safeguards
    nodes: tuple[Node, ...]
    incidents: tuple[Json, ...]
    remains: tuple[str, ...]


class Observer:
    """Reads everything anew each time, but for what cannot have changed."""

    def __init__(self, api: Api, poller: Poller, admitted: Admitted, settings: PodSettings) -> None:
        self._api = api
        self._poller = poller
        self._admitted = admitted
        self._settings = settings
        self._distances = NodeDistances()

    def find(self, namespace: str, name: str) -> Json | None:
        return self._api.find(f"{OURS}/namespaces/{namespace}/streamjobs/{name}")

    def observe(self, body: Json) -> Observed:
        metadata = body["metadata"]
        found = self._objects(metadata["namespace"], metadata["name"], metadata["uid"])
        record = found.config_maps.get(names.run(metadata["name"]))
        run = read_record(record.get("data") or {}) if record else None
        running = self._running(metadata["name"], run, found.config_maps)
        wanted = self._wanted(body, run, running, found.leases)
        job = wanted if isinstance(wanted, StreamJob) else running
        pages = self._poller.pages(found.pods)
        return Observed(
            now_ms=now_ms(),
            name=metadata["name"],
            namespace=metadata["namespace"],
            generation=metadata["generation"],
            created_ms=millis_of(metadata["creationTimestamp"]),
            wanted=wanted,
            running=running,
            plans=self._admitted.plans(job),
            run=run,
            deleted="deletionTimestamp" in metadata,
            remains=found.remains,
            pods=found.pods,
            leases=found.leases,
            services=found.services,
            manifests=_revisions(metadata["name"], found.config_maps),
            access=found.access,
            safeguards=found.safeguards,
            nodes=found.nodes,
            placement=self._settings.placement,
            distances=self._distances.learn(found.pods, pages),
            pages=pages,
            incidents=tuple(incident_of(incident) for incident in found.incidents),
            status=body.get("status") or {},
        )

    # ---- what is asked for, what runs

    def _wanted(
        self, body: Json, run: Run | None, running: StreamJob | None, leases: tuple[Lease, ...]
    ) -> StreamJob | tuple[Refusal, ...]:
        """What was accepted stays accepted; only another generation of the spec is looked at anew."""
        if run and running and run.generation == body["metadata"]["generation"]:
            return running
        found = self._admitted.admit(body)
        return (taken_names(found, leases) or found) if isinstance(found, StreamJob) else found

    def _running(self, name: str, run: Run | None, config_maps: Mapping[str, Json]) -> StreamJob | None:
        config_map = config_maps.get(names.manifest(name, run.revision)) if run else None
        return self._admitted.read(config_map) if config_map else None

    # ---- lists

    def _objects(self, namespace: str, name: str, uid: str) -> Objects:
        remains: list[str] = []

        def mine(group: str, plural: str) -> list[Json]:
            """What this job owns. What another of the same name owned goes soon, and is not to be mistaken for ours."""
            path = f"{group}/namespaces/{namespace}/{plural}"
            found = self._api.list(path, labelSelector=f"{names.JOB}={name}")
            remains.extend(f"{plural}/{f['metadata']['name']}" for f in found if is_left_over(f, uid))
            return [f for f in found if is_owned_by(f, uid)]

        account = names.account(name)
        roles = {role["metadata"]["name"]: role for role in mine(RBAC, "roles")}
        leases = self._api.list(f"{LEASES}/namespaces/{namespace}/leases", labelSelector=names.JOB)
        own = [lease for lease in leases if lease["metadata"]["labels"][names.JOB] == name]
        remains += [f"leases/{lease['metadata']['name']}" for lease in own if is_left_over(lease, uid)]
        return Objects(
            pods=tuple(pod for raw in mine(CORE, "pods") if (pod := pod_of(raw))),
            leases=tuple(lease_of(lease) for lease in leases),
            services=frozenset(service["metadata"]["name"] for service in mine(CORE, "services")),
            config_maps={c["metadata"]["name"]: c for c in mine(CORE, "configmaps")},
            access=Access(
                account=any(a["metadata"]["name"] == account for a in mine(CORE, "serviceaccounts")),
                leases=role_leases(roles[account]) if account in roles else None,
                bound=any(b["metadata"]["name"] == account for b in mine(RBAC, "rolebindings")),
            ),
            safeguards=self._safeguards(mine),
            nodes=self._nodes(),
            incidents=tuple(mine(OURS, "incidents")),
            remains=tuple(remains),
        )

    def _safeguards(self, mine: Callable[[str, str], list[Json]]) -> Safeguards:
        budgets = mine(POLICY, "poddisruptionbudgets") if self._settings.disruption_budgets else None
        policies = mine(NETWORKING, "networkpolicies") if self._settings.network_policies else None
        return Safeguards(
            None if budgets is None else frozenset(budget["metadata"]["name"] for budget in budgets),
            None if policies is None else bool(policies),
            self._settings.mutual_tls,
        )

    def _nodes(self) -> tuple[Node, ...]:
        """Empty where the operator may not read them."""
        try:
            return tuple(node_of(node) for node in self._api.list(f"{CORE}/nodes"))
        except ApiError:
            return ()


def _revisions(name: str, config_maps: Mapping[str, Json]) -> frozenset[str]:
    prefix = names.manifest(name, "")
    return frozenset(found.removeprefix(prefix) for found in config_maps if found.startswith(prefix))
