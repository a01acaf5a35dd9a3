"""An operator is stopped in the middle of what it does. Another takes over, the world changes, and the first
one wakes.

Both operators are processes beside the test, with a Lease of their own. A gate between the first one and the
API server stops it at the moment at which it has written down that it will remove a standby and before it
removes it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from gate import Gate, kubeconfig
from kubectl import Job, Namespace, name_of, until
from numbers_job import kept_job
from story import REPLACED, assert_flowing, is_settled, started, wait_until_protected

pytestmark = pytest.mark.slow

NAME, LEASE = "stopped", "operators"
RATE = 100
QUIET_SECONDS = 20  # long enough for several looks of an operator that leads
ELECTED = 60


@dataclass
class StopsBeforeRemoval(Gate):
    """Stops its operator once, when it has written down which pod it is about to remove."""

    pid: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)

    def wrote(self, write: str, body: bytes) -> None:
        if b"retired." in body and not self.stopped.is_set():
            os.kill(self.pid, signal.SIGSTOP)
            self.stopped.set()


@dataclass(frozen=True)
class Operators:
    namespace: Namespace
    settings: dict[str, str]
    upstream: int
    folder: Path

    @contextmanager
    def start(self, name: str, port: int, liveness: int) -> Iterator[subprocess.Popen[bytes]]:
        """As a pod of this name would run, with the API server at this port."""
        config = self.folder / f"{name}.json"
        config.write_text(json.dumps(kubeconfig(port)))
        election = {"UNDERSTUDY_ELECTION": LEASE, "POD_NAMESPACE": self.namespace.name, "POD_NAME": name}
        env = {**os.environ, **self.settings, **election, "KUBECONFIG": str(config)}
        command = [
            sys.executable,
            "-m",
            "understudy.cli",
            "operator",
            "--liveness",
            f"http://127.0.0.1:{liveness}/healthz",
        ]
        with (
            self.log(name).open("ab") as out,
            subprocess.Popen(command, env=env, stdout=out, stderr=out) as process,
        ):
            try:
                yield process
            finally:
                process.kill()

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def leader(self) -> str:
        lease = self.namespace.get("lease", LEASE)
        return lease["spec"].get("holderIdentity", "") if lease else ""

    def wait_for_leader(self, name: str) -> None:
        until(f"operator {name} leads", lambda: self.leader() == name, ELECTED)


@pytest.fixture(scope="module")
def job(namespace: Namespace) -> Job:
    found = started(namespace, kept_job(NAME, RATE))
    wait_until_protected(found)
    return found


@pytest.fixture(scope="module")
def operators(job: Job, operator: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operators]:
    """The chart's own operators are away, and their settings are those of the others."""
    deployment = operator.get("deployment", "understudy")
    assert deployment is not None
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    told = {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}
    settings = {"UNDERSTUDY_PODS": told["UNDERSTUDY_PODS"], "UNDERSTUDY_NAMESPACES": job.namespace.name}
    operator.kubectl("scale", "deployment/understudy", "--replicas=0")
    until("the operator is gone", lambda: not operator.list("pods"), 60)
    with subprocess.Popen(["kubectl", "proxy", "--port=0"], stdout=subprocess.PIPE, text=True) as proxy:
        assert proxy.stdout is not None
        port = int(proxy.stdout.readline().rpartition(":")[2])
        yield Operators(job.namespace, settings, port, tmp_path_factory.mktemp("operators"))
        proxy.kill()
    operator.kubectl("scale", "deployment/understudy", "--replicas=2")


def uids(job: Job) -> dict[str, str]:
    return {
        name_of(pod): pod["metadata"]["uid"]
        for pod in job.pods()
        if "deletionTimestamp" not in pod["metadata"]
    }


def edit(job: Job, **changes: object) -> int:
    """The generation of the spec after it."""
    body = kept_job(NAME, RATE)
    body["spec"]["subjobs"][0].update(changes)
    job.namespace.apply(body)
    return int(job.body()["metadata"]["generation"])


def settled(job: Job, generation: int) -> bool:
    status = job.status()
    return status["observedGeneration"] == generation and all(
        is_settled(job, subjob) for subjob in status["subjobs"]
    )


def of_the_job(gate: Gate) -> list[str]:
    """All that was written but the operators' own Lease, which refuses what comes too late."""
    return [write for write in gate.writes if not write.endswith(f"leases/{LEASE}")]


def test_an_operator_that_wakes_does_not_carry_out_what_it_decided_before_it_was_stopped(
    job: Job, operators: Operators
) -> None:
    gate, before = StopsBeforeRemoval(operators.upstream), uids(job)
    with ExitStack() as stack:
        first = stack.enter_context(operators.start("first", stack.enter_context(gate.serving()), 8089))
        gate.pid = first.pid
        operators.wait_for_leader("first")
        second = stack.enter_context(operators.start("second", operators.upstream, 8090))
        edit(job, spark={"driver": {"memory": "1200Mi"}})
        assert gate.stopped.wait(60), operators.log("first").read_text()[-3000:]
        told = edit(job)
        operators.wait_for_leader("second")
        until(
            "the second operator has nothing left to do",
            lambda: (
                job.status()["observedGeneration"] == told
                and all(is_settled(job, s) for s in job.status()["subjobs"])
            ),
            REPLACED,
        )
        assert uids(job) == before, "the edit was taken back before any pod was removed"
        written = of_the_job(gate)

        os.kill(first.pid, signal.SIGCONT)
        until(
            "the first one notices", lambda: "no longer the leader" in operators.log("first").read_text(), 30
        )
        end = time.monotonic() + QUIET_SECONDS
        while time.monotonic() < end:
            assert uids(job) == before
            time.sleep(1)
        assert of_the_job(gate) == written, "it has written nothing since it woke"
        assert operators.leader() == "second"
        assert first.poll() is None

        second.kill()
        operators.wait_for_leader("first")
    assert_flowing(job)
