"""Windows as a plain GROUP BY: over rows, each copied to the windows that contain it and close in this part;
or over partials of panes, each copied to the windows that contain its pane."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from understudy.engine.frame import Frame, quoted
from understudy.engine.plan import CELL
from understudy.engine.planned import expressions, names_of, taken_columns
from understudy.model.elements import Element
from understudy.model.operators import Aggregate, Operator
from understudy.model.panes import Mergeable
from understudy.protocol.selection import CountWindow, TimeWindow, window_rule

LEAST: Final = "(-9223372036854775807L - 1L)"


def around_windows(element: Element) -> tuple[tuple[Operator, ...], Aggregate, tuple[Operator, ...]]:
    """Its operators before the windows, the one with the windows, those after it."""
    for place, operator in enumerate(element.operators):
        if isinstance(operator, Aggregate):
            return element.operators[:place], operator, element.operators[place + 1 :]
    raise ValueError(f"{element.name} has no windows")


def aggregate(frame: Frame, operator: Aggregate, number: int) -> Frame:
    """`number`: the operator's place in the element.

    The event time of a count window's results is the greatest of its range, including rows of other groups
    and rows that a filter dropped. So it is not computed here: it comes with the rows, or is inserted after
    Spark."""
    windows = window_rule(operator.window)
    rows = _in_windows(frame.df, windows)
    taken = taken_columns(frame)  # the same in all rows of a plan
    keys = [F.col(quoted(name)) for name in ("_k", *taken, *operator.group_by)]
    select = expressions(operator.select, names_of(frame), number)
    columns = [F.expr(text).alias(name) for name, text in select.items()]
    if "_time" in rows.columns:
        columns.append(F.max("_time").alias("_time"))
    return _results(rows.groupBy(*keys).agg(*columns), frame.table, taken, operator, windows)


def partials(frame: Frame, operator: Aggregate, merge: Mergeable) -> DataFrame:
    """One row per cell and group: `_cell`, the groups, the partials."""
    keys = [F.col(quoted(name)) for name in (CELL, *operator.group_by)]
    return frame.df.groupBy(*keys).agg(*(F.expr(text).alias(name) for name, text in merge.partials.items()))


def fold(rows: DataFrame, table: str, operator: Aggregate, merge: Mergeable) -> Frame:
    """The same results as `aggregate`, from partials. `rows`: for each window its number `_k` and its
    partials, in the order of the cells."""
    types = {field.name: field.dataType.simpleString() for field in rows.schema}
    columns = [F.expr(text).alias(name) for name, text in merge.select(types).items()]
    if "_time" in rows.columns:
        columns.append(F.max("_time").alias("_time"))
    keys = [F.col(quoted(name)) for name in ("_k", *operator.group_by)]
    grouped = rows.alias(table).groupBy(*keys).agg(*columns)
    return _results(grouped, table, (), operator, window_rule(operator.window))


def _results(
    grouped: DataFrame,
    table: str,
    taken: tuple[str, ...],
    operator: Aggregate,
    windows: CountWindow | TimeWindow,
) -> Frame:
    start, end, ts = _bounds(windows, "_time" in grouped.columns)
    groups = {f"_group{n}": quoted(name) for n, name in enumerate(operator.group_by)}
    df = grouped.selectExpr(
        "_k",
        *taken,
        f"{ts} AS _ts",
        *(f"{column} AS {name}" for name, column in groups.items()),
        *map(quoted, operator.group_by),
        f"{start} AS window_start",
        f"{end} AS window_end",
        *map(quoted, operator.select),
    )
    payload = (*operator.group_by, "window_start", "window_end", *operator.select)
    return Frame.of(df, table, ("_k", "_ts", *taken, *groups), payload, ("_k", *groups))


def _in_windows(df: DataFrame, windows: CountWindow | TimeWindow) -> DataFrame:
    """One row for each row and window, with the window's number `_k`."""
    match windows:
        case CountWindow(size, slide):
            at, wait, passed = "_seq", 0, None
        case TimeWindow(size, slide, wait):
            at, passed = "_at", "unix_micros(_wm)"
            df = df.where("_ts >= timestamp_seconds(0)").withColumn("_at", F.expr("unix_micros(_ts)"))
    lowest = [_first_open("_open", size + wait, slide)]
    if passed is not None:  # a row is late for a window that had closed before it
        lowest.append(f"coalesce({_first_open(passed, size + wait, slide)}, 0L)")
    lowest.append(_first_open(at, size, slide))
    if "_times" in df.columns:
        placed = df.selectExpr("*", "posexplode(_times) AS (_n, _time)")
        return placed.withColumn("_k", F.expr(f"greatest({', '.join(lowest)}) + _n"))
    last = f"{at} div {slide}L"
    highest = f"{_first_open('_shut', size + wait, slide)} - 1L"
    if size == slide:
        found = df.withColumn("_k", F.expr(last))
        return found.where(" AND ".join([*(f"_k >= {low}" for low in lowest[:-1]), f"_k <= {highest}"]))
    bounds = df.withColumn("_low", F.expr(f"greatest({', '.join(lowest)})")).withColumn(
        "_high", F.expr(f"least({last}, {highest})")
    )
    return bounds.where("_low <= _high").withColumn("_k", F.expr("explode(sequence(_low, _high))"))


def _first_open(x: str, length: int, slide: int) -> str:
    """`first_open` of the selection rules, in SQL."""
    return f"if({x} < {length}L, 0L, ({x} - {length}L) div {slide}L + 1L)"


def _bounds(windows: CountWindow | TimeWindow, timed: bool) -> tuple[str, str, str]:
    """Start, end and event time of window `_k`."""
    start, end = f"_k * {windows.slide}L", f"_k * {windows.slide}L + {windows.size}L"
    if isinstance(windows, CountWindow):
        return start, end, f"timestamp_micros(nullif(_time, {LEAST}))" if timed else "cast(NULL AS timestamp)"
    return f"timestamp_micros({start})", f"timestamp_micros({end})", f"timestamp_micros({end})"
