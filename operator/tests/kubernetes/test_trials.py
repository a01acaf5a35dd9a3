"""Pods that wait for room."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from understudy.control.intents import CreateInstance, CreateTrial
from understudy.control.observed import Spread, Trial
from understudy.control.revision import NO_DIGESTS
from understudy.kubernetes.objects import Owner
from understudy.kubernetes.parse import pod_of, trial_of
from understudy.kubernetes.pods import instance_pod, trial_pod
from understudy.kubernetes.settings import PodSettings
from understudy.model.status import Role

from ..control.jobs import with_spark

Json = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
OWNER = Owner("demo", "apps", "uid-job")
SETTINGS = PodSettings(image="understudy:test", node_selector={"disk": "ssd"})
JOB = with_spark(driver={"cores": 2, "memory": "3Gi"})
INSTANCE = CreateInstance(
    "demo-keep-0", "keep", Role.PRIMARY, Spread.REQUIRED, frozenset(), None, NO_DIGESTS, "r", 0, ""
)


def test_a_trial_asks_for_what_an_instance_asks_for() -> None:
    trial = trial_pod(
        OWNER, JOB, CreateTrial("demo-keep-room0", "keep", frozenset({"n1"}), "asks", ""), SETTINGS
    )
    instance = instance_pod(OWNER, JOB, INSTANCE, SETTINGS)
    (one,), (other,) = trial["spec"]["containers"], instance["spec"]["containers"]
    assert (one["image"], one["resources"]) == (other["image"], other["resources"])
    assert one["securityContext"] == other["securityContext"]
    for field in ("nodeSelector", "tolerations", "securityContext"):
        assert trial["spec"][field] == instance["spec"][field]
    assert "n1" in str(trial["spec"]["affinity"]["nodeAffinity"])


def test_a_trial_with_anti_affinity_does_not_keep_away_an_instance_that_must_share_its_node() -> None:
    def made(spread: Spread) -> Json:
        return instance_pod(OWNER, JOB, replace(INSTANCE, spread=spread), SETTINGS)

    (term,) = made(Spread.REQUIRED)["spec"]["affinity"]["podAntiAffinity"][REQUIRED]
    (left_out,) = term["labelSelector"]["matchExpressions"]
    assert left_out == {"key": "understudy.dev/shares", "operator": "DoesNotExist"}
    assert "understudy.dev/shares" in made(Spread.PREFERRED)["metadata"]["labels"]
    assert "understudy.dev/shares" not in made(Spread.REQUIRED)["metadata"]["labels"]


def test_a_trial_is_no_instance_and_is_not_found_by_the_service() -> None:
    raw = trial_pod(OWNER, JOB, CreateTrial("demo-keep-room0", "keep", frozenset(), "asks", ""), SETTINGS)
    raw["metadata"] |= {"creationTimestamp": "2026-01-01T00:00:00Z", "uid": "u"}
    assert "understudy.dev/subjob" not in raw["metadata"]["labels"]
    assert pod_of(raw) is None
    assert trial_of(raw) == Trial("demo-keep-room0", "keep", "asks")
    raw["status"] = {"phase": "Running"}
    assert trial_of(raw) == Trial("demo-keep-room0", "keep", "asks", runs=True)
