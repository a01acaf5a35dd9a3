"""Batch plans: all that a micro-batch depends on, and the columns of its rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import pyarrow as pa

from understudy.engine.lane import TIMESTAMP, WIRE, InputKind, InputSpec
from understudy.model.draws import Taken
from understudy.model.elements import Element
from understudy.protocol.merge import Run
from understudy.protocol.selection import CountWindow, TimeWindow, Within, rule_of

CELL: Final = "_cell"
"""The cell of a row (`cells.py`), as a number of its part."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one Spark task reads: for each input the tuples `[start, stop)`."""

    reads: tuple[tuple[int, int], ...]
    opened: int = 0
    shut: int = 0
    """Panes and count windows: the places `[opened, shut)`. Time windows: the greatest event times before the
    two."""


@dataclass(frozen=True, slots=True)
class Choice:
    """All that was chosen when a plan was cut: with it another process computes the same results from the
    same input."""

    start: int
    stop: int
    salt: int
    runs: tuple[Run, ...]
    """With several inputs: the order in which the new tuples were taken."""
    clock: int | None = None
    """Microseconds since 1970. None: the element does not use the time, or the process that cuts the plan
    chooses it."""

    def to_ints(self) -> tuple[int, ...]:
        """Runs are three numbers each, and the clock comes last. Without a clock the format is as before
        clocks existed."""
        runs = chain.from_iterable(run.to_list() for run in self.runs)
        return (self.start, self.stop, self.salt, *runs, *(() if self.clock is None else (self.clock,)))

    @classmethod
    def of(cls, ints: Sequence[int]) -> Choice:
        start, stop, salt, *rest = ints
        clock = rest.pop() if len(rest) % 3 else None
        return cls(start, stop, salt, tuple(Run.of(rest[n : n + 3]) for n in range(0, len(rest), 3)), clock)


@dataclass(frozen=True, slots=True)
class BatchPlan:
    number: int
    """Consecutive in this process; it is Spark's offset."""
    start: int
    stop: int
    """The new tuples, as places in the merged input."""
    parts: tuple[Part, ...]
    runs: tuple[Run, ...] = ()
    """With several inputs: the order in which the new tuples were taken."""
    salt: int = 0
    clock: int | None = None
    warm_up: bool = False
    ahead: bool = False
    """It only makes partials of panes, for windows that a later plan closes: the position stays."""
    cut_ms: int = 0
    """Wall-clock time at which it was cut: the duration of a micro-batch is counted from here."""

    def choice(self) -> Choice:
        return Choice(self.start, self.stop, self.salt, self.runs, self.clock)


@dataclass(frozen=True, slots=True)
class Position:
    """A state between two micro-batches: the place in the merged input, and for each input the next seq and
    the selection."""

    merged: int
    seqs: Mapping[str, int]
    selection: Mapping[str, int]
    progress: int | None = None
    """No later tuple of the output has an earlier event time (microseconds)."""


def taken_from_plan(element: Element) -> frozenset[Taken]:
    """Parts of a plan, besides its tuples, on which the element depends."""
    return frozenset[Taken]().union(*(op.taken for op in element.operators))


def uses_window_times(element: Element) -> bool:
    """Whether an operator after a count window uses the event time of its results."""
    if not isinstance(rule_of(element.operators), CountWindow):
        return False
    stateful = next(n for n, op in enumerate(element.operators) if op.is_stateful)
    return any(_mentions_ts(text) for op in element.operators[stateful + 1 :] for text in op.texts)


def _mentions_ts(text: str) -> bool:
    return re.search(r"\bts\b", text, re.IGNORECASE) is not None


def plan_schema(element: Element, inputs: Sequence[InputSpec], in_panes: bool = False) -> pa.Schema:
    """The columns of a plan's rows."""
    fields = list(WIRE)
    if len(inputs) > 1:
        fields += [pa.field("_pos", pa.int64()), pa.field("_in", pa.int32())]
    fields += [pa.field(CELL, pa.int32())] if in_panes else _of_rule(element)
    for place, spec in enumerate(inputs):
        if spec.kind is not InputKind.GENERATOR:
            fields += [pa.field(payload_name(place, f.name), f.type) for f in spec.schema]
    return pa.schema(fields)


def _of_rule(element: Element) -> list[pa.Field]:
    """The columns that windows and joins read, and those of the plan's choices."""
    rule = rule_of(element.operators)
    fields: list[pa.Field] = []
    if isinstance(rule, TimeWindow | Within):
        fields.append(pa.field("_wm", TIMESTAMP))
    if isinstance(rule, Within):
        fields.append(pa.field("_new", pa.bool_()))
    if isinstance(rule, CountWindow | TimeWindow):
        fields += [pa.field("_open", pa.int64()), pa.field("_shut", pa.int64())]
    if uses_window_times(element):
        fields.append(pa.field("_times", pa.list_(pa.int64())))
    taken = taken_from_plan(element)
    if Taken.SALT in taken:
        fields.append(pa.field("_salt", pa.int64()))
    if Taken.CLOCK in taken:
        fields.append(pa.field("_clock", TIMESTAMP))
    return fields


def payload_name(place: int, column: str) -> str:
    return f"i{place}_{column}"
