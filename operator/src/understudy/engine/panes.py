"""The partials of an element's windows: one row for each cell and group, as long as a window may need it.

They are made again from the selection: a checkpoint does not contain them.
"""

from __future__ import annotations

from collections.abc import Sequence as Items
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from understudy.engine.cells import Cells, Windows, cells_of, pane_width
from understudy.engine.plan import CELL, Part
from understudy.engine.sequence import Sequence
from understudy.protocol.selection import Times

WINDOW: Final = "_k"


@dataclass(frozen=True, slots=True)
class Closing:
    """Windows `[first, last)` close. `times`: of each its greatest event time, where that is not its end."""

    first: int
    last: int
    times: Times | None


class Panes:
    """Not thread-safe, except that `cells` may be called while the query folds."""

    def __init__(self, windows: Windows, block: int) -> None:
        self.windows, self.block = windows, block
        self._width = pane_width(windows)
        self._cells: dict[Part, Cells] = {}
        self._rows: pa.Table | None = None
        self._panes = self._since = self._blocks = np.empty(0, np.int64)
        self._summed = self._made = 0

    def cells(self, sequence: Sequence, part: Part) -> Cells:
        """The cells of a part. Its rows are asked for once or more, its cells once more when it is done."""
        found = self._cells.get(part)
        if found is None:
            found = cells_of(self.windows, sequence, part.opened, part.shut, self.block)
            self._cells[part] = found
        return found

    @property
    def share(self) -> float:
        """How many partials a tuple makes: at most one. Only the length of plans depends on it."""
        return self._made / self._summed if self._summed else 1.0

    # --- partials

    def add(self, parts: Items[tuple[Part, Cells, pa.Table]]) -> None:
        """Partials of cells that are complete: `_cell`, the groups, the partials."""
        for part, cells, table in parts:
            self._cells.pop(part, None)
            self._summed += part.shut - part.opened
            self._made += table.num_rows
            mine = np.asarray(table[CELL].to_numpy(), np.int64)
            self._append(cells.panes[mine], cells.since[mine], cells.blocks[mine], table.drop_columns([CELL]))

    def _append(self, panes: Times, since: Times, blocks: Times, rows: pa.Table) -> None:
        """Keeps partials in the order in which they are folded."""
        held = [rows] if self._rows is None else [self._rows, rows]
        keys = [
            np.concatenate((old, new))
            for old, new in ((self._panes, panes), (self._since, since), (self._blocks, blocks))
        ]
        order = np.lexsort(keys[::-1])
        self._panes, self._since, self._blocks = (key[order] for key in keys)
        self._rows = pa.concat_tables(held).combine_chunks().take(pa.array(order))

    def forget(self, first_open: int) -> None:
        """Windows before `first_open` are closed."""
        keep = int(np.searchsorted(self._panes, first_open * self.windows.slide // self._width))
        if keep and self._rows is not None:
            self._panes, self._since = self._panes[keep:], self._since[keep:]
            self._blocks, self._rows = self._blocks[keep:], self._rows.slice(keep)

    # --- windows

    def folds(self, closing: Closing, rows: int, slots: int) -> list[pa.Table]:
        """For each window that closes its partials in order, with its number. In tables of about so many
        rows, at best one for each slot; a window is never in two."""
        numbers = self._closing(closing)
        starts, counts = self._spans(numbers)
        if self._rows is None or not counts.sum():
            return []
        share = min(max(int(counts.sum()) // slots, 1), rows)
        table_of = (np.cumsum(counts) - counts) // share
        borders = np.flatnonzero(np.diff(table_of, prepend=-1))
        return [
            self._fold(numbers[a:b], starts[a:b], counts[a:b], closing)
            for a, b in zip(borders, [*borders[1:], len(numbers)], strict=True)
        ]

    def _closing(self, closing: Closing) -> Times:
        """The windows that close and have partials."""
        panes = np.unique(self._panes)
        size, slide = self.windows.size, self.windows.slide
        lowest = np.maximum(-((size - (panes + 1) * self._width) // slide), closing.first)
        highest = np.minimum(panes * self._width // slide, closing.last - 1)
        counts = np.maximum(highest - lowest + 1, 0)
        return np.unique(np.repeat(lowest, counts) + _steps(counts))

    def _spans(self, numbers: Times) -> tuple[Times, Times]:
        """Of each window the place of its first partial, and how many follow."""
        first = numbers * self.windows.slide // self._width
        starts = np.searchsorted(self._panes, first)
        stops = np.searchsorted(self._panes, first + self.windows.size // self._width)
        return starts, stops - starts

    def _fold(self, numbers: Times, starts: Times, counts: Times, closing: Closing) -> pa.Table:
        assert self._rows is not None
        windows, places = np.repeat(numbers, counts), np.repeat(starts, counts) + _steps(counts)
        timely = self._since[places] <= windows
        windows, places = windows[timely], places[timely]
        table = self._rows.take(pa.array(places)).add_column(0, WINDOW, pa.array(windows))
        if closing.times is None:
            return table
        return table.append_column("_time", pa.array(closing.times[windows - closing.first]))


def _steps(counts: Times) -> Times:
    """0, 1, … count - 1 of each count, one after the other."""
    return np.arange(counts.sum(), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
