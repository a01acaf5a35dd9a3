"""An element's operators as one Spark plan over the rows of a batch plan.

The plan is the same for every batch: nothing that changes from batch to batch is a literal that ends up in
generated code, so that Spark compiles each element once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import LongType, StructField, StructType

from understudy.engine.frame import ORDER, Frame, quoted
from understudy.engine.function import Call, called
from understudy.engine.inputs import one_input, union
from understudy.engine.join import join
from understudy.engine.lane import InputSpec
from understudy.engine.panes import WINDOW
from understudy.engine.plan import CELL, plan_schema, uses_window_times
from understudy.engine.planned import planned, planned_query
from understudy.engine.sql import query
from understudy.engine.windows import aggregate, fold, partials
from understudy.model.elements import Element
from understudy.model.operators import (
    Aggregate,
    Correlate,
    Filter,
    Join,
    Map,
    Operator,
    Python,
    Sample,
    Sql,
    Union,
)
from understudy.model.panes import Mergeable


@dataclass(frozen=True)
class Shape:
    """What is known of a compiled plan without running it."""

    payload: pa.Schema
    order: int
    """How many of the first columns of the result are order columns."""


def raw_type(element: Element, inputs: Sequence[InputSpec], in_panes: bool = False) -> StructType:
    return from_arrow_schema(plan_schema(element, inputs, in_panes))


def compile_element(
    element: Element, inputs: Sequence[InputSpec], raws: Sequence[DataFrame], call: Call = called
) -> DataFrame:
    """Rows of a plan → order columns, `_ts`, payload. `raws`: one frame, or one per input with only its
    rows."""
    return _frame(element, inputs, raws, call).result()


def compile_partials(
    element: Element, inputs: Sequence[InputSpec], raw: DataFrame, merge: Mergeable, call: Call = called
) -> DataFrame:
    """Rows of a plan with their cells → partials."""
    before, operator, _ = _around_windows(element)
    frame = _frame(replace(element, operators=before), inputs, [raw], call)
    if any(isinstance(op, Sql | Python) for op in before):
        frame = frame.in_order()
    return partials(frame, operator, merge)


def compile_fold(element: Element, rows: DataFrame, merge: Mergeable, call: Call = called) -> DataFrame:
    """Partials with the numbers of their windows → order columns, `_ts`, payload."""
    _, operator, after = _around_windows(element)
    frame = fold(rows, element.tables[0], operator, merge)
    for following in after:
        frame = _apply(frame, following, [], call)
    return frame.result()


def _around_windows(element: Element) -> tuple[tuple[Operator, ...], Aggregate, tuple[Operator, ...]]:
    for place, operator in enumerate(element.operators):
        if isinstance(operator, Aggregate):
            return element.operators[:place], operator, element.operators[place + 1 :]
    raise ValueError(f"{element.name} has no windows")


def fold_type(element: Element, made: DataFrame) -> StructType:
    """The rows that are folded, from the partials that `compile_partials` makes."""
    columns = [field for field in made.schema if field.name != CELL]
    timed = [StructField("_time", LongType())] if uses_window_times(element) else []
    return StructType([StructField(WINDOW, LongType()), *columns, *timed])


def shape_of(compiled: DataFrame) -> Shape:
    schema = to_arrow_schema(compiled.schema, timezone="UTC")
    order = sum(name.startswith(ORDER) for name in schema.names)
    return Shape(pa.schema([pa.field(f.name, f.type) for f in list(schema)[order + 1 :]]), order)


def reads_apart(element: Element) -> bool:
    """Whether the inputs are read separately."""
    return any(isinstance(op, Join) for op in element.operators)


def _frame(element: Element, inputs: Sequence[InputSpec], raws: Sequence[DataFrame], call: Call) -> Frame:
    frames = [
        one_input(raws[place % len(raws)], place, *named)
        for place, named in enumerate(_named(element, inputs))
    ]
    first, rest = element.operators[:1], element.operators[1:]
    match first:
        case (Union(),):
            start = union(raws[0], inputs, element.tables)
        case (Sql(query=text),):
            start = query(planned_query(text, 0, frames), frames)
            if len(frames) > 1 and any(isinstance(op, Aggregate) for op in rest):
                start = start.in_order()
        case _:
            start, rest = frames[0], element.operators
    for number, operator in enumerate(rest, len(element.operators) - len(rest)):
        start = _apply(start, planned(operator, number, start), frames, call)
    return start


def _named(element: Element, inputs: Sequence[InputSpec]) -> list[tuple[InputSpec, str]]:
    return list(zip(inputs, element.tables, strict=True))


def _apply(frame: Frame, operator: Operator, frames: Sequence[Frame], call: Call) -> Frame:
    match operator:
        case Filter(where=condition):
            return frame.where(condition)
        case Map(select=select):
            return frame.select(select)
        case Sample(fraction=fraction, seed=seed):
            return frame.where(sampled(fraction, seed, ("_seq",) if "_seq" in frame.control else frame.order))
        case Sql(query=text):
            return query(text, [frame])
        case Aggregate():
            return aggregate(frame, operator)
        case Join(with_=name):
            return join(frame, next(f for f in frames[1:] if f.table == name), operator)
        case Union():
            return frame
        case Python():
            return call(frame, operator)
        case Correlate():
            raise NotImplementedError("correlate is not available yet")
        case _:
            assert_never(operator)


def sampled(fraction: float, seed: int | None, place: Sequence[str] = ("_seq",)) -> str:
    """A condition that depends on seed and `_seq` only; without a seed, on the plan's salt and the row's
    place."""
    salt = f"'{seed}'" if seed is not None else "cast(_salt AS string)"
    places = ", ".join(f"cast({quoted(column)} AS string)" for column in place)
    return f"crc32(cast(concat_ws(':', {salt}, {places}) AS binary)) / 4294967296D < {float(fraction)!r}D"
