#!/usr/bin/env python3
"""How much the operator costs with many jobs: `e2e/cluster/run .venv/bin/python e2e/scale.py [--jobs 200]`.

A real API server and scheduler; nodes, kubelets and the pods' processes are pretended by this script: a pod that was
scheduled is Running at a loopback address of its own, answers with a status page, and the first of a pair takes the
Lease. The operator is a real process beside it, and its CPU time is what is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import Manager, Process
from pathlib import Path
from typing import Any

from client import Api
from kubectl import run
from numbers_job import numbers_job

from understudy.backends.kubernetes.api import ApiError
from understudy.backends.kubernetes.handlers import _login
from understudy.runtime.ports import Unreachable

Json = dict[str, Any]

NAMESPACE = "scale"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
JOBS = f"/apis/understudy.dev/v1alpha1/namespaces/{NAMESPACE}/streamjobs"
LEASES = "/apis/coordination.k8s.io/v1/namespaces"
TICK = os.sysconf("SC_CLK_TCK")


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
                f"{LEASES}/kube-node-lease/leases", {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **lease}
            )


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


# ---- pretended kubelets and processes --------------------------------------------------------------------


def address(number: int) -> str:
    return f"127.1.{number // 250}.{number % 250 + 1}"


def play_kubelets(pods: Any, nodes: int) -> None:
    """Scheduled pods run, deleted pods go, the first of a pair leads."""
    api = Api(_login(), 30.0)
    given = 0
    hearts = 0.0
    while True:
        try:
            if time.monotonic() - hearts > 8:
                hearts = time.monotonic()
                beat_hearts(api, nodes)
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
    pods[ip] = {**metadata["labels"], "name": metadata["name"]}
    conditions = [{"type": kind, "status": "True"} for kind in ("Ready", "PodScheduled")]
    status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": conditions}
    api.merge(f"{PODS}/{metadata['name']}/status", {"status": status})
    if metadata["name"].endswith("-0"):
        lease = metadata["name"].removesuffix("-0")
        api.merge(
            f"{LEASES}/{NAMESPACE}/leases/{lease}",
            {"spec": {"holderIdentity": metadata["name"], "leaseTransitions": 1}},
        )
    return 1


def serve_pages(pods: Any) -> None:
    kept: Json = {}

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            ip = self.connection.getsockname()[0]
            if ip not in kept:
                kept[ip] = page_of(dict(pods.get(ip) or {}))
            body = json.dumps(kept[ip]).encode()
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
    name = labels.get("name", "")
    if "understudy.dev/sink" in labels:
        return {"kind": "sink", "sink": labels["understudy.dev/sink"], "state": "ready", "tuples": 0}
    leads = name.endswith("-0")
    pair = name.removesuffix("-0")
    return {
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
    return sum({"Ready", "Protected"} <= {c["type"] for c in found if c["status"] == "True"} for found in conditions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--steady", type=int, default=60, help="seconds to measure the calm for")
    args = parser.parse_args()
    api = Api(_login(), 30.0)
    run("kubectl", "apply", "-f", "charts/understudy/files/crds")
    run("kubectl", "create", "namespace", NAMESPACE)
    make_nodes(api, args.nodes)
    manager = Manager()
    pods = manager.dict()
    for target, given in ((play_kubelets, (pods, args.nodes)), (serve_pages, (pods,))):
        Process(target=target, args=given, daemon=True).start()
    settings = {"image": "none", "disruptionBudgets": True, "networkPolicies": True, "mutualTLS": True}
    env = {**os.environ, "UNDERSTUDY_PODS": json.dumps(settings), "UNDERSTUDY_NAMESPACES": NAMESPACE}
    command = [sys.executable, "-m", "understudy.cli", "operator", "--liveness", "http://127.0.0.1:8081/healthz"]
    with (
        open("/tmp/scale-operator.log", "w") as log,
        subprocess.Popen(command, env=env, stdout=log, stderr=log) as operator,
    ):
        try:
            measure(api, operator.pid, args)
        finally:
            operator.kill()


def job(number: int) -> Json:
    body = numbers_job(f"job{number}", 100, None)
    body["metadata"]["namespace"] = NAMESPACE
    for sink in body["spec"]["sinks"]:  # nobody makes claims here, and without one a sink would wait for ever
        sink["files"].pop("volume", None)
    return body


def measure(api: Api, pid: int, args: argparse.Namespace) -> None:
    begun = time.monotonic()
    for number in range(args.jobs):
        api.create(JOBS, job(number))
    while (ready := ready_jobs(api)) < args.jobs and time.monotonic() - begun < 240:
        passed, spent = time.monotonic() - begun, cpu_seconds(pid)
        print(f"{passed:5.0f} s  {ready} of {args.jobs} ready and protected, {spent:.0f} s of CPU", flush=True)
        time.sleep(5)
    took, used = time.monotonic() - begun, cpu_seconds(pid)
    print(
        f"{ready} of {args.jobs} jobs ready and protected after {took:.0f} s, with {used:.0f} s of CPU "
        f"({used / args.jobs * 1000:.0f} ms each)"
    )
    time.sleep(15)
    before, at = cpu_seconds(pid), time.monotonic()
    time.sleep(args.steady)
    share = (cpu_seconds(pid) - before) / (time.monotonic() - at)
    print(f"calm: {share * 100:.1f} % of a core, {memory_mib(pid)} MiB, {len(api.list(PODS))} pods")
    begun = time.monotonic()
    gone = "job7-keep-1"
    api.delete(f"{PODS}/{gone}", {"gracePeriodSeconds": 0})
    while not any(pod["metadata"]["name"] == "job7-keep-2" for pod in api.list(PODS)) and time.monotonic() - begun < 60:
        time.sleep(0.1)
    print(f"a lost standby was replaced after {time.monotonic() - begun:.1f} s")


if __name__ == "__main__":
    threading.stack_size(256 << 10)
    main()
