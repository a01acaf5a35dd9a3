"""What the stories on the cluster have in common: a job with tuples flowing, faults, and the comparison at
the end."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from kubectl import Job, Json, Namespace, name_of, node_of, run, until
from numbers_job import EXPECTED, claims

from understudy.cli.pages import status_page

TAKE_OVER, REPLACED, START = 30, 180, 240
CLUSTER = Path(__file__).parent / "cluster"


def started(namespace: Namespace, body: Json, sinks: Iterable[str] = ("kept",), seconds: int = START) -> Job:
    """A job whose streams flow, with a volume for each of these sinks."""
    namespace.apply(*claims(name_of(body), sinks), body)
    job = Job(namespace, name_of(body))
    job.wait_for("Ready", seconds)
    return job


def assert_flowing(job: Job, sink: str = "kept", seconds: float = TAKE_OVER) -> None:
    """Tuples keep arriving, and the stream has not ended: a kill after that would prove nothing."""
    before = job.written(sink)
    until(f"more than {before} tuples in {sink}", lambda: job.written(sink) > before, seconds)
    assert job.status()["phase"] != "Completed", (
        "the stream ended before the story did: try with E2E_PATIENCE=2"
    )


def wait_until_protected(job: Job) -> None:
    """The condition may be seconds old (the operator, too, may have to be succeeded), so it is asked for
    together with what it must speak of."""

    def settled() -> bool:
        job.wait_for("Protected", REPLACED)
        return all(is_settled(job, subjob) for subjob in job.status()["subjobs"])

    until("as many instances of each subjob as are asked for, protected", settled, REPLACED)


def is_settled(job: Job, subjob: Json) -> bool:
    """The status speaks of who leads now, and as many instances are ready as are asked for: one that was lost
    with its node may still be listed. Of a subjob that has no standby it does not say whether it is
    protected."""
    alone = subjob.get("protected") is None
    name, leads = subjob["name"], (subjob.get("currentPrimary"), subjob.get("epoch"))
    covered = alone or subjob.get("protected")
    ready = [replica for replica in subjob["replicas"] if replica["state"] == "ready"]
    return bool(covered) and job.lease(name) == leads and len(ready) == (1 if alone else 2)


def wait_for_take_over(job: Job, subjob: str, gone: str, epoch: int, seconds: float = TAKE_OVER) -> str:
    """Who leads now. On a busy machine a slow primary may be suspected, too, so more than one epoch may have
    passed."""

    def successor() -> str | None:
        holder, now = job.lease(subjob)
        return holder if holder != gone and now > epoch else None

    return until(f"another instance than {gone} holds the Lease", successor, seconds, every=0.1)


def standby_of(job: Job, subjob: str) -> str:
    primary, _ = job.lease(subjob)
    return next(name_of(pod) for pod in job.pods(subjob=subjob) if name_of(pod) != primary)


def node_of_pod(job: Job, pod: str) -> str:
    found = job.namespace.get("pod", pod)
    assert found is not None
    return str(found["spec"]["nodeName"])


def drill(job: Job, subjob: str, fault: str, name: str, expect: Json) -> Json:
    """Runs it to its end; its status."""
    body = {"job": job.name, "subjob": subjob, "fault": fault, "expect": expect}
    kind = {"apiVersion": "understudy.dev/v1alpha1", "kind": "FailoverDrill"}
    job.namespace.apply({**kind, "metadata": {"name": name}, "spec": body})

    def over() -> Json | None:
        status = (job.namespace.get("failoverdrill", name) or {}).get("status") or {}
        return status if status.get("phase") in ("Passed", "Failed") else None

    return until(f"drill {name} is over", over, REPLACED)


class Watchman(threading.Thread):
    """Reads the status every half second, and notes what `kubectl understudy status` would make of it."""

    def __init__(self, job: Job) -> None:
        super().__init__(name="watchman", daemon=True)
        self._job, self._over = job, threading.Event()
        self.safe: list[float] = []
        """When it had said that nothing is at risk."""

    def run(self) -> None:
        while not self._over.wait(0.5):
            if status_page(self._job.body(), (), round(time.time() * 1000)).safe:
                self.safe.append(time.time())

    def __enter__(self) -> Watchman:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def safe_between(self, start: float, end: float) -> list[float]:
        return [at for at in self.safe if start <= at <= end]


# ---- faults of the test cluster --------------------------------------------------------------------------


def has_faults() -> bool:
    """Whether this is the cluster whose nodes can be hurt."""
    return os.environ.get("KUBECONFIG") == str(_layout().kubeconfig)


def _layout() -> Any:
    sys.path.insert(0, str(CLUSTER))
    from harness.layout import Layout

    return Layout.default()


def hurt(node: str, fault: str, *pod: str) -> None:
    run(str(CLUSTER / "node"), node, fault, *pod)


def killer_of(job: Job, pod: str) -> Callable[[], None]:
    """Kills every process of the pod when it is called, without asking the API server then."""
    layout = _layout()
    from harness import cgroups

    found = job.namespace.get("pod", pod)
    assert found is not None
    node = layout.node(node_of(found))
    group = cgroups.find(f"{node.cgroup}/kubepods", f"pod{found['metadata']['uid']}")
    assert group is not None
    return lambda: cgroups.signal_all(group, signal.SIGKILL)


def apiserver(fault: str) -> None:
    run(str(CLUSTER / "apiserver"), fault)


def node_is_ready(name: str) -> bool:
    found: Json = json.loads(run("kubectl", "get", "node", name, "-o", "json"))
    return any(c["type"] == "Ready" and c["status"] == "True" for c in found["status"]["conditions"])


# ---- what came out ---------------------------------------------------------------------------------------


def assert_right(job: Job, sink: str = "kept", limit: int | None = None, stream: str | None = None) -> int:
    """Every tuple that was written so far is the one that had to come, each once and in order; how many there
    are.

    With a limit, the source has ended there and all of them have come. `stream`: which of the expected ones
    it is, if its name does not tell.
    """
    written = read_sink(job, sink)
    worked_out, most = EXPECTED[stream or sink]
    expected = worked_out(len(written) * most + 100 if limit is None else limit)
    wrong = next(
        (n for n, (one, other) in enumerate(zip(written, expected, strict=False)) if one != other), None
    )
    assert wrong is None, f"line {wrong} of {sink} is {written[wrong]}, not {expected[wrong]}"
    lacking = len(expected) - len(written)
    assert lacking == 0 if limit is not None else lacking >= 0, (
        f"{lacking} of {len(expected)} tuples of {sink} lack"
    )
    print(f"{len(written)} tuples of {sink} compared")
    return len(written)


def take_overs(job: Job) -> list[Json]:
    """The incidents that tell of one: a lost standby or sink leaves another kind, and begins no epoch."""
    return [incident for incident in job.namespace.list("incidents") if "epoch" in incident["spec"]]


def wait_for_incident(job: Job, role: str, gone: str) -> Json:
    """That of a standby or a sink whose pod was lost, once all is as before."""

    def closed() -> Json | None:
        found = [
            i
            for i in job.namespace.list("incidents")
            if (i["spec"].get("role"), i["spec"]["from"]) == (role, gone)
        ]
        return next((i for i in found if (i.get("status") or {}).get("reprotected")), None)

    return until(f"the incident of {gone} is told to its end", closed, REPLACED)


def assert_nothing_lost(job: Job) -> None:
    """As the incidents tell it."""
    incidents = job.namespace.list("incidents")
    for incident in incidents:
        print(incident["spec"]["cause"], incident["spec"]["class"], incident["status"].get("recoverySeconds"))
    assert sum(incident["status"].get("lost", 0) for incident in incidents) == 0


def read_sink(job: Job, sink: str) -> list[Json]:
    """Its lines, without one that is being written."""
    lines = read_volume(job.namespace, f"{job.name}-{sink}").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def read_volume(namespace: Namespace, claim: str) -> str:
    """By a pod that only reads it, on whatever node the volume is. The tail of a pod's log may be lost with
    its end, so its host name comes last, and another pod reads again if that is not there."""
    for number in range(5):
        name = f"read-{claim}-{number}"
        text = _log_of(namespace, _reading(name, claim))
        if text.endswith(f"{name}\n"):
            return text.removesuffix(f"{name}\n")
        print(f"the log of {name} has no end, after {len(text)} characters")
    raise AssertionError(f"{claim} can't be read")


def _log_of(namespace: Namespace, pod: Json) -> str:
    name = name_of(pod)
    namespace.apply(pod)
    until("it has been read", lambda: _phase_of(namespace.get("pod", name)) == "Succeeded", 120)
    time.sleep(0.5)
    text = namespace.kubectl("logs", name)
    namespace.kubectl("delete", "pod", name, "--wait=false")
    return text


def _phase_of(pod: Json | None) -> str:
    found: str = ((pod or {}).get("status") or {}).get("phase") or ""
    return found


def _reading(name: str, claim: str) -> Json:
    container = {
        "name": "read",
        "image": os.environ.get("UNDERSTUDY_IMAGE", "localhost/understudy:dev"),
        "command": ["sh", "-c", "cat /output/*.jsonl /etc/hostname"],
        "volumeMounts": [{"name": "output", "mountPath": "/output"}],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    restricted = {"runAsNonRoot": True, "runAsUser": 10001, "seccompProfile": {"type": "RuntimeDefault"}}
    volume = {"name": "output", "persistentVolumeClaim": {"claimName": claim, "readOnly": True}}
    spec = {
        "restartPolicy": "Never",
        "securityContext": restricted,
        "containers": [container],
        "volumes": [volume],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
