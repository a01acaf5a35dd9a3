"""A sink's node is cut off for a minute and comes back: for a moment there are two sinks, and one writes.

The volume is the same for both. Needs the test cluster.
"""

from __future__ import annotations

import time

import pytest
from kubectl import Job, Json, Namespace, node_of, until
from numbers_job import kept_job
from story import (
    REPLACED,
    assert_flowing,
    assert_nothing_lost,
    assert_right,
    has_faults,
    hurt,
    node_is_ready,
    started,
    wait_for_incident,
    wait_until_protected,
)

pytestmark = pytest.mark.skipif(not has_faults(), reason="the nodes of this cluster cannot be hurt")

NAME = "sinks"
RATE = 200
CUT_SECONDS = 60
RETURN_SECONDS = 20  # in which the earlier one would write, if it could


@pytest.fixture(scope="module")
def job(namespace: Namespace) -> Job:
    return started(namespace, kept_job(NAME, RATE))


def sink_pod(job: Job) -> Json | None:
    return job.namespace.get("pod", f"{NAME}-sink-kept")


def wait_for_successor(job: Job, uid: str) -> Json:
    def successor() -> Json | None:
        pod = sink_pod(job)
        return pod if pod is not None and pod["metadata"]["uid"] != uid and job.written("kept") else None

    return until("the sink was made again and has tuples", successor, REPLACED)


def test_a_sink_that_was_cut_off_and_comes_back_beside_its_successor_does_not_write(job: Job) -> None:
    wait_until_protected(job)
    pod = sink_pod(job)
    assert pod is not None
    node, began = node_of(pod), time.monotonic()
    hurt(node, "partition")
    try:
        successor = wait_for_successor(job, pod["metadata"]["uid"])
        print(f"made again after {time.monotonic() - began:.0f} s")
        assert node_of(successor) != node
        time.sleep(max(0.0, began + CUT_SECONDS - time.monotonic()))
    finally:
        hurt(node, "heal")
    time.sleep(RETURN_SECONDS)
    until(f"{node} is ready", lambda: node_is_ready(node), REPLACED)
    assert_flowing(job, seconds=60)
    wait_until_protected(job)
    assert wait_for_incident(job, "sink", f"{NAME}-sink-kept")["spec"]["sink"] == "kept"


def test_after_that_every_tuple_came_out_once_and_in_order(job: Job) -> None:
    assert_right(job)
    assert_nothing_lost(job)
