"""The half of the engine that Spark is, in plain Python: what a batch plan's rows become.

It reads a plan's columns as the Spark plans do (`understudy.engine.plan`), so tests of inboxes and of whole
instances need no session. What comes out is held against `understudy_lab.verify.plain`, which knows no
plans.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, TypeAlias

import pyarrow as pa

from understudy.engine.inbox import Inbox
from understudy.engine.plan import BatchPlan
from understudy.protocol.selection import UNKNOWN, CountWindow, EachRow, TimeWindow, Within, rule_of
from understudy_lab.verify.plain.operators import meet, windows_with

PlanRow: TypeAlias = dict[str, Any]
INPUT = 1_000_000
Result: TypeAlias = tuple[int | None, list[PlanRow]]
"""An event time in microseconds, and the rows that the result is made of."""


def results_of(inbox: Inbox, plan: BatchPlan) -> list[Result]:
    parts = [_rows(inbox.rows(plan.number, part)) for part in range(len(plan.parts))]
    rows = list(chain.from_iterable(parts))
    match rule_of(inbox.element.operators):
        case EachRow():
            return [(row["_ts"], [row]) for row in sorted(rows, key=lambda row: row["_pos"])]
        case CountWindow(size, slide):
            first, times = inbox.window_times(plan.number)
            windows = _windows(rows, "_pos", size, slide, lateness=0)
            return [(_known(times[k - first]), windows[k]) for k in sorted(windows)]
        case TimeWindow(size, slide, lateness):
            timely = [row for row in rows if row["_ts"] is not None and row["_ts"] >= 0]
            windows = _windows(timely, "_ts", size, slide, lateness)
            return [(k * slide + size, windows[k]) for k in sorted(windows)]
        case Within(reach):
            return _pairs(rows, reach)


def folds_of(inbox: Inbox, plan: BatchPlan) -> list[tuple[int | None, list[list[int]]]]:
    """With panes: of each result its event time and, for each partial in order, the rows that made it: their
    seqs, plus INPUT for those of the second input."""
    tables = [_partials(inbox, plan, number) for number in range(len(plan.parts))]
    rule = rule_of(inbox.element.operators)
    assert isinstance(rule, CountWindow | TimeWindow)
    results: dict[int, tuple[int | None, list[list[int]]]] = {}
    for row in (row for table in inbox.summed(plan.number, tables) for row in table.to_pylist()):
        time = row["_k"] * rule.slide + rule.size if isinstance(rule, TimeWindow) else _known(row["_time"])
        results.setdefault(row["_k"], (time, []))[1].append(row["partial"])
    return [results[k] for k in sorted(results)]


def _partials(inbox: Inbox, plan: BatchPlan, number: int) -> pa.Table:
    cells: dict[int, list[int]] = {}
    part = plan.parts[number]
    for row in _rows(inbox.rows(plan.number, number)) if part.shut > part.opened else ():
        cells.setdefault(row["_cell"], []).append(row["_in"] * INPUT + row["_seq"])
    partials = pa.array(cells.values(), pa.list_(pa.int64()))
    return pa.table({"_cell": pa.array(cells, pa.int32()), "partial": partials})


def _rows(table: pa.Table) -> list[PlanRow]:
    for name in table.column_names:
        if pa.types.is_timestamp(table.schema.field(name).type):
            table = table.set_column(table.schema.get_field_index(name), name, table[name].cast(pa.int64()))
    return [{"_pos": row["_seq"], "_in": 0} | row for row in table.to_pylist()]


def _known(time: Any) -> int | None:
    return None if time == UNKNOWN else int(time)


def _windows(
    rows: Iterable[PlanRow], at: str, size: int, slide: int, lateness: int
) -> dict[int, list[PlanRow]]:
    """Each part of a plan closes the windows in (open, shut]; of time windows, late rows are left out."""
    windows: dict[int, list[PlanRow]] = {}
    for row in rows:
        for k in windows_with(row[at], size, slide):
            due = k * slide + size + lateness
            late = row.get("_wm") is not None and row["_wm"] >= due
            if row["_open"] < due <= row["_shut"] and not late:
                windows.setdefault(k, []).append(row)
    return windows


def _pairs(rows: list[PlanRow], reach: int) -> list[Result]:
    found = []
    for left in (row for row in rows if row["_in"] == 0):
        for right in (row for row in rows if row["_in"] == 1):
            earlier, later = sorted((left, right), key=lambda row: row["_pos"])
            if later["_new"] and meet(later["_ts"], earlier["_ts"], reach, later["_wm"]):
                ts = max(left["_ts"], right["_ts"])
                found.append((later["_pos"], earlier["_pos"], ts, [left, right]))
    return [(ts, pair) for _, _, ts, pair in sorted(found, key=lambda one: one[:2])]
