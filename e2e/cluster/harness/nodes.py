"""One node: what it runs, how it boots, how it dies, how it is cut off.

A node has its own network, /run, /var/lib and /var/log; the rest of the file system is the machine's. Its
mounts live in a namespace that dies with its last process: a dead node leaves none behind and boots afresh.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from string import Template

from . import api, cgroups, control, daemons, network, pki, seeds
from .archives import Archive
from .containerd import Containerd, boot_command
from .layout import CONFIG, CONTROL_IP, DOMAIN, PAUSE_IMAGE, Layout, Node
from .terminal import say, wait_until

PROGRAMS = ("containerd", "kubelet", "proxy")
PRIVATE = (Path("/run"), Path("/var/lib"), Path("/var/log"))
CNI_FOLDERS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))


def prepare(layout: Layout, node: Node, seed: Path | None = None) -> None:
    """The node's disk and cable, once in its life. Call inside the outer namespace."""
    if seed is not None:
        seeds.plant(seed, node.lib / "containerd")
    pki.issue_for(layout.pki, node)
    pki.kubeconfig(layout.pki, node.name, node.lib / "kubelet/kubeconfig")
    certificates = node.lib / "kubelet/pki"
    certificates.mkdir()
    for source, name in ((node.name, "kubelet.crt"), (node.name, "kubelet.key"), ("ca", "ca.crt")):
        shutil.copy(layout.pki / f"{source}{Path(name).suffix}", certificates / name)
    shutil.copy(layout.pki / "proxy.kubeconfig", node.lib / "proxy.kubeconfig")
    for folder in (node.log, node.lib / "cni/net.d"):
        folder.mkdir(parents=True)
    _configure(node)
    network.create_node(layout, node)


def containerd_config() -> str:
    """The same on all nodes."""
    cni = next((folder for folder in CNI_FOLDERS if (folder / "ptp").exists()), None)
    if cni is None:
        raise SystemExit("no CNI plugins found: run e2e/cluster/build")
    return Template((CONFIG / "containerd.toml").read_text()).substitute({"pause": PAUSE_IMAGE, "cni": cni})


def _configure(node: Node) -> None:
    (node.lib / "containerd.toml").write_text(containerd_config())
    kubelet = {"ip": node.ip, "dns": CONTROL_IP, "domain": DOMAIN, "cgroup": node.cgroup}
    proxy = control.proxy_values(node.name, "/var/lib/proxy.kubeconfig", node.ip)
    for source, target, values in (
        ("kubelet.yaml", "kubelet/config.yaml", kubelet),
        ("kube-proxy.yaml", "kube-proxy.yaml", proxy),
        ("pods.conflist", "cni/net.d/10-pods.conflist", {"subnet": node.pod_subnet}),
    ):
        (node.lib / target).write_text(Template((CONFIG / source).read_text()).substitute(values))


def boot(layout: Layout, node: Node, binaries: Path, pause: Archive) -> None:
    """Start the node's daemons in order: a kubelet that finds no container runtime dies at once."""
    cgroups.create(node.cgroup)
    inside = ["nsenter", f"--net={network.NETNS / node.netns}"]
    pid = _start(layout, node, "containerd", [*inside, *boot_command(node.home)])
    containerd = Containerd(pid)
    wait_until(
        f"containerd of {node.name} listens",
        lambda: daemons.require(layout, node.daemon("containerd")) and containerd.listens(),
    )
    containerd.load(pause)
    inside = ["nsenter", f"--target={pid}", "--mount", "--net"]
    _start(layout, node, "kubelet", [
        *(*inside, f"{binaries}/kubelet", "--config=/var/lib/kubelet/config.yaml"),
        *("--kubeconfig=/var/lib/kubelet/kubeconfig", "--cert-dir=/var/lib/kubelet/pki"),
        *(f"--hostname-override={node.name}", f"--node-ip={node.ip}"),
    ])  # fmt: skip
    _start(layout, node, "proxy", [*inside, f"{binaries}/kube-proxy", "--config=/var/lib/kube-proxy.yaml"])


def _start(layout: Layout, node: Node, program: str, argv: list[str]) -> int:
    return daemons.start(layout, node.daemon(program), argv, f"{node.cgroup}/daemons")


def alive(layout: Layout, node: Node) -> bool:
    return all(daemons.pid(layout, node.daemon(program)) for program in PROGRAMS)


def kill(layout: Layout, node: Node) -> None:
    """Every process at once; the daemons a moment before the pods, so that nobody reports a pod's death."""
    cgroups.kill(f"{node.cgroup}/daemons")
    cgroups.kill(node.cgroup)
    cgroups.remove(node.cgroup)  # or the next kubelet takes the dead pods' groups for living pods
    for program in PROGRAMS:
        daemons.forget(layout, node.daemon(program))


def lose(layout: Layout, node: Node) -> None:
    """As a power cut: first the cable, so that no dying connection says goodbye."""
    network.plug(node, up=False)
    kill(layout, node)


def start(layout: Layout, node: Node, binaries: Path, pause: Archive) -> None:
    """Boot a dead node, with its disk as it was, and wait until it has reported for duty."""
    if alive(layout, node):
        return
    kill(layout, node)
    before = api.lease_renewed(layout, node)
    network.plug(node, up=True)
    boot(layout, node, binaries, pause)

    def reports() -> bool:
        """A daemon that dies on the way makes the node boot once more, as its init would see to."""
        if not alive(layout, node):
            say(f"{node.name} did not boot:\n{daemons.tail(layout, node.daemon('kubelet'))}")
            kill(layout, node)
            boot(layout, node, binaries, pause)
        return api.lease_renewed(layout, node) > before

    try:
        wait_until(f"{node.name} reports", reports, 120)
        wait_until(f"{node.name} is ready", lambda: node.name in api.nodes_ready(layout), 120)
    except SystemExit as error:
        raise SystemExit(
            f"{error}; its kubelet said:\n{daemons.tail(layout, node.daemon('kubelet'))}"
        ) from None
