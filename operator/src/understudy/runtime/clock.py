"""The one place that reads the clock."""

from __future__ import annotations

import time

from understudy.protocol.ids import Millis


def now_ms() -> int:
    """Wall clock, milliseconds since 1970: comparable between processes of a job."""
    return int(time.time() * 1000)


def now_micros() -> int:
    """The same in microseconds, as Spark counts time."""
    return time.time_ns() // 1000


def monotonic_ms() -> Millis:
    """For how long something lasts: it never goes back, and means nothing to another machine."""
    return Millis(int(time.monotonic() * 1000))
