"""The duplicate filter: accept a tuple iff its seq is greater than the greatest accepted (Xiao, Algorithm 2).

It works on ranges: it returns the new part of an arriving range. Streams have no holes, so a range that
starts after the expected seq means loss, and is reported as a Hole.
"""

from __future__ import annotations

from dataclasses import dataclass

from understudy.protocol.ids import Range, Seq


@dataclass(frozen=True, slots=True)
class Hole:
    """Tuples that were skipped: those in `missing` did not arrive before those in `arrived`."""

    missing: Range
    arrived: Range


@dataclass(frozen=True, slots=True)
class DuplicateFilter:
    expected: Seq = Seq(0)

    def accept(self, arrived: Range) -> tuple[DuplicateFilter, Range | Hole]:
        if arrived.start > self.expected:
            return self, Hole(Range(self.expected, arrived.start), arrived)
        new = arrived.from_(self.expected)
        return DuplicateFilter(Seq(max(self.expected, arrived.stop))), new
