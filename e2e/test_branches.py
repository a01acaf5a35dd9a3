"""Subjobs for which there is no place: no node has room, or their image can't be pulled.

Two of three nodes are filled up, the third is cordoned. What stands in asks for less; when there is room on
the two again, the subjob itself is back. And a pair that had to share a node parts when another can take one
of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import CHART, IMAGE, install
from kubectl import Job, Json, Namespace, name_of, run, until
from numbers_job import claims, kept_job
from story import (
    START,
    assert_flowing,
    assert_nothing_lost,
    assert_right,
    node_of_pod,
    standby_of,
    started,
    wait_until_protected,
)

pytestmark = pytest.mark.slow

RATE = 200
AFTER = 30
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "runAsUser": 10001,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def memory_of(node: Json) -> int:
    """What its pods may ask for, in MiB."""
    return int(node["status"]["allocatable"]["memory"].removesuffix("Ki")) // 1024


def container(**more: Any) -> Json:
    return {"name": "it", "image": IMAGE, "securityContext": RESTRICTED, **more}


def ballast(node: Json) -> Json:
    """A pod that asks for most of a node's memory and uses none."""
    asks = {"requests": {"memory": f"{memory_of(node) * 6 // 10}Mi", "cpu": "1m"}}
    spec = {"nodeName": name_of(node), "terminationGracePeriodSeconds": 0}
    holds = container(command=["sleep", "3600"], resources=asks)
    metadata = {"name": f"ballast-{name_of(node)}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**spec, "containers": [holds]}}


@pytest.fixture(scope="module")
def full(namespace: Namespace) -> Iterator[tuple[str, str]]:
    """All nodes but one are filled up, that one is cordoned: its name, and how much memory is too much."""
    nodes: list[Json] = json.loads(run("kubectl", "get", "nodes", "-o", "json"))["items"]
    *filled, free = nodes
    run("kubectl", "cordon", name_of(free))
    namespace.apply(*(ballast(node) for node in filled))
    yield name_of(free), f"{memory_of(free) // 2 | 1}Mi"  # an odd number is written as it is
    run("kubectl", "uncordon", name_of(free))


def demanding(name: str, memory: str, **on_permanent_failure: Any) -> Json:
    """A job whose subjob asks for so much; and one beside it that computes the same with less, if it is asked
    for."""
    body = kept_job(name, RATE)
    (keep,) = body["spec"]["subjobs"]
    small = {**keep, "name": "small"}
    keep |= {
        "ha": {"onPermanentFailure": {"after": f"{AFTER}s", **on_permanent_failure}},
        "spark": {"driver": {"memory": memory}},
    }
    body["spec"]["subjobs"] = [keep, *([small] if "alternative" in on_permanent_failure else [])]
    return body


def process() -> Json:
    spec = {"restartPolicy": "Never", "containers": [container(command=["true"])]}
    return {"jobTemplate": {"spec": {"backoffLimit": 0, "template": {"spec": spec}}}}


def asked(job: Job) -> set[str]:
    """What the pods of the subjob ask for."""
    return {
        pod["spec"]["containers"][0]["resources"]["requests"]["memory"] for pod in job.pods(subjob="keep")
    }


def has_run(namespace: Namespace, name: str) -> bool:
    return ((namespace.get("job", name) or {}).get("status") or {}).get("succeeded") == 1


# ---- no room ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def job(namespace: Namespace, full: tuple[str, str]) -> Job:
    return started(namespace, demanding("roomy", full[1], alternative="small"), seconds=START + 2 * AFTER)


def test_one_that_asks_for_less_stands_in_when_no_node_has_room(job: Job) -> None:
    assert asked(job) == {"1Gi"}
    assert "BranchBegun" in job.events()
    assert_flowing(job)


def test_the_failure_process_is_run_where_nothing_stands_in(
    namespace: Namespace, full: tuple[str, str]
) -> None:
    namespace.apply(*claims("hopeless", ("kept",)), demanding("hopeless", full[1], process=process()))
    hopeless = Job(namespace, "hopeless")
    until("it has run", lambda: has_run(namespace, "hopeless-keep-failed-0"), AFTER + 120)
    assert "ProcessRun" in hopeless.events()
    assert not hopeless.is_true("Ready")
    assert "Insufficient memory" in hopeless.condition("Degraded")["message"]
    namespace.kubectl("delete", "sj", "hopeless")


def test_the_subjob_itself_is_back_when_there_is_room(job: Job, full: tuple[str, str]) -> None:
    assert "stands in" in job.condition("Degraded")["message"]
    job.namespace.kubectl(
        "delete", "pod", "--field-selector=status.phase=Running", "-l", "!understudy.dev/job"
    )
    until("it is tried again", lambda: "BranchEnded" in job.events(), 60)
    until("its own pods are back", lambda: asked(job) == {full[1]}, START)
    wait_until_protected(job)
    assert_flowing(job)


def test_every_tuple_came_out_once_and_in_order_whoever_made_it(job: Job) -> None:
    assert_right(job)
    assert_nothing_lost(job)
    job.namespace.kubectl("delete", "sj", job.name)


# ---- one node for two ------------------------------------------------------------------------------------


def test_a_pair_that_had_to_share_a_node_parts_when_another_is_free(namespace: Namespace) -> None:
    job = started(namespace, kept_job("pair", RATE))
    wait_until_protected(job)
    primary, epoch = job.lease("keep")
    here = node_of_pod(job, primary)
    nodes = [name.removeprefix("node/") for name in run("kubectl", "get", "nodes", "-o", "name").split()]
    others = [node for node in nodes if node != here]
    try:
        for node in others:
            run("kubectl", "cordon", node)
        namespace.kill(standby_of(job, "keep"))
        until("they share a node", lambda: nodes_of(job) == [here, here], START)
        wait_until_protected(job)
    finally:
        for node in others:
            run("kubectl", "uncordon", node)
    until("they are apart", lambda: len(set(nodes_of(job)) - {None}) == 2, START)
    wait_until_protected(job)
    assert job.lease("keep") == (primary, epoch), "only the standby went"
    assert_right(job)
    namespace.kubectl("delete", "sj", job.name)


def nodes_of(job: Job) -> list[str | None]:
    return [pod["spec"].get("nodeName") for pod in job.pods(subjob="keep")]


# ---- no image --------------------------------------------------------------------------------------------


@pytest.fixture
def wrong_image(operator: Namespace) -> Iterator[None]:
    """New pods of jobs get an image that nobody has."""
    deployment = operator.get("deployment", "understudy")
    assert deployment is not None
    (only,) = deployment["spec"]["template"]["spec"]["containers"]
    pods = json.loads(next(entry["value"] for entry in only["env"] if entry["name"] == "UNDERSTUDY_PODS"))
    given = json.dumps({**pods, "image": "localhost/nowhere:none"})
    operator.kubectl("set", "env", "deployment/understudy", f"UNDERSTUDY_PODS={given}")
    operator.kubectl("rollout", "status", "deployment/understudy", "--timeout=120s")
    yield
    install(CHART)


def test_the_failure_process_is_run_when_the_image_cannot_be_pulled(
    namespace: Namespace, wrong_image: None
) -> None:
    namespace.apply(*claims("unseen", ("kept",)), demanding("unseen", "1Gi", process=process()))
    unseen = Job(namespace, "unseen")
    until("it has run", lambda: has_run(namespace, "unseen-keep-failed-0"), AFTER + 120)
    assert "localhost/nowhere" in unseen.condition("Degraded")["message"]


def test_it_starts_when_the_image_is_right_again(namespace: Namespace) -> None:
    unseen = Job(namespace, "unseen")
    unseen.wait_for("Ready", 2 * START)
    assert_flowing(unseen)
    assert_right(unseen)
