"""Image archives into the nodes' containerds. A node that already holds an archive's digest is left alone."""

from __future__ import annotations

import json
import subprocess
import tarfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import daemons
from .layout import CHECKOUT, Layout, Node

NAME = "io.containerd.image.name"


def pause_archive() -> Path:
    made = subprocess.run([CHECKOUT / "images/pause"], check=True, stdout=subprocess.PIPE, text=True)
    return Path(made.stdout.strip())


def _ctr(layout: Layout, node: Node, *args: str) -> list[str]:
    """The node's own /run is seen through its containerd's root."""
    pid = daemons.pid(layout, node.daemon("containerd"))
    if pid is None:
        raise SystemExit(f"{node.name} is down")
    return ["ctr", "-a", f"/proc/{pid}/root/run/containerd/containerd.sock", "-n", "k8s.io", *args]


def listens(layout: Layout, node: Node) -> bool:
    daemons.require(layout, node.daemon("containerd"))
    probe = subprocess.run(_ctr(layout, node, "version"), capture_output=True, check=False)
    return probe.returncode == 0


def identify(archive: Path) -> dict[str, str]:
    """Image names and digests in an OCI archive; nothing for other kinds, which are then always imported."""
    with tarfile.open(archive) as tar:
        try:
            index = tar.extractfile("index.json")
        except KeyError:
            return {}
        manifests = json.load(index)["manifests"] if index else []
    named = {m.get("annotations", {}).get(NAME): m["digest"] for m in manifests}
    return {} if None in named else named


def present(layout: Layout, node: Node) -> dict[str, str]:
    listed = subprocess.run(_ctr(layout, node, "images", "ls"), check=True, stdout=subprocess.PIPE, text=True)
    rows = [line.split() for line in listed.stdout.splitlines()[1:]]
    return {row[0]: row[2] for row in rows}


def load_into(layout: Layout, node: Node, archive: Path) -> bool:
    """Whether there was anything to do."""
    wanted = identify(archive)
    if wanted and wanted.items() <= present(layout, node).items():
        return False
    with open(archive, "rb") as stream:
        command = _ctr(layout, node, "images", "import", "--snapshotter", "overlayfs", "-")
        done = subprocess.run(command, stdin=stream, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{node.name} refuses {archive}: {done.stderr.strip()}")
    return True


def load(layout: Layout, archives: Sequence[Path]) -> int:
    """Into every living node at the same time; returns how many imports were needed."""
    living = [node for node in layout.nodes if daemons.pid(layout, node.daemon("containerd"))]
    with ThreadPoolExecutor(len(living) or 1) as pool:
        done = [pool.submit(load_into, layout, node, archive) for archive in archives for node in living]
        return sum(future.result() for future in done)
