"""The query network as a graph of named streams. Sources and subjobs share one set of names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from .elements import Element, elements_of, in_reading_order
from .job import StreamJob, Subjob
from .operators import Operator, kind_of
from .refusal import path
from .scope import Columns, Scope
from .sinks import Sink

# ---- the graph -------------------------------------------------------------------------------------------


def producers(job: StreamJob) -> Mapping[str, tuple[str, ...]]:
    """Each subjob's inputs: the streams that it needs before it can emit."""
    return {subjob.name: subjob.inputs for subjob in job.subjobs}


def consumers(job: StreamJob, stream: str) -> tuple[Subjob | Sink, ...]:
    """The consumers of a stream, subjobs before sinks, in the order of the manifest."""
    subjobs = tuple(subjob for subjob in job.subjobs if stream in subjob.inputs)
    return subjobs + tuple(sink for sink in job.sinks if sink.input == stream)


def in_order(job: StreamJob) -> tuple[Subjob, ...]:
    """Subjobs in an order in which each comes after those that it reads; empty if there is a cycle."""
    if find_cycle(job):
        return ()
    subjobs = {subjob.name: subjob for subjob in job.subjobs}
    return tuple(subjobs[name] for name in _sorter(job).static_order())


def find_cycle(job: StreamJob) -> tuple[str, ...]:
    """Subjobs that read each other in a ring, `("a", "b", "a")`; empty if there is none."""
    try:
        _sorter(job).prepare()
    except CycleError as error:
        return tuple(error.args[1])
    return ()


def _sorter(job: StreamJob) -> TopologicalSorter[str]:
    names = {subjob.name for subjob in job.subjobs}
    return TopologicalSorter({s.name: [i for i in s.inputs if i in names] for s in job.subjobs})


# ---- a walk along the streams ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """One operator with its inputs and its output."""

    field: str
    """`spec.subjobs[0].operators[1].filter`"""
    operator: Operator
    scope: Scope
    """The streams that it reads, by the names that expressions use; a join's left side comes first."""
    columns: Columns | None
    """Its output columns; None where a fault hides them."""
    has_event_time: bool
    """Whether all its inputs have event time."""


@dataclass(slots=True)
class Walk:
    """All streams and operators of a job, from the sources down. For a job with a cycle only its sources."""

    job: StreamJob
    columns: dict[str, Columns | None] = field(default_factory=dict)
    """By stream, elements included (`<subjob>.1`)."""
    event_time: dict[str, bool] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)


def columns(job: StreamJob) -> dict[str, Columns]:
    """The columns of every source, element and subjob of a job that `check` accepts."""
    return {stream: names or () for stream, names in walk(job).columns.items()}


def walk(job: StreamJob) -> Walk:
    found = Walk(job)
    for source in job.sources:
        found.columns[source.name] = source.origin.columns
        found.event_time[source.name] = source.origin.has_event_time
    for subjob in in_order(job):
        fields = _fields(job, subjob)
        for element in elements_of(subjob):
            _walk_element(element, fields, found)
    return found


def _walk_element(element: Element, fields: Iterator[str], found: Walk) -> None:
    known = {
        table: found.columns.get(stream) for stream, table in zip(element.inputs, element.tables, strict=True)
    }
    right = {op.right_input for op in element.operators}
    timed = all(found.event_time.get(stream, True) for stream in element.inputs)
    left = {table: names for table, names in known.items() if table not in right} or dict(
        [*known.items()][:1]
    )
    name = next(iter(left))
    for operator in element.operators:
        named = operator.right_input
        scope = Scope(left if named is None else {**left, named: known.get(named)})
        given = operator.columns(scope)
        found.steps.append(Step(f"{next(fields)}.{kind_of(operator)}", operator, scope, given, timed))
        left = {name: given}
    found.columns[element.name] = next(iter(left.values()))
    found.event_time[element.name] = timed


def _fields(job: StreamJob, subjob: Subjob) -> Iterator[str]:
    """The path of each operator in the manifest, in the order of `elements_of`."""
    here = ("spec", "subjobs", job.subjobs.index(subjob))
    if not subjob.elements:
        yield from (path(*here, "operators", n) for n in range(len(subjob.operators)))
        return
    for spec in in_reading_order(subjob.elements):
        place = (*here, "elements", subjob.elements.index(spec), "operators")
        yield from (path(*place, n) for n in range(len(spec.operators)))
