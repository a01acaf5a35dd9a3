"""The story of a take-over as the new primary saw it, and of a move as the old one did.

The moments of a take-over are counted on the monotonic clock. The page shows them as wall-clock milliseconds, by the
wall clock as it was when the story began.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from understudy.runtime.clock import monotonic_ms, now_ms


@dataclass(slots=True)
class TakeOver:
    """Output stands still from `stopped` on: the last tuple that anybody received of the primary before, or the last
    sign of life that anybody had of it if that was later. It flows again when the first tuple is sent to a consumer
    that lacks it, or when all input that waited is processed and no consumer lacks a tuple (`idle`)."""

    from_: str
    cause: str
    detected: int = field(default_factory=monotonic_ms)
    heard: int | None = None  # the last sign of life that this instance had of the one that failed
    stopped: int | None = None
    lease: int | None = None
    promoted: int | None = None
    restored: int | None = None
    first_output: int | None = None
    caught_up: int | None = None
    idle: int | None = None
    replayed: int = 0
    lost: int = 0
    duplicated: int = 0
    planned: bool = False  # the former primary handed over
    received: bool = False  # whether a consumer has said that the first output came
    targets: dict[str, int] = field(default_factory=dict)  # input positions that end the catching up
    wall: int = field(default_factory=lambda: now_ms() - monotonic_ms())  # what turns moments into wall-clock time

    def __post_init__(self) -> None:
        self.note_life(self.heard)

    @property
    def over(self) -> bool:
        return self.first_output is not None or self.idle is not None

    @property
    def recovery_ms(self) -> int | None:
        """None while output stands still."""
        flows = min((at for at in (self.first_output, self.idle) if at is not None), default=None)
        if flows is None:
            return None
        return max(0, flows - (self.detected if self.stopped is None else self.stopped))

    def still_ms(self, now: int) -> int:
        """For how long output has stood still."""
        return 0 if self.over else now - (self.detected if self.stopped is None else self.stopped)

    def note_life(self, at: int | None) -> None:
        """Somebody received a tuple of the primary before, or had a sign of life. What is told late counts if nothing
        else is known."""
        if at is not None and (not self.over or self.stopped is None):
            self.stopped = at if self.stopped is None else max(self.stopped, at)

    def note_output(self, now: int) -> None:
        if self.first_output is None and self.promoted is not None:
            self.first_output = now

    def note_received(self, at: int | None) -> None:
        """A consumer says when the first tuple came: a sink that is behind writes it later than it was sent."""
        if at is not None and self.first_output is not None and not self.received:
            self.first_output, self.received = max(self.first_output, at), True

    def note_idle(self, now: int) -> None:
        """Nothing waits to be processed, and no consumer lacks a tuple."""
        if self.idle is None and self.caught_up is not None and not self.over:
            self.idle = now

    def note_positions(self, positions: Mapping[str, int], now: int) -> None:
        """Caught up: every input has come as far as there was to read when this instance took over."""
        known = self.promoted is not None and positions.keys() <= self.targets.keys()
        if self.caught_up is None and known and all(n >= self.targets[s] for s, n in positions.items()):
            self.caught_up = now

    def to_json(self) -> dict[str, Any]:
        return {
            "from": self.from_,
            "cause": self.cause,
            "heardMs": self._wall(self.heard),
            "stoppedMs": self._wall(self.stopped),
            "detectedMs": self._wall(self.detected),
            "leaseMs": self._wall(self.lease),
            "promotedMs": self._wall(self.promoted),
            "restoredMs": self._wall(self.restored),
            "firstOutputMs": self._wall(self.first_output),
            "caughtUpMs": self._wall(self.caught_up),
            "recoveryMs": self.recovery_ms,
            "replayed": self.replayed,
            "lost": self.lost,
            "duplicated": self.duplicated,
            "planned": self.planned,
        }

    def _wall(self, at: int | None) -> int | None:
        return None if at is None else at + self.wall


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
