"""Planned moves while tuples flow: to the standby, and to another node while the operator dies. Nothing is
lost."""

from __future__ import annotations

import pytest
from kubectl import Job, Json, Namespace, name_of, node_of, run, until
from numbers_job import kept_job
from story import REPLACED, TAKE_OVER, assert_flowing, assert_right, standby_of, started, wait_until_protected

NAME = "moves"
RATE = 200


@pytest.fixture(scope="module")
def job(namespace: Namespace) -> Job:
    return started(namespace, kept_job(NAME, RATE))


def last_move(job: Job) -> Json:
    (subjob,) = job.status()["subjobs"]
    found: Json = subjob.get("lastMove") or {}
    return found


def test_an_annotation_makes_the_standby_primary(job: Job) -> None:
    wait_until_protected(job)
    primary, standby = job.lease("keep")[0], standby_of(job, "keep")
    job.namespace.kubectl("annotate", "streamjob", NAME, "move.understudy.dev/keep=standby")
    until(f"{standby} leads", lambda: job.lease("keep")[0] == standby, TAKE_OVER)
    told = until(
        "the move is told", lambda: last_move(job) if last_move(job).get("to") == standby else None, TAKE_OVER
    )
    print(told["message"])
    assert (told["from"], told["succeeded"], told["lost"]) == (primary, True, 0)
    wait_until_protected(job)
    assert standby_of(job, "keep") == primary
    assert_flowing(job)


def test_a_migration_goes_on_when_the_operator_is_killed(job: Job, operator: Namespace) -> None:
    wait_until_protected(job)
    taken = {node_of(pod) for pod in job.pods(subjob="keep")}
    nodes = run("kubectl", "get", "nodes", "-o", "name").split()
    free = next(name for node in nodes if (name := node.removeprefix("node/")) not in taken)
    kind = {"apiVersion": "understudy.dev/v1alpha1", "kind": "Migration"}
    spec = {"job": NAME, "subjob": "keep", "toNode": free}
    job.namespace.apply({**kind, "metadata": {"name": "away"}, "spec": spec})
    until("a third instance", lambda: len(job.pods(subjob="keep")) == 3, TAKE_OVER)
    operator.kubectl("delete", "pod", "--all", "--force", "--grace-period=0")

    def ended() -> Json | None:
        status = (job.namespace.get("migration", "away") or {}).get("status") or {}
        return status if status.get("phase") in ("Completed", "Failed") else None

    told = until("the migration is over", ended, REPLACED)
    print(told["message"], told.get("pauseSeconds"), told.get("movedBytes"))
    assert (told["phase"], told["lost"]) == ("Completed", 0), told
    primary, _ = job.lease("keep")
    assert next(node_of(pod) for pod in job.pods(subjob="keep") if name_of(pod) == primary) == free
    wait_until_protected(job)
    assert_flowing(job)


def test_every_tuple_came_out_once_and_in_order_and_nothing_was_an_incident(job: Job) -> None:
    assert_right(job)
    assert job.namespace.list("incidents") == []
