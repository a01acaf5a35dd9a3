"""Windows whose content is left to chance, each folded into what is sure of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from sqlglot import exp

from understudy.local.report.comparison import Comparison
from understudy.model.operators import Aggregate
from understudy.model.sql import parse_expression
from understudy_lab.verify.chance import BOUNDS
from understudy_lab.verify.rows import Row


@dataclass(frozen=True, slots=True)
class Folded:
    rows: Sequence[Row]
    """One for each window."""
    starts: Sequence[int]
    """Where each begins among the tuples, and how many these are."""

    def unfold(self, found: Comparison) -> Comparison:
        """What is found about windows, told of their tuples; what is lost are windows."""
        surplus = tuple(at for n in found.surplus for at in range(self.starts[n], self.starts[n + 1]))
        holes = tuple((self.starts[n], count) for n, count in found.holes)
        return replace(found, tuples=self.starts[-1], surplus=surplus, holes=holes)


def fold(rows: Sequence[Row], windows: Aggregate, late: bool) -> Folded:
    """Bounds, and how many tuples all groups of a window have: a full window is full whatever is in it,
    unless tuples come too late for it. A group that comes again begins the window again."""
    counts = [] if late else counts_of(windows)
    starts: list[int] = []
    before: Any = None
    groups = set[str]()
    for at, row in enumerate(rows):
        bounds, group = [row.get(name) for name in BOUNDS], repr([row.get(name) for name in windows.group_by])
        if bounds != before or group in groups:
            starts.append(at)
            before, groups = bounds, set()
        groups.add(group)
    ends = [*starts, len(rows)]
    return Folded([_folded(rows[start:end], counts) for start, end in pairwise(ends)], ends)


def _folded(rows: Sequence[Row], counts: Sequence[str]) -> dict[str, Any]:
    bounds = {name: rows[0].get(name) for name in BOUNDS}
    return {**bounds, **{name: sum(row.get(name) or 0 for row in rows) for name in counts}}


def counts_of(windows: Aggregate) -> list[str]:
    """Columns that tell how many tuples a group has."""
    return [name for name, text in windows.select.items() if _counts(text)]


def _counts(text: str) -> bool:
    tree = parse_expression(text)
    return isinstance(tree, exp.Count) and isinstance(tree.this, exp.Star)


def extent(windows: Aggregate) -> tuple[int, int]:
    """Size and slide of windows on `_seq`."""
    size, slide = windows.window.size, windows.window.slide
    assert isinstance(size, int)
    assert isinstance(slide, int)
    return size, slide
