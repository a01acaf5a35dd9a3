"""The rows of one part of a batch plan, as one Arrow table."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Items
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.engine.cells import Cells
from understudy.engine.cutting import window_times
from understudy.engine.lane import TIMESTAMP, WIRE, Lane, to_timestamps
from understudy.engine.plan import CELL, BatchPlan, Part, payload_name
from understudy.engine.sequence import Sequence
from understudy.protocol.selection import CountWindow, Rule, Times, TimeWindow, Within


def assemble(
    lanes: Items[Lane],
    sequence: Sequence,
    rule: Rule,
    schema: pa.Schema,
    plan: BatchPlan,
    number: int,
    only: int | None = None,
    cells: Cells | None = None,
) -> pa.Table:
    """Part `number` of the plan; only the rows of one input, if one is named. With cells, only rows that have
    one."""
    part = plan.parts[number]
    tables = []
    for place, (lane, (start, stop)) in enumerate(zip(lanes, part.reads, strict=True)):
        if stop > start and only in (None, place):
            pos = sequence.places(place, start, stop)
            if cells is not None:
                mine = cells.of_rows[pos - part.opened]
                tables.append(_cell_rows(lane.rows(start, stop), schema, place, pos, mine))
                continue
            passed = _passed(lane, sequence, rule, start, stop, pos)
            times = _times(rule, sequence, part, pos) if "_times" in schema.names else None
            tables.append(_lane_rows(lane.rows(start, stop), schema, place, pos, passed, times, plan, part))
    if not tables:
        return schema.empty_table()
    if len(tables) == 1:
        return tables[0]
    whole = pa.concat_tables(tables)
    if isinstance(rule, CountWindow | TimeWindow):  # aggregates see a window's rows in merged order
        return whole.take(pa.array(np.argsort(whole["_pos"].to_numpy(), kind="stable")))
    return whole


def _cell_rows(
    rows: pa.Table, schema: pa.Schema, place: int, pos: Times, cells: npt.NDArray[np.int32]
) -> pa.Table:
    control = {
        "_pos": pa.array(pos),
        "_in": pa.array(np.full(len(pos), place, np.int32)),
        CELL: pa.array(cells),
    }
    payload = {payload_name(place, name): rows[name] for name in rows.column_names}
    known = {name: rows[name] for name in WIRE.names} | payload | control
    columns = [known[f.name] if f.name in known else pa.nulls(len(pos), f.type) for f in schema]
    table = pa.Table.from_arrays(columns, schema=schema)
    return table if cells.min() >= 0 else table.filter(pa.array(cells >= 0))


def _passed(lane: Lane, sequence: Sequence, rule: Rule, start: int, stop: int, pos: Times) -> Times | None:
    """For each row the greatest event time before it: on the merged input for windows, on its own stream for
    joins."""
    match rule:
        case TimeWindow():
            first, last = int(pos[0]), int(pos[-1])
            before = np.concatenate(([sequence.before(first)], sequence.greatest(first, last)))
            return before[pos - first]
        case Within():
            return np.concatenate(([lane.before(start)], lane.greatest(start, stop - 1)))
        case _:
            return None


def _times(rule: Rule, sequence: Sequence, part: Part, pos: Times) -> pa.Array:
    """For each row the event times of the windows that contain it and close in this part."""
    assert isinstance(rule, CountWindow)
    first, times = window_times(rule, sequence, part.opened, part.shut)
    lowest = np.maximum(np.maximum((pos - rule.size) // rule.slide + 1, 0), first)
    highest = np.minimum(pos // rule.slide, first + len(times) - 1)
    counts = np.maximum(highest - lowest + 1, 0)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    values = times[np.repeat(lowest, counts) - first + within]
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values, pa.int64()))


def _lane_rows(
    rows: pa.Table,
    schema: pa.Schema,
    place: int,
    pos: Times,
    passed: Times | None,
    times: pa.Array | None,
    plan: BatchPlan,
    part: Part,
) -> pa.Table:
    count = rows.num_rows
    control: dict[str, Callable[[], Any]] = {
        "_pos": lambda: pa.array(pos),
        "_in": lambda: pa.array(np.full(count, place, np.int32)),
        "_wm": lambda: to_timestamps(passed) if passed is not None else pa.nulls(count),
        "_new": lambda: pa.array(pos >= plan.start),
        "_open": lambda: pa.array(np.full(count, part.opened, np.int64)),
        "_shut": lambda: pa.array(np.full(count, part.shut, np.int64)),
        "_times": lambda: times,
        "_salt": lambda: pa.array(np.full(count, plan.salt, np.int64)),
        "_clock": lambda: pa.array(np.full(count, plan.clock, np.int64)).cast(TIMESTAMP),
    }
    payload = {payload_name(place, name): rows[name] for name in rows.column_names}
    columns = []
    for field in schema:
        if field.name in WIRE.names:
            columns.append(rows[field.name])
        elif field.name in control:
            columns.append(control[field.name]())
        elif field.name in payload:
            columns.append(payload[field.name])
        else:
            columns.append(pa.nulls(count, field.type))
    return pa.Table.from_arrays(columns, schema=schema)
