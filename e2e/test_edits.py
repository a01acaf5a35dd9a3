"""One job that is edited while tuples flow: other modes, a bad edit, back again; and drills that need what
was edited.

No pod is replaced by any of it. The last test compares every tuple that came out with what had to.
"""

from __future__ import annotations

from typing import Any

import pytest
from kubectl import Job, Json, Namespace, name_of, until
from numbers_job import kept_job
from story import (
    REPLACED,
    TAKE_OVER,
    assert_flowing,
    assert_nothing_lost,
    assert_right,
    drill,
    standby_of,
    started,
    wait_for_take_over,
    wait_until_protected,
)

NAME = "edited"
RATE = 200
PATIENT = {"interval": "200ms", "misses": 10}  # who is slow is not taken for dead
EXPECTED = {"recovery": "30s", "lost": 0, "duplicated": 0}


def manifest(mode: str, **ha: Any) -> Json:
    body = kept_job(NAME, RATE)
    body["spec"]["subjobs"][0]["ha"] = {"mode": mode, "guarantee": "precise", "heartbeat": PATIENT, **ha}
    return body


@pytest.fixture(scope="module")
def job(namespace: Namespace) -> Job:
    return started(namespace, manifest("passiveStandby"))


def processes(job: Job) -> set[tuple[str, int]]:
    """Which processes there are: pods, and how often each was started."""
    statuses = [
        (pod["metadata"]["uid"], pod["status"]["containerStatuses"]) for pod in job.pods(subjob="keep")
    ]
    return {(uid, sum(status["restartCount"] for status in found)) for uid, found in statuses}


def settings(job: Job) -> set[str]:
    """Digests of what the instances were told last; `change` stands for one that waits for something."""
    pages = [job.page(name_of(pod)) or {} for pod in job.pods(subjob="keep")]
    return {str(page.get("settings")) for page in pages} | {"change" for page in pages if page.get("change")}


def in_force(job: Job, mode: str, known: set[str]) -> bool:
    told = settings(job)
    return bool(job.subjob("keep")["mode"] == mode) and len(told) == 1 and told != known


def change(job: Job, mode: str, operator: Namespace | None = None, **ha: Any) -> None:
    """To this mode, with the same processes, and protected in it; the operators are killed meanwhile, if they
    are given."""
    wait_until_protected(job)
    before, known = processes(job), settings(job)
    job.namespace.apply(manifest(mode, **ha))
    if operator is not None:
        operator.kubectl("delete", "pod", "--all", "--force", "--grace-period=0")
    until(f"{mode} is in force", lambda: in_force(job, mode, known), REPLACED)
    wait_until_protected(job)
    assert processes(job) == before, "the same processes go on"
    assert_flowing(job)


def test_another_mode_comes_into_force_in_the_same_processes(job: Job) -> None:
    change(job, "activeStandby")
    assert job.subjob("keep")["guarantee"] == "precise"


def test_a_primary_that_is_cut_off_is_taken_over_from_and_comes_back_as_standby(job: Job) -> None:
    primary, epoch = job.lease("keep")
    status = drill(job, "keep", "partition", "cut-off", EXPECTED)
    print(status["message"])
    assert status["phase"] == "Passed", status
    assert job.lease("keep")[1] > epoch
    assert_flowing(job)
    wait_until_protected(job)
    assert standby_of(job, "keep") == primary
    log = job.namespace.kubectl("logs", primary)
    assert "lease store unreachable" in log, (
        "a pod that is cut off reaches the API server no more than its peers"
    )


def test_a_bad_edit_leaves_the_job_as_it_is_and_says_why(job: Job) -> None:
    before = processes(job)
    job.namespace.apply(manifest("amnesia"))
    until("the edit is refused", lambda: job.condition("Accepted").get("status") == "False", 30)
    assert "amnesia" in job.condition("Accepted")["message"]
    assert job.subjob("keep")["mode"] == "activeStandby"
    assert job.is_true("Ready")
    assert_flowing(job)
    assert processes(job) == before


def test_the_first_manifest_applied_again_brings_the_first_mode_back_though_the_operator_dies(
    job: Job, operator: Namespace
) -> None:
    change(job, "passiveStandby", operator)
    assert job.is_true("Accepted")


def test_an_overloaded_primary_moves_by_itself_once_an_edit_says_what_an_overload_is(job: Job) -> None:
    change(job, "passiveStandby", overload={"withheld": 60})
    primary, standby = job.lease("keep")[0], standby_of(job, "keep")
    status = drill(job, "keep", "overload", "too-much", {"recovery": "90s", "lost": 0, "duplicated": 0})
    print(status["message"])
    assert status["phase"] == "Passed", status
    assert status["measured"]["lost"] == status["measured"]["duplicated"] == 0
    moved = until("the move is told", lambda: job.subjob("keep").get("lastMove"), TAKE_OVER)
    print(moved["message"], moved["movedBytes"])
    assert (moved["from"], moved["to"], moved["succeeded"], moved["lost"]) == (primary, standby, True, 0)
    assert moved["pauseSeconds"] >= 0
    assert "overloaded" in moved["why"]
    incident = job.namespace.get("incident", status["incident"])
    assert incident is not None
    assert incident["spec"]["class"] == "resource"
    assert_flowing(job)


def test_a_kill_in_the_newest_mode_is_taken_over_from(job: Job) -> None:
    change(job, "upstreamBackup")
    primary, epoch = job.lease("keep")
    job.namespace.kill(primary)
    wait_for_take_over(job, "keep", primary, epoch)
    assert_flowing(job, seconds=60)


def test_after_all_that_every_tuple_came_out_once_and_in_order(job: Job) -> None:
    assert_right(job)
    assert_nothing_lost(job)
