"""Periodic work: once in each interval of the shell's clock."""

from __future__ import annotations

from understudy.protocol.ids import Millis


def due(last: Millis | None, now: Millis, interval: int) -> bool:
    """Whether a new interval has begun since the work was last done. Intervals begin at the multiples of
    `interval`."""
    return last is None or interval <= 0 or now // interval > last // interval
