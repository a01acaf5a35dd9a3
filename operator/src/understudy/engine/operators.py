"""The operators on Spark: what each of them makes of the rows that it gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from pyspark.sql import DataFrame

from understudy.engine.frame import Frame, quoted
from understudy.engine.function import Call
from understudy.engine.inputs import union
from understudy.engine.join import join
from understudy.engine.lane import InputSpec
from understudy.engine.planned import expression, expressions, names_of, planned_query
from understudy.engine.sql import query
from understudy.engine.windows import aggregate
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
    kind_of,
)


def merged(operator: Operator, raw: DataFrame, inputs: Sequence[InputSpec], frames: Sequence[Frame]) -> Frame:
    """The one stream that an element's first operator makes of its inputs. `raw`: the rows of all inputs,
    `frames`: those of each."""
    match operator:
        case Union():
            return union(raw, inputs, [frame.table for frame in frames])
        case Sql(query=text):
            return query(planned_query(text, 0, frames), frames)
        case _:
            raise TypeError(f"{kind_of(operator)} does not make one stream of several inputs")


def applied(
    operator: Operator, frame: Frame, number: int, frames: Sequence[Frame] = (), *, call: Call
) -> Frame:
    """The rows after the operator. `number`: its place in the element, `frames`: the element's inputs."""
    match operator:
        case Filter(where=condition):
            return frame.where(expression(condition, names_of(frame), f"{number}"))
        case Map(select=select):
            return frame.select(expressions(select, names_of(frame), number))
        case Sample(fraction=fraction, seed=seed):
            return frame.where(sampled(fraction, seed, ("_seq",) if "_seq" in frame.control else frame.order))
        case Sql(query=text):
            return query(planned_query(text, number, [frame]), [frame])
        case Aggregate():
            return aggregate(frame, operator, number)
        case Join(with_=name):
            return join(frame, next(f for f in frames[1:] if f.table == name), operator, number)
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
