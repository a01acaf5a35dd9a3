"""The descendants of a process: their names, and the processor time that they use."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    """The process and its descendants, parents first."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found = [pid]
    for each in found:
        found += children.get(each, ())
    return found


def name_of(pid: int) -> str:
    """The name of its program; empty if the process has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def time_used(pids: Iterable[int]) -> int:
    """The processor time that they have used so far, in milliseconds."""
    used = 0
    for pid in pids:
        with suppress(OSError, ValueError, IndexError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            used += (int(fields[11]) + int(fields[12])) * 1000 // TICKS
    return used


def stopped(pids: Iterable[int]) -> int | None:
    """The first process that is stopped by a signal (SIGSTOP), if there is one."""
    for pid in pids:
        with suppress(OSError, IndexError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
                return pid
    return None


def time_waited(pids: Iterable[int]) -> int:
    """The time that their threads have waited for the processor so far, in milliseconds."""
    return sum(waited for pid in pids for waited in _waits(pid))


def _waits(pid: int) -> Iterator[int]:
    """For each thread the time it has waited for the processor; empty if the kernel does not report it."""
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError, ValueError, IndexError):
                yield int(Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[1]) // 1_000_000


def kill_all(pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
