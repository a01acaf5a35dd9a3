"""Control groups: every process of the cluster is in one below CGROUP, however it was started.

On version 1 each controller is a hierarchy of its own and `pids` is the one that we follow processes in;
on version 2 there is only one.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def unified() -> bool:
    return (ROOT / "cgroup.controllers").exists()


def hierarchies() -> list[Path]:
    if unified():
        return [ROOT]
    return [path for path in sorted(ROOT.iterdir()) if path.is_dir() and not path.is_symlink()]


def tracker() -> Path:
    return ROOT if unified() else ROOT / "pids"


def create(group: str) -> None:
    """Make the group in every hierarchy; the kubelet wants its root to be there with all controllers."""
    for hierarchy in hierarchies():
        path = hierarchy
        for part in Path(group).parts:
            if unified():
                _delegate(path)
            path = path / part
            path.mkdir(exist_ok=True)


def _delegate(path: Path) -> None:
    for controller in (path / "cgroup.controllers").read_text().split():
        (path / "cgroup.subtree_control").write_text(f"+{controller}")


def create_leaf(group: str) -> Path:
    """A group that holds processes and is only there to find them again. Returns the file that takes pids."""
    path = tracker() / group
    path.mkdir(parents=True, exist_ok=True)
    return path / "cgroup.procs"


def members(group: str) -> list[int]:
    found: list[int] = []
    for folder, _, _ in os.walk(tracker() / group):
        try:
            found += map(int, (Path(folder) / "cgroup.procs").read_text().split())
        except OSError:
            continue  # removed while we looked
    return found


def signal_all(group: str, number: int) -> int:
    """Send a signal to every process of the group; returns to how many."""
    sent = 0
    for pid in members(group):
        try:
            os.kill(pid, number)
            sent += 1
        except ProcessLookupError:
            continue
    return sent


def kill(group: str, seconds: float = 20.0) -> None:
    """End every process of the group, also those that are born meanwhile."""
    end = time.monotonic() + seconds
    while signal_all(group, signal.SIGKILL):
        if time.monotonic() > end:
            raise SystemExit(f"processes of {group} do not die: {members(group)}")
        time.sleep(0.02)


def remove(group: str) -> None:
    for hierarchy in hierarchies():
        for folder, _, _ in os.walk(hierarchy / group, topdown=False):
            _rmdir(Path(folder))


def _rmdir(folder: Path, tries: int = 50) -> None:
    for _ in range(tries):
        try:
            return folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.02)  # busy for a moment after its last process died


def find(group: str, name: str) -> str | None:
    """The path of the group called `name` somewhere below `group`."""
    for folder, names, _ in os.walk(tracker() / group):
        if name in names:
            return str((Path(folder) / name).relative_to(tracker()))
    return None


def exists(group: str) -> bool:
    return any((hierarchy / group).exists() for hierarchy in hierarchies())
