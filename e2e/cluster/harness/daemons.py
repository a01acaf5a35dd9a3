"""Long-running processes, known by pid and start time: a recycled pid is never taken for one of them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from . import cgroups
from .layout import Layout

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# The shell puts itself into the group, then becomes the daemon: nothing ever runs outside it.
_INTO_GROUP = 'echo $$ > "$0" && exec "$@"'


@dataclass(frozen=True)
class Identity:
    pid: int
    started: int
    boot: str

    @classmethod
    def of(cls, pid: int) -> Identity | None:
        """The running process with that pid; None for one that is gone or only waits to be reaped."""
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        state, started = fields[0], int(fields[19])
        return None if state in "ZX" else cls(pid, started, BOOT_ID.read_text().strip())


def in_group(group: str, argv: Sequence[str]) -> list[str]:
    """The same command, in a control group from its first instruction on."""
    return ["/bin/sh", "-c", _INTO_GROUP, str(cgroups.create_leaf(group)), *argv]


def start(layout: Layout, name: str, argv: Sequence[str], group: str) -> int:
    layout.logs.mkdir(parents=True, exist_ok=True)
    layout.pids.mkdir(parents=True, exist_ok=True)
    with open(layout.logs / f"{name}.log", "ab") as log:
        child = subprocess.Popen(
            in_group(group, argv),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
        )
    child.returncode = 0  # it outlives us: no warning, no wait
    identity = Identity.of(child.pid)
    if identity is None:
        raise SystemExit(f"{name} died at once:\n{tail(layout, name)}")
    (layout.pids / f"{name}.json").write_text(json.dumps(asdict(identity)))
    return child.pid


def names(layout: Layout) -> list[str]:
    return sorted(path.stem for path in layout.pids.glob("*.json"))


def pid(layout: Layout, name: str) -> int | None:
    """The daemon's pid if exactly that process still runs."""
    try:
        recorded = Identity(**json.loads((layout.pids / f"{name}.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return recorded.pid if Identity.of(recorded.pid) == recorded else None


def require(layout: Layout, name: str) -> int:
    """The daemon's pid, or the end of the attempt with the daemon's last words."""
    alive = pid(layout, name)
    if alive is None:
        raise SystemExit(f"{name} died:\n{tail(layout, name)}")
    return alive


def send(layout: Layout, name: str, number: signal.Signals) -> bool:
    alive = pid(layout, name)
    if alive is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(alive, number)
        return True
    return False


def forget(layout: Layout, name: str) -> None:
    (layout.pids / f"{name}.json").unlink(missing_ok=True)


def tail(layout: Layout, name: str, lines: int = 15) -> str:
    try:
        text = (layout.logs / f"{name}.log").read_text(errors="replace")
    except OSError:
        return "(no log)"
    return "\n".join(text.splitlines()[-lines:])
