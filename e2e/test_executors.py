"""A subjob whose tasks run in executors: pods of their own on other nodes. One is killed, then the driver.
They call a Python function that is in a ConfigMap."""

from __future__ import annotations

import pytest
from kubectl import Job, Json, Namespace, name_of, node_of, until
from numbers_job import kept_job
from story import (
    REPLACED,
    assert_flowing,
    assert_nothing_lost,
    assert_right,
    node_of_pod,
    started,
    wait_for_take_over,
    wait_until_protected,
)

MODULE = """
from pyspark.sql import functions as F

double = F.udf(lambda v: v * 2, "bigint")


def doubled(numbers):
    return numbers.withColumn("twice", double("v"))
"""


@pytest.fixture(scope="module")
def job(namespace: Namespace) -> Job:
    body = kept_job("spread", 100)
    function = {"function": "halves:doubled", "configMap": "functions", "deterministic": True}
    made = {"schema": "number bigint, k bigint, twice bigint"}
    body["spec"]["subjobs"][0]["operators"][1] = {"python": {**function, **made}}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "functions"}}
    namespace.apply({**config, "data": {"halves.py": MODULE}})
    body["spec"]["subjobs"][0]["spark"] = {"driver": {"memory": "512Mi"}, "executors": {"instances": 1}}
    return started(namespace, body)


def executors_of(job: Job, driver: str) -> list[Json]:
    found = job.pods(role="executor", driver=driver)
    return [
        pod
        for pod in found
        if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]
    ]


def test_executors_belong_to_their_driver_and_are_on_another_node(job: Job) -> None:
    wait_until_protected(job)
    for driver in (name_of(pod) for pod in job.pods(subjob="keep")):
        (executor,) = executors_of(job, driver)
        assert [owner["name"] for owner in executor["metadata"]["ownerReferences"]] == [driver]
        assert node_of(executor) != node_of_pod(job, driver)
    assert_flowing(job)


def test_output_goes_on_when_an_executor_is_killed(job: Job) -> None:
    driver, epoch = job.lease("keep")
    (executor,) = executors_of(job, driver)
    job.namespace.kill(name_of(executor))
    others = until(
        "another executor", lambda: [e for e in executors_of(job, driver) if e != executor], REPLACED
    )
    assert name_of(others[0]) != name_of(executor)
    assert_flowing(job, seconds=60)
    assert job.lease("keep") == (driver, epoch), "an executor's loss is none of the driver's"


def test_a_killed_driver_is_taken_over_from_and_its_executors_go_with_it(job: Job) -> None:
    wait_until_protected(job)
    driver, epoch = job.lease("keep")
    job.namespace.kill(driver)
    wait_for_take_over(job, "keep", driver, epoch)
    assert_flowing(job)
    until("its executors are gone", lambda: not job.pods(role="executor", driver=driver), 60)
    wait_until_protected(job)


def test_after_all_that_every_tuple_came_out_once_and_in_order(job: Job) -> None:
    assert_right(job)
    assert_nothing_lost(job)
