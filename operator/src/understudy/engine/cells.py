"""Which rows make one partial: functions of positions and event times, never of batches.

A *pane* is `gcd(size, slide)` of the stream: a window is a row of whole panes. The rows of one pane make one
*cell*, with two exceptions that keep a partial out of the reach of batches and memory:

- Where a window closes while its panes are still open (late tuples), the pane's later rows make another cell:
  they belong to later windows only. `since` is the first window to which a cell belongs.
- A cell ends at each multiple of BLOCK places, so that no plan has to hold the rows of a big pane.

The cells of a window are folded in the order of their panes, then of `since`, then of their blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Final

import numpy as np
import numpy.typing as npt

from understudy.engine.sequence import Sequence
from understudy.protocol.selection import CountWindow, Times, TimeWindow

Windows = CountWindow | TimeWindow
BLOCK: Final = 65_536
"""Changing it changes the last digits of sums of doubles: standbys and `verify` need the same."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of a stretch of the merged input. `of_rows`: each row's cell; -1 if no window takes it."""

    of_rows: npt.NDArray[np.int32]
    panes: Times
    since: Times
    blocks: Times


def pane_width(windows: Windows) -> int:
    return gcd(windows.size, windows.slide)


def cells_of(windows: Windows, sequence: Sequence, start: int, stop: int, block: int) -> Cells:
    """The cells of the places `[start, stop)`."""
    blocks = np.arange(start, stop, dtype=np.int64) // block
    match windows:
        case CountWindow(size, slide):
            at = np.arange(start, stop, dtype=np.int64)
            since = np.zeros(stop - start, np.int64)
            lost = at % slide >= size
        case TimeWindow(size, slide):
            at = sequence.times(start, stop)
            since = opened(windows, sequence.greatest(start, stop))
            lost = (at < 0) | (at // slide < since) | (at % slide >= size)
    return _numbered(at // pane_width(windows), since, blocks, lost)


def opened(windows: TimeWindow, greatest: Times) -> Times:
    """`TimeWindow.first_open` of many."""
    known = np.maximum(greatest, -windows.slide)  # keeps UNKNOWN away from overflow
    first: Times = np.maximum((known - windows.size - windows.lateness) // windows.slide + 1, 0)
    return first


def _numbered(panes: Times, since: Times, blocks: Times, lost: npt.NDArray[np.bool_]) -> Cells:
    if not len(panes):
        return Cells(np.empty(0, np.int32), panes, since, blocks)
    heads = np.flatnonzero(np.concatenate(([True], _differs(panes, since, blocks))))
    keys = panes[heads], since[heads], blocks[heads]
    order = np.lexsort(keys[::-1])
    sorted_keys = [key[order] for key in keys]
    first = np.concatenate(([True], _differs(*sorted_keys)))
    numbers = np.empty(len(heads), np.int32)
    numbers[order] = np.cumsum(first) - 1
    of_rows = np.repeat(numbers, np.diff(np.append(heads, len(panes))))
    of_rows[lost] = -1
    return Cells(of_rows, *(key[first] for key in sorted_keys))


def _differs(*columns: Times) -> npt.NDArray[np.bool_]:
    """For each row but the first whether it differs from the one before it."""
    differs: npt.NDArray[np.bool_] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return differs


def complete(windows: Windows, closing: int) -> int:
    """Where a plan that ends at `closing`, where a window closes, stops summing: the tuple whose event time
    closes a window begins the next cell."""
    return closing if isinstance(windows, CountWindow) else closing - 1


def block_end(start: int, stop: int, block: int) -> int | None:
    """The last end of a block in (start, stop]."""
    end = stop // block * block
    return end if end > start else None


def last_edge(windows: Windows, sequence: Sequence, start: int, near: int, block: int) -> int | None:
    """The last place in (start, near] at which no cell goes on."""
    edges = [near // block * block]
    match windows:
        case CountWindow():
            edges.append(near // pane_width(windows) * pane_width(windows))
        case TimeWindow():
            since = opened(windows, sequence.greatest(start, min(near + 1, sequence.stop)))
            edges += [start + int(place) + 1 for place in np.flatnonzero(np.diff(since))[-1:]]
    return max((edge for edge in edges if edge > start), default=None)
