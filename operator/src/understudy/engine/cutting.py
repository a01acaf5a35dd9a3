"""Where the next batch plan ends, what it reads, and how it is split: functions of a sequence and a rule."""

from __future__ import annotations

from collections.abc import Sequence as Items
from dataclasses import dataclass
from itertools import pairwise
from typing import assert_never

import numpy as np

from understudy.engine.cells import last_edge
from understudy.engine.lane import Lane
from understudy.engine.plan import Part
from understudy.engine.sequence import Sequence
from understudy.protocol.selection import UNKNOWN, CountWindow, EachRow, Rule, Times, TimeWindow, Within


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a plan. A row counts once for each window that contains it: that is its cost in time and
    memory."""

    max_rows: int
    """The most new rows of a plan, unless no window closes among so few."""
    parallelism: int
    """The most parts of a plan."""
    part_rows: int
    """The least rows of a part."""

    def in_tuples(self, rule: Rule) -> Limits:
        """The same limits, with each tuple counted once. For windows that are computed from their tuples."""
        copies = -(-rule.size // rule.slide) if isinstance(rule, CountWindow | TimeWindow) else 1
        return Limits(max(self.max_rows // copies, 1), self.parallelism, max(self.part_rows // copies, 1))


@dataclass(frozen=True, slots=True)
class Cutter:
    rule: Rule
    lanes: Items[Lane]
    sequence: Sequence
    limits: Limits
    """In tuples."""

    # --- where to stop

    def target(self, position: int, most: int | None = None, clear: int = 0) -> int | None:
        """The end of the next plan, of at most so many tuples unless no window closes among them; None while
        a plan would make no output. `clear`: no window closes between the position and this place."""
        stop, limit = self.sequence.stop, self.limits.max_rows
        near = min(stop, position + (limit if most is None else min(limit, most)))
        match self.rule:
            case EachRow() | Within():
                return near if near > position else None
            case CountWindow() as windows:
                near = max(near, min(stop, windows.next_close(position)))
                return windows.last_close(position, near)
            case TimeWindow() as windows:
                start = max(position, clear)
                return self._close_in(windows, start, max(near, start)) or self._first_close(windows, start)
            case rule:
                assert_never(rule)

    def _close_in(self, windows: TimeWindow, start: int, stop: int) -> int | None:
        taken = windows.last_close(self.sequence.before(start), self.sequence.greatest(start, stop))
        return None if taken is None else start + taken

    def _first_close(self, windows: TimeWindow, position: int) -> int | None:
        due = windows.next_end(self.sequence.before(position)) + windows.lateness
        start, span = position, self.limits.max_rows
        while start < self.sequence.stop:  # in steps: a source can be far ahead
            stop = min(start + span, self.sequence.stop)
            taken = int(np.searchsorted(self.sequence.greatest(start, stop), due))
            if start + taken < stop:
                return start + taken + 1
            start, span = stop, span * 2
        return None

    # --- what is needed

    def needed(self, position: int) -> tuple[int, ...]:
        """For each input the first tuple that the state at `position` needs."""
        match self.rule:
            case EachRow():
                return self.sequence.seqs(position)
            case CountWindow() as windows:
                return self.sequence.seqs(max(windows.needed(position), self.sequence.start))
            case TimeWindow() as windows:
                oldest = self.sequence.start
                times = self.sequence.times(oldest, position)
                first = windows.first_needed(times, self.sequence.before(position))
                return self.sequence.seqs(oldest + first)
            case Within() as within:
                return self._meetable(within, self.sequence.seqs(position))
            case rule:
                assert_never(rule)

    def _meetable(self, within: Within, seqs: tuple[int, ...]) -> tuple[int, ...]:
        found = []
        for place, (lane, seq) in enumerate(zip(self.lanes, seqs, strict=True)):
            other = 1 - place
            passed = self.lanes[other].before(seqs[other])
            found.append(lane.start + within.first_needed(lane.times(lane.start, seq), passed))
        return tuple(found)

    # --- parts

    def pane_parts(self, start: int, stop: int, block: int) -> tuple[Part, ...]:
        """Of a plan that makes partials of the places `[start, stop)`: no cell is in two parts."""
        assert isinstance(self.rule, CountWindow | TimeWindow)
        count = max(1, min(self.limits.parallelism, (stop - start) // self.limits.part_rows))
        edges = [start]
        for n in range(1, count):
            near = start + n * (stop - start) // count
            edge = last_edge(self.rule, self.sequence, edges[-1], near, block)
            edges += [] if edge is None else [edge]
        return tuple(
            Part(tuple(zip(self.sequence.seqs(a), self.sequence.seqs(b), strict=True)), a, b)
            for a, b in pairwise([*edges, stop])
        )

    def parts(self, start: int, stop: int) -> tuple[Part, ...]:
        if isinstance(self.rule, Within):
            return self._slices(start, stop)
        edges = [start, *self._edges(start, stop), stop]
        return tuple(self._part(a, b) for a, b in pairwise(edges))

    def _part(self, start: int, stop: int) -> Part:
        """A part is computed like a plan of its own: no group of a window is ever computed from two parts."""
        reads = tuple(zip(self.needed(start), self.sequence.seqs(stop), strict=True))
        match self.rule:
            case CountWindow():
                return Part(reads, start, stop)
            case TimeWindow():
                return Part(reads, self.sequence.before(start), self.sequence.before(stop))
            case _:
                return Part(reads)

    def _edges(self, start: int, stop: int) -> list[int]:
        tail = sum(b - a for a, b in zip(self.needed(start), self.sequence.seqs(start), strict=True))
        count = min(self.limits.parallelism, (stop - start) // max(self.limits.part_rows, tail))
        edges: list[int] = []
        for n in range(1, count):
            edge = self._edge(edges[-1] if edges else start, start + n * (stop - start) // count)
            if edge is not None:
                edges.append(edge)
        return edges

    def _edge(self, after: int, near: int) -> int | None:
        match self.rule:
            case CountWindow() as windows:
                return windows.last_close(after, near)
            case TimeWindow() as windows:
                return self._close_in(windows, after, near)
            case _:
                return near

    def _slices(self, start: int, stop: int) -> tuple[Part, ...]:
        spans = list(zip(self.needed(start), self.sequence.seqs(stop), strict=True))
        count = max(1, min(self.limits.parallelism, sum(b - a for a, b in spans) // self.limits.part_rows))
        return tuple(Part(tuple(_slice(a, b, n, count) for a, b in spans)) for n in range(count))


def _slice(start: int, stop: int, n: int, count: int) -> tuple[int, int]:
    return start + n * (stop - start) // count, start + (n + 1) * (stop - start) // count


def window_times(windows: CountWindow, sequence: Sequence, start: int, stop: int) -> tuple[int, Times]:
    """The first window that closes in (start, stop], and the greatest event times of all windows that close
    there."""
    first, last = windows.first_open(start), windows.first_open(stop) - 1
    if last < first:
        return first, np.empty(0, np.int64)
    start, stop = first * windows.slide, last * windows.slide + windows.size
    # after a loss a window can begin before the first tuple that is held
    lost = max(sequence.start - start, 0)
    times = np.concatenate((np.full(lost, UNKNOWN, np.int64), sequence.times(start + lost, stop)))
    return first, sliding_greatest(times, windows.size, windows.slide)


def sliding_greatest(times: Times, size: int, slide: int) -> Times:
    """The greatest of each window `[k*slide, k*slide + size)` that lies within `times`, in linear time."""
    if len(times) < size:
        return np.empty(0, np.int64)
    blocks = np.full(-(-len(times) // size) * size, UNKNOWN, np.int64)
    blocks[: len(times)] = times
    square = blocks.reshape(-1, size)
    ahead = np.maximum.accumulate(square, axis=1).ravel()
    behind = np.maximum.accumulate(square[:, ::-1], axis=1)[:, ::-1].ravel()
    starts = np.arange(0, len(times) - size + 1, slide)
    return np.maximum(behind[starts], ahead[starts + size - 1])
