"""The memory used by a process and all that it started, as a pod would count it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from understudy.local.processes import session_members
from understudy.model.ha import MEMORY_OVERHEAD_MI, Driver
from understudy.model.value import mebibytes


def memory_percent(session: int, driver: Driver) -> float:
    """Percent of the memory that a pod with such a driver would have."""
    limit = mebibytes(driver.memory) + MEMORY_OVERHEAD_MI
    return 100 * used_bytes(session_members(session)) / (limit << 20)


def used_bytes(pids: Iterable[int]) -> int:
    """Pages that several processes share count once, because workers are forks."""
    return sum(_proportional(pid) for pid in pids)


def _proportional(pid: int) -> int:
    """0 if the process is gone, or belongs to another user."""
    try:
        found = re.search(r"^Pss: +(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) << 10 if found else 0
