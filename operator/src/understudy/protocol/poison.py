"""A poison plan: a micro-batch that needs more memory than there is. Every instance that runs it is
OOM-killed, one after the other.

| an instance is OOM-killed | the count |
|---|---|
| and it had caught up with its predecessor, or has none | begins at one |
| before it had caught up with a predecessor that was killed, too | is one higher: neither got past the plan |

An instance has caught up when it has processed all input that was available when it took over, so also the
micro-batch that was running then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

TWICE: Final = 2

Place = Mapping[str, tuple[int, int]]
"""Input → the position, and the end of the available tuples: the running micro-batch was in between."""


@dataclass(frozen=True, slots=True)
class Kills:
    """OOM kills of the instances of one subjob since one of them last caught up."""

    count: int = 0
    place: Place | None = None

    def killed(self, had_caught_up: bool, place: Place) -> Kills:
        return Kills(1 if had_caught_up else self.count + 1, place or self.place)

    @property
    def poisonous(self) -> bool:
        return self.count >= TWICE


def sentence(subjob: str, kills: Kills, limit: str) -> str:
    """What has happened, at which input, and what to do about it."""
    found = (kills.place or {}).items()
    where = ", ".join(f"{stream} from {start} to {max(start, stop)}" for stream, (start, stop) in found)
    return (
        f"{subjob} was OOM-killed {kills.count} times at the same place ({where or 'unknown'}), "
        f"with a memory limit of {limit}, primary and standby counted together: no instance gets past it. "
        "Give it more memory (spark.driver.memory), or let it hold less: a smaller window, fewer groups"
    )
