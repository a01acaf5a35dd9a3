"""The inputs of an element as frames, from the rows of a batch plan."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from understudy.engine.frame import Frame, quoted
from understudy.engine.lane import InputKind, InputSpec
from understudy.engine.plan import payload_name


def one_input(raw: DataFrame, place: int, spec: InputSpec, table: str) -> Frame:
    """The rows of one input, with its own columns."""
    control = _control(raw)
    if "_pos" in raw.columns:
        mine = raw.where(f"_in = {place}")
    else:
        mine = raw.withColumn("_pos", raw["_seq"])
        control = (*control, "_pos")
    columns = [f"{_column(place, spec, name)} AS {quoted(name)}" for name in columns_of(spec)]
    df = mine.selectExpr("*", "_ts AS ts").selectExpr(*map(quoted, control), *columns)
    return Frame.of(df, table, control, columns_of(spec))


def union(raw: DataFrame, inputs: Sequence[InputSpec], tables: Sequence[str]) -> Frame:
    """All rows, columns by name; `_seq` becomes the place in the merged input."""
    if len(inputs) == 1:
        return one_input(raw, 0, inputs[0], tables[0])
    control = _control(raw)
    names = list(dict.fromkeys(name for spec in inputs for name in columns_of(spec)))
    columns = [f"{_by_input(inputs, name)} AS {quoted(name)}" for name in names]
    renumbered = ["_pos AS _seq" if name == "_seq" else quoted(name) for name in control]
    df = raw.selectExpr("*", "_ts AS ts").selectExpr(*renumbered, *columns)
    return Frame.of(df, tables[0], control, names)


def _by_input(inputs: Sequence[InputSpec], name: str) -> str:
    cases = [
        f"WHEN {place} THEN {_column(place, spec, name)}"
        for place, spec in enumerate(inputs)
        if name in columns_of(spec)
    ]
    return f"CASE _in {' '.join(cases)} END"


def columns_of(spec: InputSpec) -> tuple[str, ...]:
    return (
        tuple(name for name, _ in spec.fields)
        if spec.kind is InputKind.GENERATOR
        else tuple(spec.schema.names)
    )


def _column(place: int, spec: InputSpec, name: str) -> str:
    """A generator's columns are computed here, from `_seq` and `ts`."""
    if spec.kind is InputKind.GENERATOR:
        return f"({dict(spec.fields)[name]}\n)"
    return quoted(payload_name(place, name))


def _control(raw: DataFrame) -> tuple[str, ...]:
    return tuple(name for name in raw.columns if name.startswith("_"))
