"""The one place that reads the clock."""

from __future__ import annotations

import time


def now_ms() -> int:
    """Wall clock, milliseconds since 1970: comparable between processes of a job."""
    return int(time.time() * 1000)


def monotonic_ms() -> int:
    """For durations within this process: a step of the wall clock does not change it."""
    return time.monotonic_ns() // 1_000_000


def now_micros() -> int:
    """The same in microseconds, as Spark counts time."""
    return time.time_ns() // 1000
