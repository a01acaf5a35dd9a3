"""Operators: expressions can be parsed and use existing names; output columns have valid names."""

from __future__ import annotations

from collections.abc import Iterator

from ..brokers import OF_THE_RECORD
from ..declared import column_name_faults
from ..elements import elements_of
from ..functions import why_arbitrary
from ..job import StreamJob
from ..network import Walk
from ..operators import kind_of
from ..refusal import Fault, Refusal, path, refuse
from ..scope import Scope, row_faults
from ..sql import Malformed, parse_expression


def expressions(walk: Walk) -> Iterator[Refusal]:
    """The first fault of each text: other faults often only follow from it."""
    for step in walk.steps:
        first: dict[str, Fault] = {}
        for field, fault in step.operator.faults(step.scope):
            first.setdefault(field, fault)
        yield from (fault.at(f"{step.field}{field}") for field, fault in first.items())


# ---- columns that come out -------------------------------------------------------------------------------


def output_names(walk: Walk) -> Iterator[Refusal]:
    for step in walk.steps:
        if step.operator.names_columns:
            given = tuple(name for name in step.columns or () if name not in OF_THE_RECORD)
            for fault in column_name_faults(given):
                yield fault.at(step.field)


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
                if full and (operator.is_stateful or operator.uses_seq):
                    what = f"{kind_of(operator)} after a stateful operator; put it in an element of its own"
                    yield refuse("ElementTooLarge", path("spec", "subjobs", n, "elements"), what)
                full = full or operator.is_stateful
