"""Numbers that must not be mixed up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NewType

Seq = NewType("Seq", int)  # place of a tuple on its stream
Epoch = NewType("Epoch", int)  # how often the subjob's Lease changed hands
Stream = NewType("Stream", str)
Consumer = NewType("Consumer", str)
Millis = NewType(
    "Millis", int
)  # a moment on a clock that is never set; where it counts from is the shell's business
WallMillis = NewType("WallMillis", int)  # what the wall clock shows: since 1970, and somebody may set it


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
        """The part at and after `seq`."""
        start = min(max(self.start, seq), self.stop)
        return Range(Seq(start), self.stop)
