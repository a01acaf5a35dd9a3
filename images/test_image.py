"""The image, on a cluster of its own: restricted pods, Java's class archive in use, executors on other nodes.

Needs root, and e2e/cluster/build. Takes two minutes or so once the image is built.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
CLUSTER = HERE.parent / "e2e/cluster"
IMAGE = "localhost/understudy:dev"
RESTRICTED = {
    "readOnlyRootFilesystem": True,
    "allowPrivilegeEscalation": False,
    "runAsNonRoot": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="building and running an image here needs root")

# Starts Spark as a pod would, counts on two executors, and says where they ran and what Java had mapped.
DRIVER = """
import json, os, socket
from pyspark.sql import SparkSession

address = os.environ["POD_IP"]
spark = (
    SparkSession.builder.master("k8s://https://kubernetes.default.svc")
    .config("spark.driver.host", address)
    .config("spark.executor.instances", 2)
    .config("spark.executor.memory", "512m")
    .config("spark.kubernetes.container.image", os.environ["IMAGE"])
    .config("spark.kubernetes.executor.podTemplateFile", "/config/executor.json")
    .config("spark.kubernetes.executor.request.cores", "100m")
    .config("spark.scheduler.minRegisteredResourcesRatio", 1.0)
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
hosts = spark.sparkContext.parallelize(range(8), 8).map(lambda n: (n, socket.gethostname())).collect()
java = spark.sparkContext._gateway.proc.pid
maps = open(f"/proc/{java}/maps").read()
found = {"hosts": sorted({h for _, h in hosts}), "archive": "spark.jsa" in maps}
print("RESULT " + json.dumps(found), flush=True)
spark.stop()
"""
EXECUTOR = {
    "metadata": {"labels": {"app": "executor"}},
    "spec": {
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
                        "topologyKey": "kubernetes.io/hostname",
                    }
                ]
            }
        },
        "containers": [{"name": "executor"}],
    },
}


def command(name: str, *args: str, stdin: str = "", check: bool = True) -> str:
    done = subprocess.run(
        [CLUSTER / name, *args],
        input=stdin,
        env={**os.environ, "UNDERSTUDY_CLUSTER": "selftest"},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert not check or done.returncode == 0, f"{name} {args}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


def kubectl(*args: str, stdin: str = "", check: bool = True) -> str:
    return command("run", "kubectl", *args, stdin=stdin, check=check)


def apply(*objects: dict) -> None:
    kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))


def pod(name: str, arguments: dict, **spec: object) -> dict:
    folders = [{"name": "tmp", "mountPath": "/tmp"}, {"name": "work", "mountPath": "/work"}]
    environment = [
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "IMAGE", "value": IMAGE},
    ]
    container = {
        "name": "main",
        "image": IMAGE,
        "env": environment,
        "securityContext": RESTRICTED,
        "volumeMounts": [*folders, {"name": "config", "mountPath": "/config"}],
        **arguments,
    }
    volumes = [{"name": folder["name"], "emptyDir": {}} for folder in folders]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "serviceAccountName": "driver",
            "containers": [container],
            "volumes": [*volumes, {"name": "config", "configMap": {"name": "config"}}],
            **spec,
        },
    }


def rights() -> list[dict]:
    rule = {
        "apiGroups": [""],
        "resources": ["pods", "configmaps", "services", "persistentvolumeclaims"],
        "verbs": ["*"],
    }
    account = {"kind": "ServiceAccount", "name": "driver"}
    rbac = "rbac.authorization.k8s.io"
    return [
        {"apiVersion": "v1", "metadata": {"name": "driver"}, "kind": "ServiceAccount"},
        {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": {"name": "driver"}, "rules": [rule]},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "driver"},
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "driver"},
            "subjects": [account],
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "config"},
            "data": {"driver.py": DRIVER, "executor.json": json.dumps(EXECUTOR)},
        },
    ]


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    built = subprocess.run([HERE / "build"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    command("down")
    command("up", built)
    apply(*rights())
    yield
    command("down")


def finished(name: str) -> str:
    """What a pod said, once it has ended."""
    kubectl("wait", f"pod/{name}", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=300s", check=False)
    return kubectl("logs", name)


def test_understudy_is_what_a_container_runs() -> None:
    apply(pod("help", {"args": ["--help"]}))
    assert "operator" in finished("help")


def test_a_container_is_nobody_special_and_writes_only_where_it_may() -> None:
    tries = (
        "id -u; for f in /tmp /work /opt /etc; do touch $f/x 2>/dev/null && echo $f; done; command -v pip gcc"
    )
    apply(pod("shell", {"command": ["sh", "-c", f"{tries}; true"]}))
    assert finished("shell").split() == ["10001", "/tmp", "/work"]


def test_a_driver_finds_executors_on_other_nodes_and_java_uses_the_class_archive() -> None:
    apply(pod("driver", {"command": ["python", "/config/driver.py"]}))
    said = finished("driver")
    results = [
        json.loads(line.removeprefix("RESULT ")) for line in said.splitlines() if line.startswith("RESULT")
    ]
    assert results, said[-3000:]
    assert len(results[0]["hosts"]) == 2
    assert results[0]["archive"]
