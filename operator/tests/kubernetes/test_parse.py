"""What the operator reads of a pod."""

from __future__ import annotations

from typing import Any

from understudy.control import names
from understudy.control.observed import Death, Pod
from understudy.kubernetes.objects import Owner, incident
from understudy.kubernetes.parse import pod_of


def pod(**status: Any) -> Pod:
    labels = {names.SUBJOB: "keep", names.ROLE: "secondary"}
    metadata = {
        "name": "demo-keep-1",
        "uid": "u",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": labels,
    }
    found = pod_of({"metadata": metadata, "status": status})
    assert found is not None
    return found


def test_a_restarted_container_shows_how_it_ended_before() -> None:
    ended = {"reason": "OOMKilled", "finishedAt": "1970-01-01T00:00:07Z"}
    found = pod(
        containerStatuses=[{"restartCount": 2, "state": {"running": {}}, "lastState": {"terminated": ended}}]
    )
    assert (found.restarts, found.death) == (2, Death("OOMKilled", 7_000, out_of_memory=True))
    assert pod(containerStatuses=[{"restartCount": 0, "lastState": {}}]).death is None


def test_a_sigkill_that_was_not_for_memory_is_no_oom_kill() -> None:
    ended = {"reason": "Error", "exitCode": 137, "finishedAt": "1970-01-01T00:00:07Z"}
    death = pod(containerStatuses=[{"restartCount": 1, "lastState": {"terminated": ended}}]).death
    assert death is not None
    assert not death.out_of_memory


def test_only_a_pod_removed_by_the_eviction_api_counts_as_evicted() -> None:
    def disrupted(reason: str) -> Pod:
        return pod(conditions=[{"type": "DisruptionTarget", "status": "True", "reason": reason}])

    assert disrupted("EvictionByEvictionAPI").evicted
    assert not disrupted("DeletionByTaintManager").evicted, "its node is unreachable"
    assert not pod().evicted


def test_the_incident_of_a_sink_is_labelled_with_it() -> None:
    labels = incident(Owner("demo", "apps", "u"), "x", {"subjob": "keep", "sink": "out"})["metadata"][
        "labels"
    ]
    assert labels[names.SINK] == "out"
    assert names.SUBJOB not in labels
