#!/usr/bin/env python3
"""How much the operator costs with many jobs: `e2e/cluster/run .venv/bin/python e2e/scale.py [--jobs 200]`.

A real API server and scheduler; nodes, kubelets and the pods' processes are pretended by this script: a pod
that was scheduled is Running at a loopback address of its own, answers with a status page, and the first of a
pair takes the Lease. All jobs are busy: half are in savepoint, half in upstreamBackup, so the primary of each
acks to a source and writes that down with the code of a real instance, and the figures on its page move. The
operator is a real process beside it. Measured are its CPU time, and the writes that the API server counts,
from everybody.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import Manager, Process
from pathlib import Path
from typing import Any

from client import Api
from kubectl import run
from numbers_job import numbers_job

from understudy.kubernetes.api import ApiError, configuration
from understudy.kubernetes.surroundings import KubernetesSurroundings
from understudy.process.ports import Unreachable
from understudy.protocol.ids import Consumer, Epoch, Seq, Stream
from understudy.protocol.keeping import Phase, SourceAcks, interval_for
from understudy.protocol.savepoints import Savepoint, Tree
from understudy.sources.acks import AckKeeper

Json = dict[str, Any]

NAMESPACE = "scale"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
JOBS = f"/apis/understudy.dev/v1alpha1/namespaces/{NAMESPACE}/streamjobs"
LEASES = "/apis/coordination.k8s.io/v1/namespaces"
TICK = os.sysconf("SC_CLK_TCK")
RATE = 100
MODES = ("savepoint", "upstreamBackup")
WRITES = re.compile(r'^apiserver_request_total\{(.*verb="(?:POST|PUT|PATCH|APPLY|DELETE)".*)\} (\S+)$')
AFTERMATH = ("events", "endpoints", "endpointslices")
RESOURCE = re.compile(r'resource="([^"]*)"')


# ---- pretended nodes -------------------------------------------------------------------------------------


def make_nodes(api: Api, count: int) -> None:
    for real in api.list("/api/v1/nodes"):
        api.merge(f"/api/v1/nodes/{real['metadata']['name']}", {"spec": {"unschedulable": True}})
    for number in range(count):
        name = f"fake{number}"
        api.create("/api/v1/nodes", {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
        room = {"cpu": "64", "memory": "512Gi", "pods": "250"}
        condition = {"type": "Ready", "status": "True", "reason": "Pretended", "lastHeartbeatTime": now()}
        api.merge(
            f"/api/v1/nodes/{name}/status",
            {"status": {"capacity": room, "allocatable": room, "conditions": [condition]}},
        )
        api.merge(f"/api/v1/nodes/{name}", {"spec": {"taints": None}})


def beat_hearts(api: Api, count: int) -> None:
    for name in (f"fake{number}" for number in range(count)):
        spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now()}
        lease = {"metadata": {"name": name, "namespace": "kube-node-lease"}, "spec": spec}
        try:
            api.merge(f"{LEASES}/kube-node-lease/leases/{name}", {"spec": spec})
        except ApiError:
            api.create(
                f"{LEASES}/kube-node-lease/leases",
                {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **lease},
            )


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


# ---- pretended kubelets and processes --------------------------------------------------------------------


def address(number: int) -> str:
    return f"127.1.{number // 250}.{number % 250 + 1}"


def keep_hearts_beating(nodes: int) -> None:
    """In a process of its own: however much there is to do for the pods, the nodes live."""
    api = Api(configuration(), 30.0)
    while True:
        try:
            beat_hearts(api, nodes)
        except (ApiError, Unreachable) as error:
            print(f"pretended node: {error}", file=sys.stderr)
        time.sleep(8)


def play_kubelets(pods: Any) -> None:
    """Scheduled pods run, deleted pods go, the first of a pair leads."""
    api = Api(configuration(), 30.0)
    given = 0
    while True:
        try:
            for pod in api.list(PODS):
                given += play_pod(api, pod, pods, given)
        except (ApiError, Unreachable) as error:
            print(f"pretended kubelet: {error}", file=sys.stderr)
        time.sleep(0.5)


def play_pod(api: Api, pod: Json, pods: Any, given: int) -> int:
    metadata = pod["metadata"]
    if "deletionTimestamp" in metadata:
        api.delete(f"{PODS}/{metadata['name']}", {"gracePeriodSeconds": 0})
        return 0
    if not pod["spec"].get("nodeName") or pod["status"].get("podIP"):
        return 0
    ip = address(given)
    conditions = [{"type": kind, "status": "True"} for kind in ("Ready", "PodScheduled")]
    status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": conditions}
    api.merge(f"{PODS}/{metadata['name']}/status", {"status": status})
    if metadata["name"].endswith("-0"):
        labels = metadata["labels"]
        at = KubernetesSurroundings(api, NAMESPACE, labels["understudy.dev/job"])
        at.try_lease(labels["understudy.dev/subjob"], None, metadata["name"], f"{ip}:7070")
    pods[ip] = {**metadata["labels"], "name": metadata["name"]}
    return 1


def play_primaries(pods: Any, jobs: int) -> None:
    """What primaries that read a source write down of their acks, looking each second as instances do."""
    api = Api(configuration(), 30.0)
    keepers = [
        AckKeeper(KubernetesSurroundings(api, NAMESPACE, f"job{number}"), "keep") for number in range(jobs)
    ]
    while True:
        begun = time.monotonic()
        leading = {pod["name"] for pod in pods.values() if pod["name"].endswith("-keep-0")}
        for number, keeper in enumerate(keepers):
            if f"job{number}-keep-0" in leading:
                keeper.look(acks_of(MODES[number % 2]), Epoch(1), Phase.FLOWING, interval_for(None))
        time.sleep(max(0.0, 1.0 - (time.monotonic() - begun)))


def acks_of(mode: str) -> SourceAcks:
    at, source = Seq(tuples_by_now()), Stream("numbers")
    if mode == "upstreamBackup":
        return SourceAcks().acked(source, at, None)
    below = Tree(Savepoint({Stream("keep"): at}, {Stream("keep"): at}, at))
    root = Savepoint({source: at}, {source: at}, at)
    return SourceAcks().acked(source, at, Tree(root, {Stream("keep"): {Consumer("sums"): below}}))


def tuples_by_now() -> int:
    return int(time.monotonic() * RATE)


def serve_pages(pods: Any) -> None:
    kept: Json = {}

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            ip = self.connection.getsockname()[0]
            if ip not in kept:
                kept[ip] = dict(pods.get(ip) or {})
            body = json.dumps(page_of(kept[ip])).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("0.0.0.0", 7071), Page)
    server.request_queue_size = 512
    server.serve_forever()


def page_of(labels: Json) -> Json:
    name, at = labels.get("name", ""), tuples_by_now()
    if "understudy.dev/sink" in labels:
        return {
            "kind": "sink",
            "sink": labels["understudy.dev/sink"],
            "state": "ready",
            "tuples": at,
            "next": at,
        }
    leads = name.endswith("-0")
    pair = name.removesuffix("-0")
    moving: Json = {
        "inputs": {"numbers" if "-keep-" in name else "keep": {"position": at, "available": at + 5}},
        "outputs": {
            labels.get("understudy.dev/subjob", ""): {"trimmed": at - 20, "next": at, "consumers": {}}
        },
    }
    return moving | {
        "kind": "subjob", "instance": name, "role": "primary" if leads else "standby", "epoch": 1, "state": "ready",
        "protected": leads, "secondary": f"{pair}-1" if leads else None,
        "ifItFailedNow": {"replaySeconds": 0.1, "replayTuples": 10, "lostTuples": 0} if leads else None,
    }  # fmt: skip


# ---- measuring -------------------------------------------------------------------------------------------


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def memory_mib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    line = next(line for line in lines if line.startswith("VmRSS"))
    return int(line.split()[1]) // 1024


def ready_jobs(api: Api) -> int:
    bodies = api.list(JOBS)
    conditions = [(body.get("status") or {}).get("conditions") or () for body in bodies]
    return sum(
        {"Ready", "Protected"} <= {c["type"] for c in found if c["status"] == "True"} for found in conditions
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--steady", type=int, default=60, help="seconds to measure the calm for")
    args = parser.parse_args()
    api = Api(configuration(), 30.0)
    run("kubectl", "apply", "-f", "charts/understudy/files/crds")
    run("kubectl", "create", "namespace", NAMESPACE)
    make_nodes(api, args.nodes)
    manager = Manager()
    pods = manager.dict()
    parts: tuple[tuple[Callable[..., None], tuple[Any, ...]], ...] = (
        (keep_hearts_beating, (args.nodes,)),
        (play_kubelets, (pods,)),
        (serve_pages, (pods,)),
        (play_primaries, (pods, args.jobs)),
    )
    for target, given in parts:
        Process(target=target, args=given, daemon=True).start()
    settings = {"image": "none", "disruptionBudgets": True, "networkPolicies": True, "mutualTLS": True}
    env = {**os.environ, "UNDERSTUDY_PODS": json.dumps(settings), "UNDERSTUDY_NAMESPACES": NAMESPACE}
    command = [
        sys.executable,
        "-m",
        "understudy.cli",
        "operator",
        "--liveness",
        "http://127.0.0.1:8081/healthz",
    ]
    with (
        open("/tmp/scale-operator.log", "w") as log,
        subprocess.Popen(command, env=env, stdout=log, stderr=log) as operator,
    ):
        try:
            measure(api, operator.pid, args)
        finally:
            operator.kill()


def settle() -> None:
    """Kubernetes' own controllers write of the new pods for a while."""
    begun = time.monotonic()
    while sum(writes_per_second(10)[made] for made in AFTERMATH) > 1 and time.monotonic() - begun < 180:
        pass
    print(f"the controllers of the cluster were done {time.monotonic() - begun:.0f} s later", flush=True)


