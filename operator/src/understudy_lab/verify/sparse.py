"""Windows of which some may be empty, and so not there: held to what so many tuples must give in any order.
Pure.

Of P tuples at most slide - 1 come after the last full window, and no window has more than size: at least (P -
slide + 1) / size windows have one. Where windows tile the stream and count their tuples, all of these are
counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from understudy.local.report.comparison import Comparison, compare
from understudy.model.guarantees import Recovery
from understudy.model.operators import Aggregate
from understudy_lab.verify.folding import counts_of, extent, fold
from understudy_lab.verify.rows import Row


def compare_sparse(
    fewest: int, most: int, observed: Sequence[Row], windows: Aggregate, open_end: bool
) -> Comparison:
    """`fewest`, `most`: how many tuples go into windows. Such windows as came are expected, and those that
    lack."""
    folded = fold(observed, windows, late=True)
    seen = [(row["window_start"], row["window_end"]) for row in folded.rows]
    possible = sorted({bounds for bounds in seen if _is_window(*bounds, windows)})
    found = folded.unfold(compare(possible, seen))
    again = set(found.surplus)
    once = [row for at, row in enumerate(observed) if at not in again]
    lacking = 0 if open_end else _lacking(fewest, once, len(possible), windows)
    if lacking:
        return replace(found, recovery=Recovery.GAP, lost=lacking, expected=len(once) + lacking)
    beyond = found.recovery is Recovery.PRECISE and (_counted(once, windows) or 0) > most
    return replace(found, recovery=Recovery.DIVERGENT if beyond else found.recovery, expected=len(once))


def _is_window(start: Any, end: Any, windows: Aggregate) -> bool:
    size, slide = extent(windows)
    return isinstance(start, int) and start >= 0 and start % slide == 0 and end == start + size


def _lacking(tuples: int, observed: Sequence[Row], came: int, windows: Aggregate) -> int:
    """How many windows must be missing, or be parts of themselves."""
    size, slide = extent(windows)
    if tuples < size:
        return 0
    inside, counted = tuples - slide + 1, _counted(observed, windows)
    uncounted = inside - counted if counted is not None else 0
    return max(0, _ceil(inside, size) - came, _ceil(uncounted, size))


def _counted(observed: Sequence[Row], windows: Aggregate) -> int | None:
    """How many tuples are in windows, where that is told of each tuple once."""
    size, slide = extent(windows)
    counts = counts_of(windows) if size == slide else []
    return sum(row.get(counts[0]) or 0 for row in observed) if counts else None


def _ceil(tuples: int, size: int) -> int:
    return -(-tuples // size)
