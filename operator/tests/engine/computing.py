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
