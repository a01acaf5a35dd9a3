"""The test cluster itself: it is a real Kubernetes, its faults are real, and it leaves nothing behind.

They run on a cluster of their own, beside any that is up. Needs root. Takes two to four minutes once
e2e/cluster/build has run.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NODES = ("node1", "node2", "node3")
WEBS = ("web1", "web2", "web3")
NAME = "selftest"
CGROUP = f"{NAME}-cluster"
NETNS = Path("/run/netns")
PROGRAMS = ("kube", "etcd", "coredns", "containerd", "busybox")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces, mounts and control groups need root")


def command(name: str, *args: str, check: bool = True, stdin: str = "") -> str:
    done = subprocess.run(
        [HERE / name, *args], input=stdin, capture_output=True, text=True, check=False, timeout=300
    )
    assert not check or done.returncode == 0, f"{name} {args}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


def kubectl(*args: str, check: bool = True, stdin: str = "") -> str:
    return command("run", "kubectl", *args, check=check, stdin=stdin)


def eventually(what: str, happens, seconds: float = 30.0) -> float:
    """Wait for it; returns how long it took."""
    began = time.monotonic()
    while not happens():
        assert time.monotonic() - began < seconds, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.2)
    return time.monotonic() - began


def traces() -> dict[str, set[str]]:
    """Everything that this cluster could leave behind on the machine. The folder of network namespaces is
    made by the first that there ever is, and stays."""
    listed = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    places = ("/run", "/var/lib", "/var/log", "/var/tmp", "/opt", "/usr/libexec", "/etc", "/etc/cni/net.d")
    return {
        "namespaces": {path.name for path in NETNS.glob(f"{NAME}*")},
        "links": {line.split(":")[1].strip() for line in listed.splitlines()},
        "mounts": {line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()} - {str(NETNS)},
        "cgroups": {str(path) for path in Path("/sys/fs/cgroup").glob(f"**/{CGROUP}")},
        "processes": {f"{pid} {name}" for pid, name in processes()},
        "files": {str(path) for place in places for path in Path(place).glob("*")} - {str(NETNS)},
    }


def processes() -> Iterator[tuple[int, str]]:
    """Those that look like a part of a cluster and are not in the control group of another one."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, state = (folder / "stat").read_text().partition("(")[2].rsplit(")", 1)
            groups = (folder / "cgroup").read_text()
        except OSError:
            continue
        other = "-cluster/" in groups and CGROUP not in groups
        if name.startswith(PROGRAMS) and state.split()[0] not in "ZX" and not other:
            yield int(folder.name), name


def pod(name: str, node: str, script: str = "exec httpd -f -p 8080 -h /tmp/www", **more: object) -> dict:
    serve = f"mkdir -p /tmp/www && echo {name} > /tmp/www/index.html && echo {name} is here; {script}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {
            "nodeSelector": {"kubernetes.io/hostname": node},
            "hostname": name,
            "subdomain": "peers",
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {"name": "web", "image": "localhost/pause:1", "command": ["sh", "-c", serve], **more}
            ],
        },
    }


def service(name: str, **spec: object) -> dict:
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def apply(*objects: dict) -> None:
    kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))


def fetch(from_pod: str, host: str, port: int = 8080) -> str:
    """What an HTTP server answers to a pod, or nothing."""
    request = f"printf 'GET / HTTP/1.0\\r\\n\\r\\n' | timeout 3 nc -w 2 {host} {port} | tail -n 1"
    return kubectl("exec", from_pod, "--", "sh", "-c", request, check=False)


def resolve(from_pod: str, name: str) -> set[str]:
    answer = kubectl("exec", from_pod, "--", "nslookup", f"{name}.default.svc.cluster.local", check=False)
    return {line.split()[1] for line in answer.splitlines() if line.startswith("Address: ")}


def field(kind: str, name: str, path: str) -> str:
    return kubectl("get", kind, name, "-o", f"jsonpath={{{path}}}", check=False)


@pytest.fixture(scope="module")
def before() -> dict[str, set[str]]:
    return traces()


@pytest.fixture(scope="module", autouse=True)
def cluster(before: dict[str, set[str]]) -> Iterator[None]:
    """A cluster with a web server on each node."""
    command("down")
    assert Path(command("up")).is_file()
    apply(service("web"), service("peers", clusterIP="None", publishNotReadyAddresses=True))
    apply(*(pod(f"web{node[-1]}", node) for node in NODES))
    kubectl("wait", "--for=condition=Ready", "pod", "-l", "app=web", "--timeout=60s")
    yield
    command("down")


def test_up_again_says_so_and_returns_at_once() -> None:
    began = time.monotonic()
    command("up")
    assert time.monotonic() - began < 10


def test_each_node_runs_a_pod_with_logs_and_exec() -> None:
    for number, node in enumerate(NODES, start=1):
        assert field("pod", f"web{number}", ".spec.nodeName") == node
        assert f"web{number} is here" in kubectl("logs", f"web{number}")
        assert kubectl("exec", f"web{number}", "--", "hostname") == f"web{number}"


def test_pods_reach_each_other_and_a_service_also_on_their_own_node() -> None:
    address = field("pod", "web3", ".status.podIP")
    eventually("web3 answers web1", lambda: fetch("web1", address) == "web3")
    service = field("service", "web", ".spec.clusterIP")
    answers: set[str] = set()
    eventually("all three answer", lambda: answers.add(fetch("web1", service, 80)) or answers >= set(WEBS))
    assert answers <= {*WEBS, ""}


