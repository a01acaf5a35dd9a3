"""Images unpacked once for all nodes.

A seed is the folder of a containerd that has imported some archives. A new node's disk begins as hard links
to it: layers and blobs are never written to, only the databases are copied. So three nodes cost one import
and one page cache. A seed is kept for all images that share its lower layers; what is on top is imported as
usual.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from . import daemons
from .archives import Archive
from .containerd import Containerd, boot_command
from .layout import CGROUP, cache_dir
from .terminal import step, wait_until

KEPT = 2
DATABASES = ("io.containerd.metadata.v1.bolt/meta.db", "io.containerd.snapshotter.v1.overlayfs/metadata.db")


def find_or_make(archives: Sequence[Archive], config: str) -> Path:
    """The seed for these archives; the first time it takes one import."""
    folder = cache_dir() / "seeds" / _key(archives, config)
    if folder.is_dir():
        folder.touch()
        return folder
    with step("unpacking images once for all nodes"):
        _make(folder, archives, config)
    _prune(folder.parent)
    return folder


def _key(archives: Sequence[Archive], config: str) -> str:
    version = subprocess.run(
        ["containerd", "--version"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    lower = [digest for archive in archives for digest in archive.layers[:-1]]
    return hashlib.sha256(repr((version, config, lower)).encode()).hexdigest()[:16]


def _make(folder: Path, archives: Sequence[Archive], config: str) -> None:
    home = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(home, ignore_errors=True)
    for part in ("lib", "log"):
        (home / part).mkdir(parents=True)
    (home / "lib/containerd.toml").write_text(config)
    with open(home / "containerd.log", "wb") as log:
        command = daemons.in_group(f"{CGROUP}/seed", boot_command(home))
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        daemon = Containerd(process.pid)
        wait_until("containerd listens", daemon.listens)
        for archive in archives:
            daemon.load(archive)
    finally:
        process.terminate()
        process.wait()
    (home / "lib/containerd").rename(folder)
    shutil.rmtree(home)


def plant(seed: Path, disk: Path) -> bool:
    """Make `disk` a copy of the seed; False if links cannot reach there, and then there is no disk."""
    disk.parent.mkdir(parents=True, exist_ok=True)
    copied = subprocess.run(["cp", "-al", seed, disk], capture_output=True, check=False)
    if copied.returncode != 0:
        shutil.rmtree(disk, ignore_errors=True)
        return False
    for database in DATABASES:
        (disk / database).unlink()
        shutil.copy2(seed / database, disk / database)
    return True


def _prune(folder: Path) -> None:
    found = sorted(folder.glob("[!.]*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in found[KEPT:]:
        shutil.rmtree(old)
