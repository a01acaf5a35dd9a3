"""The operator dies after every step of a failover, a planned move and an edit: a life takes one step, is
killed before it hears that it was done, and the next one goes on from what it finds.

The operators are processes beside the test, one after the other; between them and the API server is a gate
that lets one new write through. Tuples flow all the time, and the last test compares them with what had to
come.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from gate import Gate, kubeconfig
from kubectl import Job, Json, Namespace, name_of, node_of, run, until
from numbers_job import kept_job
from story import (
    REPLACED,
    assert_flowing,
    assert_nothing_lost,
    assert_right,
    is_settled,
    node_of_pod,
    started,
    take_overs,
    wait_until_protected,
)

pytestmark = pytest.mark.slow

NAME = "cuts"
RATE = 100
LIVENESS = "http://127.0.0.1:8089/healthz"
LOOK_SECONDS = 1.0
SECONDS = 2 * REPLACED


@dataclass
class OneStep(Gate):
    """Closes after one new write."""

    known: frozenset[str] = frozenset()
    """What is new to these is the last thing that gets through,"""
    allowed: int = 1
    """and so many writes are the most."""

    def wrote(self, write: str, body: bytes) -> None:
        if write not in self.known or len(self.writes) >= self.allowed:
            self.closed.set()


@dataclass(frozen=True)
class Lives:
    """Operators of which each does one thing that none before it did."""

    upstream: int
    settings: dict[str, str]
    folder: Path

    def until(self, what: str, done: Callable[[], object]) -> None:
        """One after the other until it is done. Each begins by making sure of what those before it did: where
        one does nothing new, the next lives one write longer."""
        end, wrote, allowed = time.monotonic() + SECONDS, list[str](), 1
        print(f"{what}:")
        while not done():
            assert time.monotonic() < end, f"not within {SECONDS} s: {what}"
            writes = self._one(OneStep(self.upstream, known=frozenset(wrote), allowed=allowed), done, end)
            allowed += set(writes) <= set(wrote)
            wrote += writes
            print("  an operator that died after", *(writes or ["nothing"]), sep="\n    ")

    def _one(self, gate: OneStep, done: Callable[[], object], end: float) -> list[str]:
        log, config = self.folder / "operator.log", self.folder / "kubeconfig"
        with gate.serving() as port, log.open("ab") as out:
            config.write_text(json.dumps(kubeconfig(port)))
            command = [sys.executable, "-m", "understudy.cli", "operator", "--liveness", LIVENESS]
            env = {**os.environ, **self.settings, "KUBECONFIG": str(config)}
            with subprocess.Popen(command, env=env, stdout=out, stderr=out) as operator:
                while not gate.closed.wait(LOOK_SECONDS) and time.monotonic() < end and not done():
                    assert operator.poll() is None, log.read_text()[-3000:]
                operator.kill()
        return gate.writes


@pytest.fixture(scope="module")
def job(namespace: Namespace) -> Job:
    found = started(namespace, kept_job(NAME, RATE))
    wait_until_protected(found)
    return found


@pytest.fixture(scope="module")
def lives(job: Job, operator: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lives]:
    """The chart's own operators are away, and their settings are those of the others."""
    (container,) = operator.get("deployment", "understudy")["spec"]["template"]["spec"]["containers"]  # type: ignore[index]
    told = {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}
    settings = {"UNDERSTUDY_PODS": told["UNDERSTUDY_PODS"], "UNDERSTUDY_NAMESPACES": job.namespace.name}
    operator.kubectl("scale", "deployment/understudy", "--replicas=0")
    until("the operator is gone", lambda: not operator.list("pods"), 60)
    proxy = subprocess.Popen(["kubectl", "proxy", "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        assert proxy.stdout is not None
        port = int(proxy.stdout.readline().rpartition(":")[2])
        yield Lives(port, settings, tmp_path_factory.mktemp("operators"))
    finally:
        proxy.kill()
        operator.kubectl("scale", "deployment/understudy", "--replicas=2")


def settled(job: Job) -> bool:
    return job.is_true("Protected") and all(is_settled(job, subjob) for subjob in job.status()["subjobs"])


def test_a_failover_is_seen_through(job: Job, lives: Lives) -> None:
    primary, epoch = job.lease("keep")
    job.namespace.kill(primary)

    def done() -> bool:
        told = [i for i in take_overs(job) if i["spec"]["from"] == primary]
        return bool(told and told[0].get("status", {}).get("reprotected")) and settled(job)

    lives.until("a failover", done)
    assert job.lease("keep")[1] > epoch
    assert len(job.pods(subjob="keep")) == 2
    assert_flowing(job)


def test_a_planned_move_is_seen_through(job: Job, lives: Lives) -> None:
    taken = {node_of(pod) for pod in job.pods(subjob="keep")}
    nodes = [name.removeprefix("node/") for name in run("kubectl", "get", "nodes", "-o", "name").split()]
    free = next(node for node in nodes if node not in taken)
    kind = {"apiVersion": "understudy.dev/v1alpha1", "kind": "Migration", "metadata": {"name": "away"}}
    job.namespace.apply({**kind, "spec": {"job": NAME, "subjob": "keep", "toNode": free}})

    def phase() -> str | None:
        return ((job.namespace.get("migration", "away") or {}).get("status") or {}).get("phase")

    lives.until("a planned move", lambda: phase() in ("Completed", "Failed") and settled(job))
    assert phase() == "Completed"
    assert node_of_pod(job, job.lease("keep")[0]) == free
    assert len(job.pods(subjob="keep")) == 2
    assert_flowing(job)


def instances(job: Job) -> set[str]:
    return {name_of(pod) for pod in job.pods(subjob="keep")}


def edited(job: Job, **changes: Json) -> Callable[[], bool]:
    """Whether the status speaks of the edit, and nothing is under way."""
    body = kept_job(NAME, RATE)
    body["spec"]["subjobs"][0].update(changes)
    job.namespace.apply(body)
    generation = job.body()["metadata"]["generation"]
    return lambda: job.status()["observedGeneration"] == generation and settled(job)


def test_an_edit_that_needs_new_pods_is_seen_through(job: Job, lives: Lives) -> None:
    before, told = instances(job), edited(job, spark={"driver": {"memory": "1200Mi"}})
    lives.until("an edit of resources", lambda: told() and not before & instances(job))
    assert len(instances(job)) == 2
    assert_flowing(job)


def test_an_edit_of_the_mode_is_seen_through(job: Job, lives: Lives) -> None:
    before = instances(job)
    told = edited(job, spark={"driver": {"memory": "1200Mi"}}, ha={"mode": "activeStandby"})
    lives.until("an edit of the mode", lambda: told() and job.subjob("keep")["mode"] == "activeStandby")
    assert instances(job) == before, "the same processes go on"
    assert_flowing(job)


def test_after_all_that_every_tuple_came_out_once_and_in_order(job: Job) -> None:
    assert_right(job)
    assert_nothing_lost(job)
