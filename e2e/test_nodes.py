"""Whole nodes and the API server fail while tuples flow: lost, cut off and healed, drained. Needs the test
cluster.

Node loss does not wait for Kubernetes: output resumes while the node is still shown as ready.
"""

from __future__ import annotations

import subprocess
import time

import pytest
from kubectl import Job, Namespace, name_of, node_of, run, until
from numbers_job import kept_job
from story import (
    TAKE_OVER,
    apiserver,
    assert_flowing,
    assert_nothing_lost,
    assert_right,
    has_faults,
    hurt,
    killer_of,
    node_is_ready,
    node_of_pod,
    started,
    wait_for_take_over,
    wait_until_protected,
)

pytestmark = pytest.mark.skipif(not has_faults(), reason="the nodes of this cluster cannot be hurt")

NAME = "nodes"
RATE = 200


@pytest.fixture(scope="module")
def job(namespace: Namespace) -> Job:
    return started(namespace, kept_job(NAME, RATE))


def produced(job: Job, pod: str) -> int:
    page = job.page(pod)
    return int(page["outputs"]["keep"]["next"]) if page and "outputs" in page else 0


def assert_producing(job: Job, pod: str) -> None:
    before = until(f"{pod} produces", lambda: produced(job, pod), TAKE_OVER)
    until(f"{pod} produces more than {before}", lambda: produced(job, pod) > before, TAKE_OVER)


def test_a_lost_node_is_taken_over_from_while_kubernetes_still_shows_it_ready(job: Job) -> None:
    wait_until_protected(job)
    primary, epoch = job.lease("keep")
    node = node_of_pod(job, primary)
    hurt(node, "lose")
    try:
        successor = wait_for_take_over(job, "keep", primary, epoch)
        assert_producing(job, successor)
        assert node_is_ready(node), "Kubernetes was faster: this proves nothing"
        wait_until_protected(job)
        assert all(node_of(pod) != node for pod in job.pods(subjob="keep") if name_of(pod) != primary)
    finally:
        hurt(node, "start")
    assert_flowing(job, seconds=120)


def test_a_node_that_is_cut_off_is_fenced_and_after_it_heals_there_is_one_primary(job: Job) -> None:
    wait_until_protected(job)
    primary, epoch = job.lease("keep")
    node = node_of_pod(job, primary)
    hurt(node, "partition")
    try:
        successor = wait_for_take_over(job, "keep", primary, epoch)
        assert_producing(job, successor)
    finally:
        hurt(node, "heal")

    def fenced() -> bool:
        page = job.page(primary)
        return page is None or page.get("role") != "primary"

    until(f"{primary} no longer leads", fenced, 60)
    wait_until_protected(job)
    assert_flowing(job, seconds=60)


def is_protected_from_eviction(job: Job, primary: str) -> bool:
    """The budget goes by the label, which follows the Lease; whoever is evicted before that is succeeded, not
    moved."""
    budget = job.namespace.get("poddisruptionbudget", f"{NAME}-keep-primary") or {"status": {}}
    labelled = [name_of(pod) for pod in job.pods(role="primary")]
    return labelled == [primary] and budget["status"].get("currentHealthy") == 1


def test_a_drained_node_is_left_without_a_loss(job: Job) -> None:
    wait_until_protected(job)
    primary, _ = job.lease("keep")
    node = node_of_pod(job, primary)
    until(f"the budget protects {primary}", lambda: is_protected_from_eviction(job, primary), TAKE_OVER)
    try:
        drained = [
            "kubectl",
            "drain",
            node,
            "--ignore-daemonsets",
            "--delete-emptydir-data",
            "--timeout=150s",
        ]
        done = subprocess.run(drained, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        wait_until_protected(job)
        assert all(node_of(pod) != node for pod in job.pods())
        moved = job.subjob("keep")["lastMove"]
        assert (moved["from"], moved["succeeded"], moved["lost"]) == (primary, True, 0), (
            "evicted, and not moved before"
        )
    finally:
        run("kubectl", "uncordon", node)
    assert_flowing(job, seconds=60)


def test_a_primary_killed_while_the_api_server_is_away_is_taken_over_from_when_it_is_back(job: Job) -> None:
    """The Lease decides who writes, and it cannot be asked: nobody writes meanwhile, and nothing is lost.

    The kubelet starts the killed process again; whether that one or the standby is first to be asked again,
    one leads. Last of the faults: the scheduler may go by what it knew of the nodes before for half a minute
    more.
    """
    wait_until_protected(job)
    primary, epoch = job.lease("keep")
    kill = killer_of(job, primary)
    apiserver("stop")
    try:
        kill()
        time.sleep(30)
    finally:
        apiserver("start")
    until("somebody leads with a later epoch", lambda: job.lease("keep")[1] > epoch, 60)
    assert_flowing(job, seconds=60)
    wait_until_protected(job)


def test_after_all_that_every_tuple_came_out_once_and_in_order(job: Job) -> None:
    assert_right(job)
    assert_nothing_lost(job)
