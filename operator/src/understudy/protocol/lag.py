"""How far a consumer is behind. The kubectl plugin prints it, too: this module imports only Python itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a consumer is behind the end of its stream."""

    tuples: int
    milliseconds: int
    """How long the oldest of these tuples has been in the stream."""

    def __str__(self) -> str:
        return f"{self.tuples:,} tuples, {self.milliseconds / 1000:.1f} s" if self.tuples else "none"
