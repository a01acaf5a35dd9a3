"""Types for numbers and names that must not be confused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NewType

Seq = NewType("Seq", int)  # place of a tuple on its stream
Epoch = NewType("Epoch", int)  # how often the subjob's Lease changed hands
Stream = NewType("Stream", str)
Consumer = NewType("Consumer", str)
Millis = NewType("Millis", int)  # a time on a monotonic clock; its origin is the shell's business
WallMillis = NewType("WallMillis", int)  # a time on the wall clock: since 1970; the clock may be set


def positions(by_name: Mapping[str, int]) -> dict[Stream, Seq]:
    return {Stream(name): Seq(at) for name, at in by_name.items()}


@dataclass(frozen=True, slots=True)
class Range:
    """Consecutive tuples of one stream: `[start, stop)`."""

    start: Seq
    stop: Seq

    def __post_init__(self) -> None:
        if self.stop < self.start:
            raise ValueError(f"range ends before it starts: [{self.start}, {self.stop})")

    def __len__(self) -> int:
        return self.stop - self.start

    def from_(self, seq: Seq) -> Range:
        """The part from `seq` on."""
        start = min(max(self.start, seq), self.stop)
        return Range(Seq(start), self.stop)
