"""The streams of a job that ends: sources first, then element by element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from typing import Any

from understudy.model.elements import Element, elements_of
from understudy.model.job import StreamJob
from understudy.model.operators import Aggregate, Filter, Map, Operator, Sample, Union, Window
from understudy.model.sources import Generator, Source
from understudy_lab.verify.plain.aggregates import Total, total
from understudy_lab.verify.plain.expressions import term
from understudy_lab.verify.plain.operators import (
    Row,
    Select,
    count_windows,
    filtered,
    generator,
    mapped,
    merged_by_event_time,
    renumbered,
    sampled,
    time_windows,
    union,
)
from understudy_lab.verify.plain.types import DOUBLE, LONG, TIMESTAMP, Columns, Kind, NotPlain, Term, common

HIDDEN = {"_seq": LONG, "ts": TIMESTAMP}
MOST_TUPLES = 500_000  # a second opinion should not take longer than the first
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Table:
    columns: Columns
    rows: Sequence[Row]
    whole: Sequence[Row]
    """The stream before the filters: windows close by it, however few of its tuples came through."""

    @property
    def visible(self) -> Columns:
        return {**HIDDEN, **self.columns}


def plain_reference(job: StreamJob, stream: str) -> list[dict[str, Any]]:
    """A stream's tuples without failures. Raises NotPlain where only Spark can say."""
    found = _table(job, stream)
    for name, type_ in found.columns.items():
        if type_.kind in (Kind.DECIMAL, Kind.TIMESTAMP):
            raise NotPlain(f"column {name}, a {type_.kind.value}")
    return [{**row.columns, "_seq": row.seq} for row in found.rows]


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
            terms = _terms(fields, HIDDEN)
            rows = generator(int(rate), limit, lambda seq, ts: _computed(terms, {"_seq": seq, "ts": ts}))
            return Table(_types(terms), rows, rows)
        case _:
            raise NotPlain(f"source {source.name}")


def _element(element: Element, inputs: Sequence[Table]) -> Table:
    start = inputs[0] if len(inputs) == 1 else _merged(element, inputs)
    made = reduce(_apply, element.operators, start)
    rows = renumbered(made.rows)
    return Table(made.columns, rows, rows)


def _merged(element: Element, inputs: Sequence[Table]) -> Table:
    """In the order of event time: one of the orders in which tuples may arrive."""
    named = all(table.columns.keys() == inputs[0].columns.keys() for table in inputs)
    if not isinstance(element.operators[0], Union) or not named:
        raise NotPlain(f"how the inputs of {element.name} meet")
    columns = {name: reduce(common, (table.columns[name] for table in inputs)) for name in inputs[0].columns}
    rows = union(merged_by_event_time([table.rows for table in inputs]), list(columns))
    rows = mapped(rows, lambda row: _widened(row, columns))
    return Table(columns, rows, rows)


def _widened(row: Row, columns: Columns) -> dict[str, Any]:
    """With whole numbers as doubles where they meet doubles."""
    found = row.columns
    doubles = [name for name, type_ in columns.items() if type_ == DOUBLE and found[name] is not None]
    return {**found, **{name: float(found[name]) for name in doubles}}


def _apply(table: Table, operator: Operator) -> Table:
    match operator:
        case Union():
            return table
        case Filter(where=text):
            condition = term(text, table.visible).of
            kept = filtered(table.rows, lambda row: condition(_values(row)) is True)
            return Table(table.columns, kept, table.whole)
        case Sample(fraction=fraction, seed=int(seed)):
            return Table(table.columns, sampled(table.rows, fraction, seed), table.whole)
        case Map(select=select) if "ts" not in select:
            terms = _terms(select, table.visible)
            rows = mapped(table.rows, lambda row: _computed(terms, _values(row)))
            return Table(_types(terms), rows, table.whole)
        case Aggregate():
            return _aggregated(table, operator)
        case _:
            raise NotPlain(type(operator).__name__.lower())


def _values(row: Row) -> dict[str, Any]:
    """What an expression sees of a row."""
    return {"_seq": row.seq, "ts": row.ts, **row.columns}


def _terms(texts: Mapping[str, str], columns: Columns) -> dict[str, Term]:
    return {name: term(text, columns) for name, text in texts.items()}


def _computed(terms: Mapping[str, Term], values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: t.of(values) for name, t in terms.items()}


def _types(terms: Mapping[str, Term] | Mapping[str, Total]) -> Columns:
    return {name: t.type for name, t in terms.items()}


def _aggregated(table: Table, operator: Aggregate) -> Table:
    totals = {name: total(text, table.visible) for name, text in operator.select.items()}
    rows = mapped(table.rows, _values)

    def select(members: Sequence[Row]) -> dict[str, Any]:
        values = [row.columns for row in members]
        return {name: t.over(values) for name, t in totals.items()}

    results = _windows(operator.window, table.whole, rows, operator.group_by, select)
    bound = LONG if isinstance(operator.window.size, int) else TIMESTAMP
    columns = {n: table.columns[n] for n in operator.group_by} | {"window_start": bound, "window_end": bound}
    return Table({**columns, **_types(totals)}, results, results)


def _windows(
    window: Window, whole: Sequence[Row], rows: Sequence[Row], group_by: Sequence[str], select: Select
) -> list[Row]:
    if isinstance(window.size, int) and isinstance(window.slide, int):
        return count_windows(whole, rows, window.size, window.slide, group_by, select)
    assert isinstance(window.size, timedelta)
    assert isinstance(window.slide, timedelta)
    size, slide, lateness = (span // MICROSECOND for span in (window.size, window.slide, window.lateness))
    return time_windows(whole, rows, size, slide, lateness, group_by, select)
