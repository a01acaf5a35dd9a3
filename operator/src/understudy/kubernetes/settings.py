"""The settings that the operator gets from its Deployment: UNDERSTUDY_PODS (one JSON object), the namespaces
of the jobs, its Lease."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from understudy.control.observed import Placement
from understudy.model.allowed import NOTHING_MORE, Allowed
from understudy.model.ha import MEMORY_OVERHEAD_MI
from understudy.model.value import parse_duration


@dataclass(frozen=True, slots=True)
class OperatorPods:
    """How the operator's own pods are recognised: they may send orders to the pods of jobs."""

    namespace: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PodSettings:
    """Settings that all pods of all jobs share."""

    image: str
    image_pull_policy: str = "IfNotPresent"
    image_pull_secrets: tuple[str, ...] = ()
    cpu_per_core_milli: int = 250
    """CPU requested per core of a driver. There is no limit, so idle standbys take nothing from other
    pods."""
    memory_overhead_mi: int = MEMORY_OVERHEAD_MI
    """On top of the driver's memory, which is the JVM's heap: Python, queues, the JVM itself."""
    disruption_budgets: bool = False
    """Make a PodDisruptionBudget for the primary of each subjob."""
    network_policies: bool = False
    """Make a NetworkPolicy for each job."""
    operator: OperatorPods | None = None
    """Which pods NetworkPolicies admit besides a job's own; None: the operator runs outside the cluster."""
    mutual_tls: bool = False
    """Give each new job certificates of its own."""
    certificate_ms: int = 30 * 86_400_000
    """Lifetime of a certificate."""
    scrape_annotations: bool = False
    """Annotate pods for a Prometheus that finds its targets by annotations."""
    placement: Placement = Placement.LATENCY
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    allowed: Allowed = NOTHING_MORE
    """What jobs may use beyond what they always may."""

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> PodSettings:
        return cls(
            image=raw["image"],
            image_pull_policy=raw.get("imagePullPolicy", "IfNotPresent"),
            image_pull_secrets=tuple(raw.get("imagePullSecrets") or ()),
            cpu_per_core_milli=int(raw.get("cpuPerCoreMilli", 250)),
            memory_overhead_mi=int(raw.get("memoryOverheadMi", MEMORY_OVERHEAD_MI)),
            disruption_budgets=bool(raw.get("disruptionBudgets")),
            network_policies=bool(raw.get("networkPolicies")),
            operator=OperatorPods(**raw["operator"]) if raw.get("operator") else None,
            mutual_tls=bool(raw.get("mutualTLS")),
            certificate_ms=round(
                parse_duration(raw.get("certificateLifetime", "720h")).total_seconds() * 1000
            ),
            scrape_annotations=bool(raw.get("scrapeAnnotations")),
            placement=Placement(raw.get("placement", Placement.LATENCY)),
            node_selector=raw.get("nodeSelector") or {},
            tolerations=tuple(raw.get("tolerations") or ()),
            allowed=Allowed.model_validate(raw.get("allow") or {}),
        )


@dataclass(frozen=True, slots=True)
class Settings:
    pods: PodSettings
    namespaces: tuple[str, ...] = ()
    """Empty: all namespaces."""
    election: tuple[str, str, str] | None = None
    """Namespace and name of the Lease that decides which operator acts, and the identity of this one; None:
    this operator always acts."""
    metrics_port: int | None = None
    """Where it answers `GET /metrics`; None: nowhere."""

    @classmethod
    def from_environment(cls) -> Settings:
        env = os.environ
        pods = PodSettings.from_json(json.loads(env["UNDERSTUDY_PODS"]))
        lease = env.get("UNDERSTUDY_ELECTION")
        election = (env["POD_NAMESPACE"], lease, env["POD_NAME"]) if lease else None
        port = env.get("UNDERSTUDY_METRICS_PORT")
        namespaces = tuple(env.get("UNDERSTUDY_NAMESPACES", "").split())
        return cls(pods, namespaces, election, int(port) if port else None)
