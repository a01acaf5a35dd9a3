"""What a job's operators mean, in plain Python over whole streams: the one reference besides Spark's batches.

`plain_reference` computes jobs with it; tests compare the engine and Spark's batch queries with it. So
nothing here may come from the engine, or from the rules that the engine cuts its batches by.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import gcd
from operator import attrgetter
from typing import Any

Columns = dict[str, Any]
ORIGIN = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z


@dataclass(frozen=True, slots=True)
class Row:
    seq: int
    """Its place on its stream."""
    ts: int | None
    """Its event time in microseconds."""
    columns: Columns


def generator(rate: int, count: int, fields: Callable[[int, int], Columns]) -> list[Row]:
    times = [ORIGIN + n * 1_000_000 // rate for n in range(count)]
    return [Row(n, ts, fields(n, ts)) for n, ts in enumerate(times)]


def stream(rows: Iterable[tuple[int | None, Columns]]) -> list[Row]:
    return [Row(seq, ts, columns) for seq, (ts, columns) in enumerate(rows)]


def renumbered(rows: Iterable[Row]) -> list[Row]:
    return [Row(seq, row.ts, row.columns) for seq, row in enumerate(rows)]


# --- row by row


def filtered(rows: Iterable[Row], keep: Callable[[Row], bool]) -> list[Row]:
    return [row for row in rows if keep(row)]


def mapped(rows: Iterable[Row], change: Callable[[Row], Columns]) -> list[Row]:
    return [Row(row.seq, row.ts, change(row)) for row in rows]


def sampled(rows: Iterable[Row], fraction: float, seed: int) -> list[Row]:
    return [row for row in rows if zlib.crc32(f"{seed}:{row.seq}".encode()) / 2**32 < fraction]


# --- several inputs


def greatest(rows: Sequence[Row]) -> list[int | None]:
    """Per row the greatest event time up to and including it."""
    found: list[int | None] = []
    for row in rows:
        last = found[-1] if found else None
        found.append(row.ts if last is None else last if row.ts is None else max(last, row.ts))
    return found


def merged_by_event_time(inputs: Sequence[Sequence[Row]]) -> list[tuple[int, Row]]:
    keyed = [
        ((-1 if g is None else g, place, row.seq), row)
        for place, rows in enumerate(inputs)
        for g, row in zip(greatest(rows), rows, strict=True)
    ]
    return [(key[1], row) for key, row in sorted(keyed, key=lambda pair: pair[0])]


def union(merged: Iterable[tuple[int, Row]], columns: Sequence[str]) -> list[Row]:
    rows = (row for _, row in merged)
    return [Row(seq, row.ts, {c: row.columns.get(c) for c in columns}) for seq, row in enumerate(rows)]


def joined(
    merged: Sequence[tuple[int, Row]],
    on: Callable[[Row, Row], bool],
    within: int,
    columns: Callable[[Row, Row], Columns],
) -> list[Row]:
    pairs: list[Row] = []
    passed: dict[int, int | None] = {0: None, 1: None}
    for here, (place, later) in enumerate(merged):
        for other, earlier in merged[:here]:
            left, right = (earlier, later) if other == 0 else (later, earlier)
            if other != place and meet(later.ts, earlier.ts, within, passed[place]) and on(left, right):
                pairs.append(Row(len(pairs), max(left.ts or 0, right.ts or 0), columns(left, right)))
        if later.ts is not None:
            passed[place] = max(later.ts, passed[place] or later.ts)
    return pairs


def meet(later: int | None, earlier: int | None, within: int, passed: int | None) -> bool:
    """Whether two tuples with these event times make a pair. `passed` is the greatest event time before the
    later one, on its own stream: it must not have left the earlier one behind."""
    if later is None or earlier is None or abs(later - earlier) > within:
        return False
    return passed is None or passed <= earlier + within


# --- windows

Select = Callable[[list[Row]], Columns]


def windows_with(at: int, size: int, slide: int) -> range:
    """The windows that hold the place or time `at`: window k is [k*slide, k*slide + size)."""
    return range(max(0, (at - size) // slide + 1), at // slide + 1)


def count_windows(
    whole: Sequence[Row], kept: Sequence[Row], size: int, slide: int, group_by: Sequence[str], select: Select
) -> list[Row]:
    """Every window that is full, with the rows of `kept` in it. `whole` is the stream, `kept` what the
    filters before the window let pass; both are in the order of `seq`."""
    results: list[Row] = []
    place = attrgetter("seq")
    for start in range(0, len(whole) - size + 1, slide):
        end = start + size
        first = bisect_left(kept, start, key=place)
        inside = kept[first : bisect_left(kept, end, first, key=place)]
        times = [row.ts for row in whole[start:end] if row.ts is not None]
        results += _groups(inside, group_by, select, max(times, default=None), start, end)
    return renumbered(results)


def time_windows(
    whole: Sequence[Row],
    kept: Sequence[Row],
    size: int,
    slide: int,
    lateness: int,
    group_by: Sequence[str],
    select: Select,
) -> list[Row]:
    """Windows that never close are not emitted, rows that come after their window has closed do not count."""
    before: dict[int, int | None] = {}
    high: int | None = None
    for row in whole:
        before[row.seq] = high
        if row.ts is not None:
            high = row.ts if high is None else max(high, row.ts)
    windows: dict[int, list[Row]] = defaultdict(list)
    for row in kept:
        if row.ts is None or row.ts < 0:
            continue
        for k in windows_with(row.ts, size, slide):
            passed = before[row.seq]
            if passed is None or passed < k * slide + size + lateness:
                windows[k].append(row)
    results: list[Row] = []
    for k in sorted(windows):
        end = k * slide + size
        if high is not None and high >= end + lateness:
            results += _groups(windows[k], group_by, select, end, k * slide, end)
    return renumbered(results)


def _groups(
    rows: Sequence[Row], group_by: Sequence[str], select: Select, ts: int | None, start: int, end: int
) -> list[Row]:
    groups: dict[tuple[Hashable, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row.columns[name] for name in group_by)].append(row)
    return [
        Row(
            0,
            ts,
            dict(zip(group_by, key, strict=True))
            | {"window_start": start, "window_end": end}
            | select(members),
        )
        for key, members in sorted(groups.items(), key=lambda item: [(v is not None, v) for v in item[0]])
    ]


# --- in which order doubles are added


def added(
    rows: Iterable[Row], value: Callable[[Row], float], cell: Callable[[Row], tuple[int, ...]] = lambda _: ()
) -> float:
    """A sum as windows make it: each cell is added up in the order of its rows, then the cells in theirs."""
    sums: dict[tuple[int, ...], float] = defaultdict(float)
    for row in rows:
        sums[cell(row)] += value(row)
    total = 0.0
    for key in sorted(sums):
        total += sums[key]
    return total


def count_cells(size: int, slide: int, block: int) -> Callable[[Row], tuple[int, ...]]:
    """A row's cell: its pane, and within a big pane its block."""
    return lambda row: (row.seq // gcd(size, slide), row.seq // block)


def time_cells(
    whole: Sequence[Row], size: int, slide: int, lateness: int, block: int
) -> Callable[[Row], tuple[int, ...]]:
    """A row's cell: its pane, the first window that is open when it comes, and its block."""
    high = greatest(whole)

    def cell(row: Row) -> tuple[int, ...]:
        k, upto = 0, high[row.seq] or 0
        if upto >= size + lateness:
            k = (upto - size - lateness) // slide + 1
        return ((row.ts or 0) // gcd(size, slide), k, row.seq // block)

    return cell