def told(rates: Counter[str]) -> str:
    parts = ", ".join(f"{resource} {rate:.1f}" for resource, rate in rates.most_common() if rate >= 0.05)
    return f"{rates.total():.1f} ({parts})"


def writes_per_second(seconds: int) -> Counter[str]:
    before, at = writes(), time.monotonic()
    time.sleep(seconds)
    after, took = writes(), time.monotonic() - at
    return Counter({resource: (count - before[resource]) / took for resource, count in after.items()})


def writes() -> Counter[str]:
    """How many requests that write the API server has answered, by what they wrote."""
    found: Counter[str] = Counter()
    for line in run("kubectl", "get", "--raw", "/metrics").splitlines():
        if counted := WRITES.match(line):
            resource = RESOURCE.search(counted[1])
            found[resource[1] if resource else ""] += int(float(counted[2]))
    return found


def job(number: int) -> Json:
    body = numbers_job(f"job{number}", RATE, None, MODES[number % 2])
    body["metadata"]["namespace"] = NAMESPACE
    for sink in body["spec"]["sinks"]:  # nobody makes claims here, and without one a sink would wait for ever
        sink["files"].pop("volume", None)
    return body


def measure(api: Api, pid: int, args: argparse.Namespace) -> None:
    idle = writes_per_second(15)
    begun = time.monotonic()
    for number in range(args.jobs):
        api.create(JOBS, job(number))
    while (ready := ready_jobs(api)) < args.jobs and time.monotonic() - begun < 240:
        passed, spent = time.monotonic() - begun, cpu_seconds(pid)
        print(
            f"{passed:5.0f} s  {ready} of {args.jobs} ready and protected, {spent:.0f} s of CPU", flush=True
        )
        time.sleep(5)
    took, used = time.monotonic() - begun, cpu_seconds(pid)
    print(
        f"{ready} of {args.jobs} jobs ready and protected after {took:.0f} s, with {used:.0f} s of CPU "
        f"({used / args.jobs * 1000:.0f} ms each)"
    )
    settle()
    before, at = cpu_seconds(pid), time.monotonic()
    busy = writes_per_second(args.steady)
    share = (cpu_seconds(pid) - before) / (time.monotonic() - at)
    print(f"busy: {share * 100:.1f} % of a core, {memory_mib(pid)} MiB, {len(api.list(PODS))} pods")
    print(f"writes a second: {told(busy)}")
    print(f"  before there were jobs: {told(idle)}")
    begun = time.monotonic()
    gone = "job7-keep-1"
    api.delete(f"{PODS}/{gone}", {"gracePeriodSeconds": 0})
    while (
        not any(pod["metadata"]["name"] == "job7-keep-2" for pod in api.list(PODS))
        and time.monotonic() - begun < 60
    ):
        time.sleep(0.1)
    print(f"a lost standby was replaced after {time.monotonic() - begun:.1f} s")


if __name__ == "__main__":
    threading.stack_size(256 << 10)
    main()
