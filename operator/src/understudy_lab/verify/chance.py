"""How far two executions without failures may differ: what a run of a query with many results is held to.
Pure.

What is left to chance, and how it spreads along the streams:

| chance | comes from | through rows | a join | a window |
|---|---|---|---|---|
| which tuples come | a sample without a seed | the same | fewer pairs | fewer windows, any tuples in them |
| their order | merge: arrival | the same | everything | what is in a window, not which there are |
| everything | rand(), undeclared functions, `_seq` where places are chance | the same | the same | the same |

A join's pairs do not depend on the order of arrival if event times only grow on both inputs. If they do not,
and for windows on `ts`, a tuple may come too late; then what is sure is what comes whichever input is far
ahead of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from understudy.local.sink_guarantees import path_of
from understudy.model.classes import OperatorClass
from understudy.model.classification import classify
from understudy.model.elements import Element, elements_of
from understudy.model.job import Merge, StreamJob
from understudy.model.network import in_order
from understudy.model.operators import (
    Aggregate,
    Join,
    Map,
    Operator,
    Union,
    WindowOn,
)
from understudy.model.sql import mentions_seq

BOUNDS: Final = ("window_start", "window_end")


@dataclass(frozen=True, slots=True)
class Chance:
    """What is left to chance on the way to a stream."""

    share: float = 1.0
    """Of the tuples that may come, how many do on average, at least. Less than all: which ones is drawn."""
    order: bool = False
    """In which order they come."""
    windows: Aggregate | None = None
    """They are windows over tuples that are left to chance: sure is which windows there are, not what is in
    them."""
    sparse: bool = False
    """Tuples are left out on the way into windows: some of these may be empty, and those are not there."""
    content: bool = False
    """What is in a tuple. How many there are, as far as the share tells."""
    met: tuple[str, ...] = ()
    """Streams that were sure before they met in the order of arrival."""
    late: bool = False
    """Tuples that come too late are left out: sure is what comes whichever of `met` is ahead."""
    paired: bool = False
    """They are pairs: as long as one input lags behind, those that it makes are missing in between."""
    timely: bool = True
    """Whether event times only grow."""

    @property
    def nothing(self) -> bool:
        """Every execution gives the same tuples."""
        return self.placed and self.windows is None and not self.content

    @property
    def placed(self) -> bool:
        """Every execution gives every tuple the same place."""
        return self.share == 1 and not self.order


ANYTHING: Final = Chance(share=0.0, order=True, content=True, timely=False)


def chance_of(job: StreamJob, stream: str) -> Chance:
    path = {s.name for s in path_of(job, stream)}
    known = {source.name: Chance(timely=source.origin.ordered) for source in job.sources}
    for subjob in (s for s in in_order(job) if s.name in path):
        for element in elements_of(subjob):
            known[element.name] = _through(element, [known[name] for name in element.inputs])
    return known[stream]


def _through(element: Element, inputs: Sequence[Chance]) -> Chance:
    joins = any(op.right_input is not None for op in element.operators)
    found = start = inputs[0] if joins or len(inputs) == 1 else _merged(element, inputs)
    passing = True
    for operator in element.operators:
        match operator:
            case Join():
                found = _joined(element, operator, found, inputs[-1])
            case Aggregate():
                found = _windowed(operator, found, passing)
            case _:
                found = _row_by_row(operator, found, start)
        passing = passing and isinstance(operator, Union | Map)
    drawn_together = found.share < 1 and any(op.makes_rows for op in element.operators)
    return replace(found, share=0.0) if drawn_together else found


# --- several inputs


def _merged(element: Element, inputs: Sequence[Chance]) -> Chance:
    if any(chance.content or chance.windows or chance.late for chance in inputs):
        return ANYTHING
    arrival = element.merge is Merge.ARRIVAL
    sure = all(chance.nothing for chance in inputs)
    return Chance(
        share=min(chance.share for chance in inputs),
        order=arrival or any(chance.order for chance in inputs),
        met=element.inputs if arrival and sure else (),
        timely=not arrival and all(chance.timely for chance in inputs),
    )


def _joined(element: Element, operator: Join, left: Chance, right: Chance) -> Chance:
    """Of fewer tuples come fewer pairs; only where some may come too late, another may come instead."""
    met, timely = _merged(element, (left, right)), left.timely and right.timely
    sure = left.nothing and right.nothing
    places = any(map(mentions_seq, (operator.on, *(operator.select or {}).values())))
    if met.content or not _foretold(operator) or (not sure and (places or not timely)):
        return ANYTHING
    return replace(
        met, share=met.share if met.share == 1 else 0.0, late=met.order and not timely, paired=met.order
    )


# --- one operator


def _windowed(operator: Aggregate, found: Chance, passing: bool) -> Chance:
    """`passing`: no operator of its element leaves tuples out before it, so that there is a tuple in every
    window."""
    counted = operator.window.on is WindowOn.SEQ
    if not _foretold(operator) or found.content or found.windows or found.late:
        return ANYTHING
    if found.placed:
        return replace(found, timely=found.timely or not counted)
    if counted:
        return replace(found, windows=operator, order=False, sparse=not passing)
    if found.met and found.share == 1:
        return replace(found, windows=operator, order=False, late=True)
    return ANYTHING


def _row_by_row(operator: Operator, found: Chance, start: Chance) -> Chance:
    """`_seq` is the place at the element's start."""
    by_place = operator.uses_seq and not (start.placed and not found.order)
    share = operator.drawn_share
    unsure = found.content or by_place or (share is None and not _foretold(operator))
    match operator:
        case _ if found.sparse:
            return ANYTHING
        case Union():
            return found
        case _ if share is not None:
            return ANYTHING if found.windows else replace(found, share=found.share * share)
        case Map(select=select) if found.windows:
            return _renamed(found, found.windows, select)
        case Map():
            return replace(found, content=unsure)
        case _ if operator.is_stateful:
            raise TypeError("it does not go row by row")
        case _:
            return ANYTHING if unsure or found.windows else found


def _renamed(found: Chance, windows: Aggregate, select: Mapping[str, str]) -> Chance:
    """Windows of which a map takes some columns."""
    kept = {name for name, text in select.items() if name == text}
    if kept.issuperset((*BOUNDS, *windows.group_by)):
        left = {name: text for name, text in windows.select.items() if name in kept}
        return replace(found, windows=windows.model_copy(update={"select": left}))
    counted = found.share == 1 and not found.late and not windows.group_by
    return replace(found, windows=None, content=True) if counted else ANYTHING


def _foretold(operator: Operator) -> bool:
    return classify(operator).operator_class is not OperatorClass.ARBITRARY
