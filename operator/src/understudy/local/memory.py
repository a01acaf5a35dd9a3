"""What a process and all that it started use of memory, as a pod would count it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from understudy.local.processes import session_members
from understudy.model.ha import MEMORY_OVERHEAD_MI, Driver
from understudy.model.value import mebibytes


def memory_percent(session: int, driver: Driver) -> float:
    """Of what a pod with such a driver would get."""
    limit = mebibytes(driver.memory) + MEMORY_OVERHEAD_MI
    return 100 * used_bytes(session_members(session)) / (limit << 20)


def used_bytes(pids: Iterable[int]) -> int:
    """Pages that several of them share count once: workers are forks."""
    return sum(_proportional(pid) for pid in pids)


def _proportional(pid: int) -> int:
    """0 of one that is gone, or that belongs to somebody else."""
    try:
        found = re.search(r"^Pss: +(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) << 10 if found else 0
