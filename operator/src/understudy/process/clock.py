"""The one place that reads the clocks.

| clock | for | type |
|---|---|---|
| steady | what is suspected, given up or measured: silence, timeouts, ages, durations | `Millis` |
| wall | what people read, and what is compared between machines | `WallMillis` |

A step of the wall clock must neither delay a suspicion nor cause one. The types keep the two apart.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from understudy.protocol.ids import Millis, WallMillis


def steady_ms() -> Millis:
    """Monotonic, and never set. Its origin is arbitrary."""
    return Millis(time.monotonic_ns() // 1_000_000)


def now_ms() -> WallMillis:
    """Wall clock, milliseconds since 1970: comparable between processes of a job."""
    return WallMillis(int(time.time() * 1000))


def now_micros() -> int:
    """Wall clock in microseconds, as Spark counts time."""
    return time.time_ns() // 1000


@dataclass(frozen=True, slots=True)
class Anchor:
    """What the wall clock showed at one moment. It converts steady times to wall-clock times, without later
    steps of the wall clock."""

    wall: WallMillis
    steady: Millis

    @classmethod
    def now(cls) -> Anchor:
        return cls(now_ms(), steady_ms())

    def shown(self, moment: Millis) -> WallMillis:
        return WallMillis(self.wall + moment - self.steady)

    def wall_now(self) -> WallMillis:
        """What the wall clock would show now if it had not been set since."""
        return self.shown(steady_ms())
