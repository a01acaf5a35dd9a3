"""Tuples over time: counts in pieces of time, and rates. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from understudy.console.seen import Arrived
from understudy.console.view import Series

PIECES: Final = 120
LEAST_MS: Final = 100
WINDOW_MS: Final = 2_000
"""A rate is that of the last two seconds."""

Counts = Mapping[tuple[str, str], int]


def series(
    sink: str, arrivals: Sequence[Arrived], begin_ms: int, end_ms: int, pieces: int = PIECES
) -> Series:
    """The tuples that came from `begin_ms` until `end_ms`. Widths are 1, 2 or 5 times a power of ten, so that
    a chart of a live run does not change with every look."""
    width = round_width(max(end_ms - begin_ms, 1) / pieces)
    count = max(1, -(-(end_ms - begin_ms) // width))
    first = bisect_left(arrivals, begin_ms, key=lambda a: a.at_ms)
    before = arrivals[first - 1].tuples if first else 0
    counts = [0] * count
    for at in arrivals[first:]:
        if at.at_ms >= begin_ms + count * width:
            break
        counts[(at.at_ms - begin_ms) // width] += at.tuples - before
        before = at.tuples
    return Series(sink, begin_ms, width, tuple(counts))


def round_width(least_ms: float) -> int:
    width = LEAST_MS
    while True:
        for times in (1, 2, 5):
            if width * times >= least_ms:
                return width * times
        width *= 10


@dataclass(frozen=True, slots=True)
class Rates:
    """Tuples per second of each (stream, consumer), from counts that were seen one after the other."""

    looks: tuple[tuple[int, Counts], ...] = ()
    per_second: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def seen(self, now_ms: int, counts: Counts) -> Rates:
        kept = tuple(look for look in self.looks if look[0] >= now_ms - WINDOW_MS)
        looks = (*(kept or self.looks[-1:]), (now_ms, counts))
        then, before = looks[0]
        seconds = (now_ms - then) / 1000
        if not seconds:
            return Rates(looks, self.per_second)
        return Rates(
            looks, {k: max(0, count - before[k]) / seconds for k, count in counts.items() if k in before}
        )
