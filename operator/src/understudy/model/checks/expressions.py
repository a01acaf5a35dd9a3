"""Operators: expressions can be parsed and use existing names; output columns have valid names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from ..brokers import OF_THE_RECORD
from ..elements import elements_of, is_stateful, uses_seq
from ..functions import why_arbitrary
from ..job import StreamJob
from ..network import Step, Walk
from ..operators import Aggregate, Filter, Join, Map, Python, Sql, Union, kind_of
from ..query import analyse
from ..refusal import Fault, Refusal, listed, path, refuse
from ..scope import Columns, Scope, aggregate_faults, row_faults
from ..sql import Malformed, parse_columns, parse_expression, shown

_RESERVED: Final = re.compile(r"_.*|i[0-9]+_.*")
_BOOLEANS: Final = ("true", "false")


def expressions(walk: Walk) -> Iterator[Refusal]:
    """The first fault of each text: other faults often only follow from it."""
    for step in walk.steps:
        first: dict[str, Fault] = {}
        for field, fault in _faults(step):
            first.setdefault(field, fault)
        yield from (fault.at(f"{step.field}{field}") for field, fault in first.items())


def _faults(step: Step) -> Iterator[tuple[str, Fault]]:
    match step.operator:
        case Filter(where=where):
            yield from ((".where", fault) for fault in row_faults(where, step.scope))
        case Map(select=select):
            yield from _select(select, step.scope)
        case Sql(query=query):
            yield from ((".query", fault) for fault in analyse(query, step.scope.tables).faults)
        case Join(on=on, select=chosen):
            yield from ((".on", fault) for fault in row_faults(on, step.scope))
            yield from _select(chosen or {}, step.scope)
        case Aggregate():
            yield from _aggregate(step.operator, step.scope)
        case Union():
            yield from (("", fault) for fault in _union(step.scope))
        case Python(schema_=str(schema)):
            yield from ((".schema", fault) for fault in schema_faults(schema))
        case _:
            pass


def schema_faults(schema: str) -> Iterator[Fault]:
    columns = parse_columns(schema)
    if isinstance(columns, Malformed):
        what = (
            f"{shown(schema)} {columns.why}; write names and Spark types, such as patient string, mv double"
        )
        yield Fault("InvalidSchema", what)
    else:
        yield from column_name_faults(tuple(column.name for column in columns))


def _select(select: Mapping[str, str], scope: Scope) -> Iterator[tuple[str, Fault]]:
    for name, text in select.items():
        yield from ((f".select.{name}", fault) for fault in row_faults(text, scope))


def _aggregate(operator: Aggregate, scope: Scope) -> Iterator[tuple[str, Fault]]:
    for n, name in enumerate(operator.group_by):
        yield from ((f".groupBy[{n}]", fault) for fault in row_faults(f"`{name}`", scope))
    for name, text in operator.select.items():
        for fault in aggregate_faults(text, scope, operator.group_by):
            yield f".select.{name}", fault


def _union(scope: Scope) -> Iterator[Fault]:
    """Columns are matched by name, so every input needs the same ones."""
    if not scope.is_known:
        return
    (first, columns), *others = ((name, set(columns or ())) for name, columns in scope.tables.items())
    for name, theirs in others:
        if theirs != columns:
            missing = sorted(columns - theirs) or sorted(theirs - columns)
            without = name if columns - theirs else first
            what = f"{without} has no {listed(missing, 'and')}"
            yield Fault("DifferentColumns", f"{what}; give all inputs the same columns, with map in a subjob")


# ---- columns that come out -------------------------------------------------------------------------------


def output_names(walk: Walk) -> Iterator[Refusal]:
    for step in walk.steps:
        if isinstance(step.operator, Map | Aggregate | Join | Sql):
            given = tuple(name for name in step.columns or () if name not in OF_THE_RECORD)
            for fault in column_name_faults(given):
                yield fault.at(step.field)


def column_name_faults(columns: Columns) -> Iterator[Fault]:
    for name in columns:
        if _RESERVED.fullmatch(name):
            what = f"the column name {name} is reserved"
            instead = "write one that begins neither with _ nor with i, digits and _"
            yield Fault("ReservedName", f"{what}; {instead}")
        if name.lower() in _BOOLEANS:
            what = f"the column name {name} is a boolean in YAML (as are y, n, on, off, yes, no)"
            yield Fault("ReservedName", f"{what}; write another name")
    counts = Counter(name.lower() for name in columns)
    for name in [name for name, count in counts.items() if count > 1]:
        yield Fault(
            "DuplicateColumn", f"the column {name} comes out twice; write select with different names"
        )


# ---- generators and elements -----------------------------------------------------------------------------


def generator_fields(job: StreamJob) -> Iterator[Refusal]:
    """Tuple n is a function of n: fields may use only `_seq` and `ts`, and neither chance nor a clock."""
    for n, source in enumerate(job.sources):
        for name, text in (source.generator.fields if source.generator else {}).items():
            field = path("spec", "sources", n, "generator", "fields", name)
            faults = tuple(row_faults(text, Scope({source.name: ()})))
            yield from (fault.at(field) for fault in faults)
            tree = parse_expression(text)
            if not faults and not isinstance(tree, Malformed) and (why := why_arbitrary(tree, text)):
                what = (
                    f"{why}, so tuple n would not be a function of n; write one of _seq, such as hash(_seq)"
                )
                yield refuse("NotRepeatable", field, what)


def generator_names(job: StreamJob) -> Iterator[Refusal]:
    for n, source in enumerate(job.sources):
        names = tuple(source.generator.fields) if source.generator else ()
        field = path("spec", "sources", n, "generator", "fields")
        yield from (fault.at(field) for fault in column_name_faults(names))
        if "ts" in (name.lower() for name in names):
            yield refuse(
                "ReservedName", f"{field}.ts", "ts is the event time of every generator; write another name"
            )


def stateful_elements(job: StreamJob) -> Iterator[Refusal]:
    """An element cut by hand, too, has at most one stateful operator, and after it no operator that needs
    `_seq`."""
    for n, subjob in enumerate(job.subjobs):
        for element in elements_of(subjob) if subjob.elements else ():
            full = False
            for operator in element.operators:
                if full and (is_stateful(operator) or uses_seq(operator)):
                    what = f"{kind_of(operator)} after a stateful operator; put it in an element of its own"
                    yield refuse("ElementTooLarge", path("spec", "subjobs", n, "elements"), what)
                full = full or is_stateful(operator)
