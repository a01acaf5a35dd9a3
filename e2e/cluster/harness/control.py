"""The control plane: plain processes in the outer namespace."""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
from pathlib import Path
from string import Template

from . import api, daemons, pki
from .layout import (
    API_URL,
    CGROUP,
    CONFIG,
    CONTROL_IP,
    DOMAIN,
    PROVISIONED_VOLUMES,
    SERVICE_CIDR,
    SERVICE_IP,
    Layout,
)
from .terminal import wait_until

GROUP = f"{CGROUP}/control"
ETCD = "http://127.0.0.1:2379"

STORAGE_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "kubernetes.io/host-path",
}


def prepare(layout: Layout) -> None:
    pki.create_authority(layout.pki)
    for name, (subject, names) in pki.CONTROL_CERTIFICATES.items():
        pki.issue(layout.pki, name, subject, names)
    pki.kubeconfig(layout.pki, "admin", layout.kubeconfig)
    for name in ("controller-manager", "scheduler", "proxy", "dns"):
        pki.kubeconfig(layout.pki, name, layout.pki / f"{name}.kubeconfig")
    _write(
        layout,
        "Corefile",
        {"ip": CONTROL_IP, "domain": DOMAIN, "api": API_URL, "kubeconfig": layout.pki / "dns.kubeconfig"},
    )
    _write(layout, "kube-proxy.yaml", proxy_values("node1", layout.pki / "proxy.kubeconfig", CONTROL_IP))
    layout.volumes.mkdir()
    if not os.path.lexists(PROVISIONED_VOLUMES):
        PROVISIONED_VOLUMES.symlink_to(layout.volumes)


def proxy_values(node_name: str, kubeconfig: Path | str, address: str) -> dict[str, object]:
    return {"node": node_name, "kubeconfig": kubeconfig, "ip": address}


def _write(layout: Layout, name: str, values: dict[str, object]) -> None:
    (layout.state / name).write_text(Template((CONFIG / name).read_text()).substitute(values))


def _argv(layout: Layout, binaries: Path) -> dict[str, list[str]]:
    p = layout.pki
    manager, scheduler = p / "controller-manager.kubeconfig", p / "scheduler.kubeconfig"
    return {
        "etcd": [
            f"{binaries}/etcd",
            f"--data-dir={layout.state}/etcd",
            f"--listen-client-urls={ETCD}",
            f"--advertise-client-urls={ETCD}",
            "--listen-peer-urls=http://127.0.0.1:2380",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ],
        "apiserver": [
            f"{binaries}/kube-apiserver",
            f"--etcd-servers={ETCD}",
            f"--bind-address={CONTROL_IP}",
            f"--advertise-address={CONTROL_IP}",
            "--secure-port=6443",
            f"--tls-cert-file={p}/apiserver.crt",
            f"--tls-private-key-file={p}/apiserver.key",
            f"--client-ca-file={p}/ca.crt",
            f"--kubelet-client-certificate={p}/kubelet-client.crt",
            f"--kubelet-client-key={p}/kubelet-client.key",
            f"--kubelet-certificate-authority={p}/ca.crt",
            "--kubelet-preferred-address-types=InternalIP",
            f"--service-account-issuer=https://kubernetes.default.svc.{DOMAIN}",
            f"--service-account-key-file={p}/service-accounts.pub",
            f"--service-account-signing-key-file={p}/service-accounts.key",
            f"--service-cluster-ip-range={SERVICE_CIDR}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged",
        ],
        "controller-manager": [
            f"{binaries}/kube-controller-manager",
            f"--kubeconfig={manager}",
            f"--authentication-kubeconfig={manager}",
            f"--authorization-kubeconfig={manager}",
            f"--root-ca-file={p}/ca.crt",
            f"--service-account-private-key-file={p}/service-accounts.key",
            "--use-service-account-credentials",
            "--allocate-node-cidrs=false",
            "--leader-elect=false",
            "--enable-hostpath-provisioner",
            f"--flex-volume-plugin-dir={layout.state}/volume-plugins",
            "--kube-api-qps=100",
            "--kube-api-burst=200",
        ],
        "scheduler": [
            f"{binaries}/kube-scheduler",
            f"--kubeconfig={scheduler}",
            f"--authentication-kubeconfig={scheduler}",
            f"--authorization-kubeconfig={scheduler}",
            "--leader-elect=false",
        ],
        # So that the API server reaches webhooks, and a test on the machine any service.
        "proxy": [f"{binaries}/kube-proxy", f"--config={layout.state}/kube-proxy.yaml"],
        "dns": [f"{binaries}/coredns", "-conf", f"{layout.state}/Corefile", "-quiet"],
        "volumes": [sys.executable, "-c", _OPEN_VOLUMES, str(layout.volumes)],
    }


# The provisioner makes folders that only root may enter, and Kubernetes applies no fsGroup to them.
_OPEN_VOLUMES = """
import contextlib, os, sys, time
while True:
    for volume in os.scandir(sys.argv[1]):
        with contextlib.suppress(FileNotFoundError):
            if volume.stat().st_mode & 0o777 != 0o777:
                os.chmod(volume.path, 0o777)
    time.sleep(0.2)
"""


def launch(layout: Layout, binaries: Path, name: str) -> None:
    daemons.start(layout, name, _argv(layout, binaries)[name], GROUP)


def start(layout: Layout, binaries: Path) -> None:
    """etcd and the API server first: the others give up or back off if nobody answers."""
    launch(layout, binaries, "etcd")
    start_apiserver(layout, binaries)
    for name in ("controller-manager", "scheduler", "dns", "volumes"):
        launch(layout, binaries, name)
    wait_until(
        "a storage class can be made", lambda: api.call(layout, _STORAGE_PATH, STORAGE_CLASS) is not None
    )


_STORAGE_PATH = "/apis/storage.k8s.io/v1/storageclasses"


def start_apiserver(layout: Layout, binaries: Path) -> None:
    if daemons.pid(layout, "apiserver") is None:
        launch(layout, binaries, "apiserver")
    wait_until("the API server is ready", lambda: daemons.require(layout, "apiserver") and api.ready(layout))


def stop_apiserver(layout: Layout) -> None:
    daemons.send(layout, "apiserver", signal.SIGKILL)
    wait_until("the API server is gone", lambda: daemons.pid(layout, "apiserver") is None, every=0.02)


def dns_answers() -> bool:
    """Whether the cluster's DNS knows the API server's own service."""
    name = f"kubernetes.default.svc.{DOMAIN}"
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    query = struct.pack(">6H", 1, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">BHH", 0, 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(0.5)
        try:
            client.sendto(query, (CONTROL_IP, 53))
            return client.recv(512).endswith(socket.inet_aton(SERVICE_IP))
        except OSError:
            return False