def test_services_are_reached_from_the_machine_too() -> None:
    address = field("service", "web", ".spec.clusterIP")
    assert command("run", "curl", "-sm", "5", f"http://{address}/").startswith("web")


def test_a_headless_service_names_each_pod_and_follows_a_deletion_at_once() -> None:
    everyone = {field("pod", f"web{n}", ".status.podIP") for n in (1, 2, 3)}
    assert resolve("web1", "peers") == everyone
    assert resolve("web1", "web2.peers") == {field("pod", "web2", ".status.podIP")}
    apply(pod("web4", "node3"))
    kubectl("wait", "--for=condition=Ready", "pod", "web4", "--timeout=30s")
    eventually("the new pod has a name", lambda: resolve("web1", "web4.peers"), 5)
    kubectl("delete", "pod", "web4", "--force", "--grace-period=0")
    eventually("the old pod's name is gone", lambda: resolve("web1", "peers") == everyone, 5)


def test_a_headless_service_also_names_a_pod_that_is_not_ready() -> None:
    apply(pod("web4", "node2", readinessProbe={"exec": {"command": ["false"]}}))
    eventually("an unready pod has a name", lambda: resolve("web1", "web4.peers"), 15)
    kubectl("delete", "pod", "web4", "--force", "--grace-period=0")


def test_a_host_path_is_shared_by_the_nodes(tmp_path: Path) -> None:
    mount = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    for node in ("node1", "node2"):
        wanted = pod(f"writer-{node}", node, f"echo {node} > /shared/{node}; exec sleep 60", **mount)
        wanted["spec"]["volumes"] = [{"name": "shared", "hostPath": {"path": str(tmp_path)}}]
        wanted["metadata"]["labels"] = {"app": "writer"}
        apply(wanted)
    eventually("both wrote", lambda: {path.name for path in tmp_path.iterdir()} == {"node1", "node2"})
    kubectl("delete", "pod", "-l", "app=writer", "--force", "--grace-period=0")


def test_a_claim_gets_a_volume() -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
    apply({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": claim})
    eventually("the claim is bound", lambda: field("pvc", "data", ".status.phase") == "Bound")
    kubectl("delete", "pvc", "data")


def test_a_forced_delete_takes_a_moment() -> None:
    apply(pod("victim", "node2"))
    kubectl("wait", "--for=condition=Ready", "pod", "victim", "--timeout=30s")
    address = field("pod", "victim", ".status.podIP")
    began = time.monotonic()
    kubectl("delete", "pod", "victim", "--force", "--grace-period=0")
    assert time.monotonic() - began < 5
    eventually("its processes are gone, too", lambda: fetch("web2", address) != "victim", 10)


def test_a_stopped_pod_is_silent_and_goes_on_afterwards() -> None:
    address = field("pod", "web2", ".status.podIP")
    command("node", "node2", "stop-pod", "default/web2")
    assert fetch("web1", address) == ""
    command("node", "node2", "continue-pod", "web2")
    eventually("web2 answers again", lambda: fetch("web1", address) == "web2")


def test_a_partitioned_node_is_silent_but_alive_until_it_is_healed() -> None:
    address = field("pod", "web2", ".status.podIP")
    command("node", "node2", "partition")
    assert fetch("web1", address) == ""
    command("node", "node2", "heal")
    eventually("web2 answers again", lambda: fetch("web1", address) == "web2", 10)
    assert field("pod", "web2", ".status.containerStatuses[0].restartCount") == "0"


@pytest.mark.parametrize("death", ["kill", "lose"])
def test_a_dead_node_runs_nothing_and_comes_back(death: str) -> None:
    restarts = int(field("pod", "web3", ".status.containerStatuses[0].restartCount"))
    command("node", "node3", death)
    assert not [
        path for path in Path("/sys/fs/cgroup").glob(f"**/{CGROUP}/node3/**/cgroup.procs") if path.read_text()
    ]
    assert fetch("web1", field("pod", "web3", ".status.podIP")) == ""
    command("node", "node3", "start")
    eventually(
        "the pod was started again",
        lambda: int(field("pod", "web3", ".status.containerStatuses[0].restartCount") or 0) > restarts,
        60,
    )
    eventually("it answers", lambda: fetch("web1", field("pod", "web3", ".status.podIP")) == "web3", 30)


def test_the_api_server_can_be_away_while_pods_go_on() -> None:
    address = field("pod", "web1", ".status.podIP")
    command("apiserver", "stop")
    assert command("run", "curl", "-sm", "5", f"http://{address}:8080/") == "web1"
    assert kubectl("get", "nodes", check=False) == ""
    command("apiserver", "start")
    eventually("nodes are still known", lambda: kubectl("get", "nodes", check=False).count(" Ready") == 3)


def test_no_packet_leaves_the_machine() -> None:
    routes = command("run", "ip", "route", "get", "192.0.2.1", check=False)
    assert routes == ""
    links = command("run", "ip", "-o", "link", "show", "type", "veth")
    assert {line.split("@")[0].split()[-1] for line in links.splitlines()} == {f"v{node}" for node in NODES}


def test_down_leaves_nothing_behind(before: dict[str, set[str]]) -> None:
    command("down")
    left = {kind: found - before[kind] for kind, found in traces().items()}
    assert not {kind: found for kind, found in left.items() if found}
