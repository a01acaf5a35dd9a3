"""How several inputs become one sequence.

`arrival`: in the order of arrival; the order is part of the element's state, as runs. `eventTime`: by
(greatest event time so far on the tuple's own stream, the input's place in the manifest, seq). The first of
these never decreases along a stream, so each stream is already in order. Merging only needs the *progress* of
each stream: the greatest event time of a later tuple can't be less than the progress.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from understudy.protocol.selection import UNKNOWN, Micros, Times

Places: TypeAlias = npt.NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Pending:
    """One input's tuples that are not merged yet, and what is known of those that have not arrived."""

    greatest: Times
    """Per tuple: the greatest event time on its stream up to and including it; never decreases."""
    progress: Micros
    """No tuple that has not arrived yet will have a lesser event time; `UNKNOWN` if nothing is known."""
    complete: bool
    """Every tuple up to the stream's end has arrived."""

    @property
    def bound(self) -> Micros:
        return max(self.progress, int(self.greatest[-1])) if len(self.greatest) else self.progress


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive tuples of one input that are neighbours in the merged sequence."""

    place: int
    start: int
    stop: int

    def to_list(self) -> list[int]:
        return [self.place, self.start, self.stop]

    @classmethod
    def of(cls, value: Sequence[Any]) -> Run:
        place, start, stop = value
        return cls(int(place), int(start), int(stop))


def mergeable(inputs: Sequence[Pending]) -> list[int]:
    """How many pending tuples of each input have a place that no later arrival can change."""
    return [_settled(place, pending, inputs) for place, pending in enumerate(inputs)]


def _settled(place: int, pending: Pending, inputs: Sequence[Pending]) -> int:
    count = len(pending.greatest)
    for other, their in enumerate(inputs):
        if other != place and not their.complete:
            # at equal times the earlier input goes first
            side: Literal["left", "right"] = "right" if place < other else "left"
            count = min(count, int(np.searchsorted(pending.greatest, their.bound, side=side)))
    return count


def merge(greatest: Sequence[Times]) -> Places:
    """For each tuple of the merged sequence, the input from which it comes. Tuples of one input keep their
    order."""
    places = np.repeat(np.arange(len(greatest), dtype=np.int16), [len(g) for g in greatest])
    order = np.lexsort((places, np.concatenate(greatest))) if len(greatest) else np.empty(0, np.int64)
    return places[order]


def places_of(runs: Iterable[Run]) -> Places:
    runs = list(runs)
    return np.repeat(np.array([r.place for r in runs], np.int16), [r.stop - r.start for r in runs])


def runs_of(places: Places, starts: Sequence[int]) -> tuple[Run, ...]:
    """The same sequence as runs; `starts[i]` is the seq of the first tuple of input i in it."""
    if not len(places):
        return ()
    edges = [0, *(np.flatnonzero(np.diff(places)) + 1).tolist(), len(places)]
    nexts, runs = list(starts), []
    for begin, end in pairwise(edges):
        place = int(places[begin])
        runs.append(Run(place, nexts[place], nexts[place] + end - begin))
        nexts[place] += end - begin
    return tuple(runs)


def greatest_of(times: Times, before: Micros = UNKNOWN) -> Times:
    """Running greatest event time; tuples without event time leave it unchanged."""
    return np.maximum.accumulate(np.concatenate((np.array([before], np.int64), times)))[1:]
