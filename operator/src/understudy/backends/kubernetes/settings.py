"""What the operator is told by its Deployment: one JSON object in UNDERSTUDY_PODS, and where to look for jobs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class PodSettings:
    """What all pods of all jobs have in common."""

    image: str
    image_pull_policy: str = "IfNotPresent"
    image_pull_secrets: tuple[str, ...] = ()
    cpu_per_core_milli: int = 250
    """CPU requested per core of a driver; there is no limit, so idle standbys do not keep others waiting."""
    memory_overhead_mi: int = 1024
    """On top of the driver's memory, which is the JVM's heap: Python, queues, the JVM itself."""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> PodSettings:
        return cls(
            image=raw["image"],
            image_pull_policy=raw.get("imagePullPolicy", "IfNotPresent"),
            image_pull_secrets=tuple(raw.get("imagePullSecrets") or ()),
            cpu_per_core_milli=int(raw.get("cpuPerCoreMilli", 250)),
            memory_overhead_mi=int(raw.get("memoryOverheadMi", 1024)),
            node_selector=raw.get("nodeSelector") or {},
            tolerations=tuple(raw.get("tolerations") or ()),
        )


@dataclass(frozen=True, slots=True)
class Settings:
    pods: PodSettings
    namespaces: tuple[str, ...] = ()
    """Empty: all of them."""

    @classmethod
    def from_environment(cls) -> Settings:
        pods = PodSettings.from_json(json.loads(os.environ["UNDERSTUDY_PODS"]))
        return cls(pods, tuple(os.environ.get("UNDERSTUDY_NAMESPACES", "").split()))
