"""Names, addresses and paths of the cluster. Nothing here touches the system."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
CHECKOUT = HERE.parent.parent
CONFIG = HERE / "config"

# Several clusters can be up beside each other under different names, for example one to test the cluster
# itself.
NAME = os.environ.get("UNDERSTUDY_CLUSTER") or "us"
OUTER_NETNS = f"{NAME}-host"
CGROUP = f"{NAME}-cluster"
BRIDGE = "us0"  # inside the outer namespace, as are all addresses: they do not clash

CONTROL_IP = "10.190.0.1"
LINK_PREFIX = 24
POD_CIDR = "10.191.0.0/16"
SERVICE_CIDR = "10.192.0.0/16"
SERVICE_IP = "10.192.0.1"
API_URL = f"https://{CONTROL_IP}:6443"
DOMAIN = "cluster.local"
PAUSE_IMAGE = "localhost/pause:1"

# Where Kubernetes' own hostPath provisioner puts volumes. It takes no other; this is a link to ours.
PROVISIONED_VOLUMES = Path("/tmp/hostpath_pv")


def state_dir() -> Path:
    """The folder that holds all of a running cluster's files; `down` removes it."""
    given = os.environ.get("UNDERSTUDY_CLUSTER_DIR")
    if given:
        return Path(given).absolute()
    folder = "understudy-cluster" if NAME == "us" else f"understudy-cluster-{NAME}"
    return Path(os.environ.get("XDG_STATE_HOME") or "/var/tmp") / folder


def cache_dir() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "understudy"


@dataclass(frozen=True)
class Node:
    number: int
    home: Path

    @property
    def name(self) -> str:
        return f"node{self.number}"

    @property
    def netns(self) -> str:
        return f"{NAME}-{self.name}"

    @property
    def link(self) -> str:
        """The node's cable: the end that is plugged into the bridge."""
        return f"v{self.name}"

    @property
    def ip(self) -> str:
        return f"10.190.0.{10 + self.number}"

    @property
    def pod_subnet(self) -> str:
        return f"10.191.{self.number}.0/24"

    @property
    def cgroup(self) -> str:
        return f"{CGROUP}/{self.name}"

    @property
    def lib(self) -> Path:
        """What the node sees as /var/lib."""
        return self.home / "lib"

    @property
    def log(self) -> Path:
        """What the node sees as /var/log."""
        return self.home / "log"

    def daemon(self, program: str) -> str:
        return f"{program}-{self.name}"


@dataclass(frozen=True)
class Layout:
    state: Path
    size: int = 3

    @classmethod
    def default(cls) -> Layout:
        return cls(state_dir())

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(Node(n, self.state / f"node{n}") for n in range(1, self.size + 1))

    def node(self, name: str) -> Node:
        for node in self.nodes:
            if node.name == name:
                return node
        raise SystemExit(f"no such node: {name} (there are {', '.join(n.name for n in self.nodes)})")

    @property
    def pki(self) -> Path:
        return self.state / "pki"

    @property
    def pids(self) -> Path:
        return self.state / "pids"

    @property
    def logs(self) -> Path:
        return self.state / "logs"

    @property
    def volumes(self) -> Path:
        return self.state / "volumes"

    @property
    def kubeconfig(self) -> Path:
        return self.state / "kubeconfig"
