"""The streams of a job that ends, as lists of rows: sources first, then element by element."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import groupby
from typing import Any

from understudy.model.elements import Element, elements_of
from understudy.model.job import StreamJob
from understudy.model.operators import Aggregate, Filter, Map, Operator, Sample, Union
from understudy.model.sources import Generator, Source
from understudy_lab.verify.plain.expressions import term
from understudy_lab.verify.plain.types import DOUBLE, LONG, TIMESTAMP, Columns, Kind, NotPlain, Row, common
from understudy_lab.verify.plain.windows import total, windows

ORIGIN = datetime(2026, 1, 1, tzinfo=UTC)
HIDDEN = {"_seq": LONG, "ts": TIMESTAMP}
MOST_TUPLES = 500_000  # a second opinion should not take longer than the first


@dataclass(frozen=True, slots=True)
class Table:
    """Rows in order. Each has `_seq` and `ts` besides its columns; `length` is where the stream has got
    to."""

    columns: Columns
    rows: Sequence[Row]
    length: int

    @property
    def visible(self) -> Columns:
        return {**HIDDEN, **self.columns}


def plain_reference(job: StreamJob, stream: str) -> list[dict[str, Any]]:
    """A stream's tuples without failures. Raises NotPlain where only Spark can say."""
    found = _table(job, stream)
    for name, type_ in found.columns.items():
        if type_.kind in (Kind.DECIMAL, Kind.TIMESTAMP):
            raise NotPlain(f"column {name}, a {type_.kind.value}")
    return [{name: row[name] for name in (*found.columns, "_seq")} for row in found.rows]


def _table(job: StreamJob, stream: str) -> Table:
    for source in job.sources:
        if source.name == stream:
            return _source(source)
    elements = [element for subjob in job.subjobs for element in elements_of(subjob)]
    element = next(e for e in elements if e.name == stream)
    return _element(element, [_table(job, name) for name in element.inputs])


def _source(source: Source) -> Table:
    match source.origin:
        case Generator(limit=int(limit)) if limit > MOST_TUPLES:
            raise NotPlain(f"source {source.name}, which is too long")
        case Generator(rate=rate, limit=int(limit), fields=fields) if float(rate).is_integer():
            terms = {name: term(text, HIDDEN) for name, text in fields.items()}
            rows = []
            for seq in range(limit):
                base = {"_seq": seq, "ts": ORIGIN + timedelta(microseconds=seq * 1_000_000 // int(rate))}
                rows.append({**{name: t.of(base) for name, t in terms.items()}, **base})
            return Table({name: t.type for name, t in terms.items()}, rows, limit)
        case _:
            raise NotPlain(f"source {source.name}")


def _element(element: Element, inputs: Sequence[Table]) -> Table:
    start = inputs[0] if len(inputs) == 1 else _merged(element, inputs)
    made = reduce(_apply, element.operators, start)
    rows = [{**row, "_seq": seq} for seq, row in enumerate(made.rows)]
    return Table(made.columns, rows, len(rows))


def _merged(element: Element, inputs: Sequence[Table]) -> Table:
    """In the order of ts, then of the input's place; that is one of the orders in which they may arrive."""
    timed = all(row["ts"] is not None for table in inputs for row in table.rows)
    named = all(table.columns.keys() == inputs[0].columns.keys() for table in inputs)
    if not isinstance(element.operators[0], Union) or not (named and timed):
        raise NotPlain(f"how the inputs of {element.name} meet")
    columns = {name: reduce(common, (table.columns[name] for table in inputs)) for name in inputs[0].columns}
    rows = sorted(
        (_widened(row, columns) for table in inputs for row in table.rows), key=lambda row: row["ts"]
    )
    return Table(columns, [{**row, "_seq": seq} for seq, row in enumerate(rows)], len(rows))


def _widened(row: Row, columns: Columns) -> Row:
    """With whole numbers as doubles where they meet doubles."""
    return {**row, **{n: float(row[n]) for n, t in columns.items() if t == DOUBLE and row[n] is not None}}


def _apply(table: Table, operator: Operator) -> Table:
    match operator:
        case Union():
            return table
        case Filter(where=text):
            return _kept(table, term(text, table.visible).of)
        case Sample(fraction=fraction, seed=int(seed)):
            return _kept(table, lambda row: zlib.crc32(f"{seed}:{row['_seq']}".encode()) / 2**32 < fraction)
        case Map(select=select) if "ts" not in select:
            terms = {name: term(text, table.visible) for name, text in select.items()}
            rows = [
                {"_seq": row["_seq"], "ts": row["ts"], **{n: t.of(row) for n, t in terms.items()}}
                for row in table.rows
            ]
            return Table({name: t.type for name, t in terms.items()}, rows, table.length)
        case Aggregate():
            return _aggregated(table, operator)
        case _:
            raise NotPlain(type(operator).__name__.lower())


def _kept(table: Table, condition: Callable[[Row], Any]) -> Table:
    return Table(table.columns, [row for row in table.rows if condition(row) is True], table.length)


def _aggregated(table: Table, operator: Aggregate) -> Table:
    keys = list(operator.group_by)
    totals = {name: total(text, table.visible) for name, text in operator.select.items()}

    def key(row: Row) -> tuple[Any, ...]:
        values = [row[name] for name in keys]
        if None in values:
            raise NotPlain("a group of NULL")
        return tuple(values)

    rows: list[Mapping[str, Any]] = []
    for start, end, inside in windows(operator, table.rows, table.length):
        for group, members in groupby(sorted(inside, key=key), key):
            found = list(members)
            bounds = {"window_start": start, "window_end": end}
            made = {name: total.over(found) for name, total in totals.items()}
            rows.append({**dict(zip(keys, group, strict=True)), **bounds, **made, "ts": None})
    columns = {n: table.columns[n] for n in keys} | {"window_start": LONG, "window_end": LONG}
    return Table({**columns, **{n: t.type for n, t in totals.items()}}, rows, len(rows))
