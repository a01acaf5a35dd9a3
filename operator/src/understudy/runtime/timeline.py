"""The story of a take-over as the new primary saw it, and of a move as the old one did, in wall-clock milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class TakeOver:
    from_: str
    cause: str
    detected: int
    heard: int | None = None  # the last sign of life of the one that failed
    lease: int | None = None
    promoted: int | None = None
    restored: int | None = None
    first_output: int | None = None
    caught_up: int | None = None
    replayed: int = 0
    lost: int = 0
    duplicated: int = 0
    planned: bool = False  # the former primary handed over
    targets: dict[str, int] = field(default_factory=dict)  # input positions that end the catching up
    made_output: bool = False  # something new was made, whether or not consumers may have it yet

    def note_output(self, now: int) -> None:
        """Something new is there for whoever asks. That nobody asks, because the only sink is gone, is its failure."""
        if self.first_output is None and self.promoted is not None:
            self.first_output = now

    def note_positions(self, positions: Mapping[str, int], now: int) -> None:
        """Caught up: every input has come as far as there was to read when this instance took over."""
        if self.caught_up is None and all(positions.get(s, 0) >= n for s, n in self.targets.items()):
            self.caught_up = now

    def to_json(self) -> dict[str, Any]:
        return {
            "from": self.from_,
            "cause": self.cause,
            "heardMs": self.heard,
            "detectedMs": self.detected,
            "leaseMs": self.lease,
            "promotedMs": self.promoted,
            "restoredMs": self.restored,
            "firstOutputMs": self.first_output,
            "caughtUpMs": self.caught_up,
            "replayed": self.replayed,
            "lost": self.lost,
            "duplicated": self.duplicated,
            "planned": self.planned,
        }


@dataclass(slots=True)
class Departure:
    """A move away from this instance."""

    target: str
    why: str
    requested: int
    paused: int | None = None  # no further micro-batch is begun
    settled: int | None = None  # none is under way any more
    handed: int | None = None
    left: int | None = None  # the target leads
    given_up: str | None = None
    bytes: int = 0  # all that was sent to the target, in the end

    def to_json(self) -> dict[str, Any]:
        return {
            "to": self.target,
            "why": self.why,
            "requestedMs": self.requested,
            "pausedMs": self.paused,
            "settledMs": self.settled,
            "handedOverMs": self.handed,
            "leftMs": self.left,
            "givenUp": self.given_up,
            "bytes": self.bytes,
        }
