"""Aggregates over count windows: every window is made of its rows, from nothing."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from sqlglot import exp

from understudy.model.operators import Aggregate
from understudy.model.sql import Malformed, parse_expression
from understudy_lab.verify.plain.expressions import compiled
from understudy_lab.verify.plain.types import DOUBLE, LONG, Columns, Kind, NotPlain, Row, Type

Fold = Callable[[Sequence[Any]], Any]


@dataclass(frozen=True, slots=True)
class Total:
    """An aggregate, ready to be computed over the rows of a window and group."""

    type: Type
    over: Callable[[Sequence[Row]], Any]


SIMPLE: Final[Mapping[type[exp.Expr], Fold]] = {
    exp.Min: lambda values: min(values, default=None),
    exp.Max: lambda values: max(values, default=None),
    exp.Sum: lambda values: sum(values) if values else None,
    exp.Avg: lambda values: sum(map(float, values)) / len(values) if values else None,
}


def total(text: str, columns: Columns) -> Total:
    tree = parse_expression(text)
    if isinstance(tree, Malformed):
        raise NotPlain(f"{text!r} {tree.why}")
    if isinstance(tree, exp.Count):
        return _count(tree, columns)
    fold = SIMPLE.get(type(tree))
    if fold is None:
        raise NotPlain(text)
    value = compiled(tree.this, columns)
    if value.type.kind is Kind.DECIMAL:
        raise NotPlain(f"{text!r}: an aggregate of decimals")
    return Total(
        _type_of(tree, value.type), lambda rows: fold([v for v in map(value.of, rows) if v is not None])
    )


def _count(tree: exp.Count, columns: Columns) -> Total:
    if isinstance(tree.this, exp.Star):
        return Total(LONG, len)
    if tree.expressions or isinstance(tree.this, exp.Distinct):
        raise NotPlain(tree.sql(dialect="spark"))
    value = compiled(tree.this, columns)
    return Total(LONG, lambda rows: sum(value.of(row) is not None for row in rows))


def _type_of(tree: exp.Expr, of: Type) -> Type:
    if isinstance(tree, exp.Avg):
        return DOUBLE
    return LONG if isinstance(tree, exp.Sum) and of.whole else of


def windows(
    operator: Aggregate, rows: Sequence[Row], length: int
) -> Iterator[tuple[int, int, Sequence[Row]]]:
    """(start, end, rows) of every full window that has rows, of a stream that is `length` long.

    A window is emitted when the stream reaches its end, however few of its tuples came through the filters
    before.
    """
    size, slide = operator.window.size, operator.window.slide
    if not isinstance(size, int) or not isinstance(slide, int):
        raise NotPlain("a window in event time")
    place = itemgetter("_seq")
    for start in range(0, length - size + 1, slide):
        first = bisect_left(rows, start, key=place)
        if inside := rows[first : bisect_left(rows, start + size, first, key=place)]:
            yield start, start + size, inside
