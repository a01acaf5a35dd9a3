"""Up and down. Both can be cut at any point and run again."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from . import api, cgroups, control, daemons, images, network, nodes, seeds
from .archives import Archive
from .layout import CGROUP, OUTER_NETNS, PROVISIONED_VOLUMES, Layout
from .terminal import say, step, wait_until

# A kubelet sets these for the whole machine; `down` puts them back.
KERNEL_TUNABLES = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)


@contextmanager
def alone() -> Iterator[None]:
    """One `up` or `down` at a time on this machine. The lock is on a folder: no lock file is left."""
    fd = os.open("/run", os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def anything_left(layout: Layout) -> bool:
    namespaces = (OUTER_NETNS, *(node.netns for node in layout.nodes))
    return layout.state.exists() or cgroups.exists(CGROUP) or any(map(network.exists, namespaces))


def why_unhealthy(layout: Layout) -> str | None:
    """None if the cluster is up and whole."""
    if not network.exists(OUTER_NETNS) or not layout.kubeconfig.exists():
        return "it is not up"
    network.enter(OUTER_NETNS)
    dead = [name for name in daemons.names(layout) if daemons.pid(layout, name) is None]
    down = [node.name for node in layout.nodes if not nodes.alive(layout, node) or not network.plugged(node)]
    if dead or down:
        return f"not running: {', '.join([*dead, *down])}"
    if not api.ready(layout):
        return "the API server does not answer"
    missing = {node.name for node in layout.nodes} - api.nodes_ready(layout)
    if missing:
        return f"not ready: {', '.join(sorted(missing))}"
    return None if control.dns_answers() else "DNS does not answer"


def up(layout: Layout, binaries: Path, archives: Sequence[Archive] = ()) -> None:
    """Start the cluster, unless it is healthy, and see that it has these images."""
    refuse_bad_place(layout)
    with alone():
        reason = why_unhealthy(layout)
        if reason is None:
            say("the cluster is up and healthy")
        else:
            if anything_left(layout):
                say(f"taking down what is left of a cluster: {reason}")
                _down(layout)
            _up(layout, binaries, [images.pause_archive(), *archives])
        if archives:
            with step("loading images"):
                images.load(layout, archives)


def refuse_bad_place(layout: Layout) -> None:
    for folder in nodes.PRIVATE:
        if layout.state.is_relative_to(folder):
            raise SystemExit(f"the cluster's state cannot be under {folder}: each node has its own")


def _up(layout: Layout, binaries: Path, archives: Sequence[Archive]) -> None:
    pause, *others = archives
    seed = seeds.find_or_make(archives, nodes.containerd_config()) if others else None
    layout.state.mkdir(parents=True, mode=0o755)
    _remember_tunables(layout)
    with step("network and control plane"):
        network.create_outer()
        control.prepare(layout)
        control.start(layout, binaries)
    with step(f"{layout.size} nodes"):
        for node in layout.nodes:
            nodes.prepare(layout, node, seed)
        with ThreadPoolExecutor(layout.size) as pool:
            list(pool.map(lambda node: nodes.boot(layout, node, binaries, pause), layout.nodes))
        wait_until("all nodes are ready", lambda: _everyone_ready(layout), 120)
    with step("services and DNS"):
        control.launch(layout, binaries, "proxy")
        wait_until("DNS answers", control.dns_answers)
        wait_until("the default service account exists", lambda: api.default_account_exists(layout))


def _everyone_ready(layout: Layout) -> bool:
    for name in daemons.names(layout):
        daemons.require(layout, name)
    return api.nodes_ready(layout) == {node.name for node in layout.nodes}


def down(layout: Layout) -> None:
    with alone():
        _down(layout)


def _down(layout: Layout) -> None:
    """By what is there, not by what should be: also for a cluster that died on the way up."""
    cgroups.kill(CGROUP)
    network.destroy(layout)
    cgroups.remove(CGROUP)
    _restore_tunables(layout)
    if PROVISIONED_VOLUMES.is_symlink() and PROVISIONED_VOLUMES.readlink() == layout.volumes:
        PROVISIONED_VOLUMES.unlink()
    if layout.state.exists():
        shutil.rmtree(layout.state)


def _remember_tunables(layout: Layout) -> None:
    files = [Path("/proc/sys") / name for name in KERNEL_TUNABLES]
    (layout.state / "tunables.json").write_text(
        json.dumps({str(f): f.read_text() for f in files if f.exists()})
    )


def _restore_tunables(layout: Layout) -> None:
    try:
        before = json.loads((layout.state / "tunables.json").read_text())
    except (OSError, ValueError):
        return
    for file, value in before.items():
        if Path(file).read_text() != value:
            Path(file).write_text(value)
