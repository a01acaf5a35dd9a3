"""An element's operators as one Spark plan over the rows of a batch plan.

The plan is the same for every batch: nothing that changes from batch to batch is a literal that ends up in
generated code, so that Spark compiles each element once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import LongType, StructField, StructType

from understudy.engine.frame import ORDER, Frame
from understudy.engine.function import Call, called
from understudy.engine.inputs import one_input
from understudy.engine.lane import InputSpec
from understudy.engine.operators import applied, merged
from understudy.engine.panes import WINDOW
from understudy.engine.plan import CELL, plan_schema, uses_window_times
from understudy.engine.windows import around_windows, fold, partials
from understudy.model.elements import Element
from understudy.model.operators import Window
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
    before, windows, _ = around_windows(element)
    frame = _frame(replace(element, operators=before), inputs, [raw], call)
    if any(op.makes_rows for op in before):
        frame = frame.in_order()
    return partials(frame, windows, merge)


def compile_fold(element: Element, rows: DataFrame, merge: Mergeable, call: Call = called) -> DataFrame:
    """Partials with the numbers of their windows → order columns, `_ts`, payload."""
    before, windows, after = around_windows(element)
    frame = fold(rows, element.tables[0], windows, merge)
    for number, operator in enumerate(after, len(before) + 1):
        frame = applied(operator, frame, number, call=call)
    return frame.result()


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
    return any(op.right_input is not None for op in element.operators)


def _frame(element: Element, inputs: Sequence[InputSpec], raws: Sequence[DataFrame], call: Call) -> Frame:
    frames = [
        one_input(raws[place % len(raws)], place, *named)
        for place, named in enumerate(_named(element, inputs))
    ]
    first, rest = element.operators[:1], element.operators[1:]
    if any(op.merges for op in first):
        start = merged(first[0], raws[0], inputs, frames)
        if first[0].makes_rows and len(frames) > 1 and any(isinstance(op.remembers, Window) for op in rest):
            start = start.in_order()
    else:
        start, rest = frames[0], element.operators
    for number, operator in enumerate(rest, len(element.operators) - len(rest)):
        start = applied(operator, start, number, frames, call=call)
    return start


def _named(element: Element, inputs: Sequence[InputSpec]) -> list[tuple[InputSpec, str]]:
    return list(zip(inputs, element.tables, strict=True))
