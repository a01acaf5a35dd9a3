"""The story of a take-over as the new primary saw it, and of a move as the old one did.

Moments are kept on the steady clock, so that what lies between them is right, and shown as wall-clock milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from understudy.protocol.ids import Millis, WallMillis
from understudy.runtime.clock import Anchor


@dataclass(slots=True)
class TakeOver:
    from_: str
    cause: str
    detected: Millis
    heard: Millis | None = None  # the last sign of life of the one that failed
    lease: Millis | None = None
    promoted: Millis | None = None
    restored: Millis | None = None
    first_output: Millis | None = None
    caught_up: Millis | None = None
    replayed: int = 0
    lost: int = 0
    duplicated: int = 0
    planned: bool = False  # the former primary handed over
    targets: dict[str, int] = field(default_factory=dict)  # input positions that end the catching up
    anchor: Anchor = field(default_factory=Anchor.now)
    made_output: bool = False  # something new was made, whether or not consumers may have it yet

    def note_output(self, now: Millis) -> None:
        """Something new is there for whoever asks. That nobody asks, because the only sink is gone, is its failure."""
        if self.first_output is None and self.promoted is not None:
            self.first_output = now

    def note_positions(self, positions: Mapping[str, int], now: Millis) -> None:
        """Caught up: every input has come as far as there was to read when this instance took over."""
        if self.caught_up is None and all(positions.get(s, 0) >= n for s, n in self.targets.items()):
            self.caught_up = now

    def to_json(self) -> dict[str, Any]:
        return {
            "from": self.from_,
            "cause": self.cause,
            "heardMs": _shown(self.anchor, self.heard),
            "detectedMs": _shown(self.anchor, self.detected),
            "leaseMs": _shown(self.anchor, self.lease),
            "promotedMs": _shown(self.anchor, self.promoted),
            "restoredMs": _shown(self.anchor, self.restored),
            "firstOutputMs": _shown(self.anchor, self.first_output),
            "caughtUpMs": _shown(self.anchor, self.caught_up),
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
    requested: Millis
    paused: Millis | None = None  # no further micro-batch is begun
    settled: Millis | None = None  # none is under way any more
    handed: Millis | None = None
    left: Millis | None = None  # the target leads
    given_up: str | None = None
    bytes: int = 0  # all that was sent to the target, in the end
    anchor: Anchor = field(default_factory=Anchor.now)

    def to_json(self) -> dict[str, Any]:
        return {
            "to": self.target,
            "why": self.why,
            "requestedMs": _shown(self.anchor, self.requested),
            "pausedMs": _shown(self.anchor, self.paused),
            "settledMs": _shown(self.anchor, self.settled),
            "handedOverMs": _shown(self.anchor, self.handed),
            "leftMs": _shown(self.anchor, self.left),
            "givenUp": self.given_up,
            "bytes": self.bytes,
        }


def _shown(anchor: Anchor, moment: Millis | None) -> WallMillis | None:
    return anchor.shown(moment) if moment is not None else None
