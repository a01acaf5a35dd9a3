"""kubectl for tests: short words for what a user would type."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

Json = dict[str, Any]
T = TypeVar("T")

PATIENCE = float(os.environ.get("E2E_PATIENCE", "1"))


def run(*command: str, stdin: str | None = None) -> str:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def until(what: str, look: Callable[[], T | None], seconds: float, every: float = 0.5) -> T:
    """Waits until `look` gives something that counts; fails with what was waited for."""
    end = time.monotonic() + seconds * PATIENCE
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds:.0f} s: {what}")
        time.sleep(every)


@dataclass(frozen=True)
class Namespace:
    name: str

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return run("kubectl", "--namespace", self.name, *arguments, stdin=stdin)

    def apply(self, *bodies: Json) -> None:
        listed = {"apiVersion": "v1", "kind": "List", "items": list(bodies)}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(listed))

    def get(self, kind: str, name: str) -> Json | None:
        found: Json = json.loads(self.kubectl("get", kind, name, "--ignore-not-found", "-o", "json") or "{}")
        return found or None

    def list(self, kind: str, selector: str = "") -> list[Json]:
        chosen = ["-l", selector] if selector else []
        items: list[Json] = json.loads(self.kubectl("get", kind, *chosen, "-o", "json"))["items"]
        return items

    def metrics(self, pod: str, port: int) -> str:
        """What Prometheus would read, through the API server."""
        return self.kubectl("get", "--raw", f"/api/v1/namespaces/{self.name}/pods/{pod}:{port}/proxy/metrics")

    def kill(self, pod: str) -> None:
        """No goodbye: the API server forgets it at once, the kubelet kills it."""
        self.kubectl("delete", "pod", pod, "--grace-period=0", "--force")


@dataclass(frozen=True)
class Job:
    """A StreamJob on the cluster."""

    namespace: Namespace
    name: str

    def body(self) -> Json:
        found = self.namespace.get("streamjob", self.name)
        assert found is not None, f"there is no StreamJob {self.name}"
        return found

    def status(self) -> Json:
        return self.body().get("status") or {}

    def condition(self, kind: str) -> Json:
        found: Json = next((c for c in self.status().get("conditions") or () if c["type"] == kind), {})
        return found

    def is_true(self, kind: str) -> bool:
        return bool(self.condition(kind).get("status") == "True")

    def wait_for(self, kind: str, seconds: int) -> None:
        limit = f"--timeout={seconds * PATIENCE:.0f}s"
        self.namespace.kubectl("wait", f"--for=condition={kind}", f"sj/{self.name}", limit)

    def subjob(self, name: str) -> Json:
        found: Json = next(s for s in self.status()["subjobs"] if s["name"] == name)
        return found

    def lease(self, subjob: str) -> tuple[str, int]:
        """Who leads, since which change of hands: what holds even while the operator is away."""
        lease = self.namespace.get("lease", f"{self.name}-{subjob}")
        assert lease is not None
        return lease["spec"].get("holderIdentity", ""), lease["spec"].get("leaseTransitions", 0)

    def pods(self, **labels: str) -> list[Json]:
        chosen = {"job": self.name, **labels}
        selector = ",".join(f"understudy.dev/{name}={value}" for name, value in chosen.items())
        return self.namespace.list("pods", selector)

    def page(self, pod: str) -> Json | None:
        """The pod's own status page, through the API server, which waits for ever for a node that is lost."""
        path = f"/api/v1/namespaces/{self.namespace.name}/pods/{pod}:7071/proxy/status"
        command = ["kubectl", "get", "--raw", path]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
        except subprocess.TimeoutExpired:
            return None
        return json.loads(done.stdout) if done.returncode == 0 else None

    def metrics(self, pod: str) -> str:
        return self.namespace.metrics(pod, 7071)

    def written(self, sink: str) -> int:
        page = self.page(f"{self.name}-sink-{sink}")
        return int(page["next"] or 0) if page else 0  # null until the sink has its folder

    def events(self) -> list[str]:
        found = self.namespace.list("events.events.k8s.io")
        return [e["reason"] for e in found if e.get("regarding", {}).get("name") == self.name]


def node_of(pod: Json) -> str:
    return str(pod["spec"]["nodeName"])


def name_of(found: Json) -> str:
    return str(found["metadata"]["name"])
