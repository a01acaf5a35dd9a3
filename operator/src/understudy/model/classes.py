"""Operator classes (Hwang §3.2): what an operator does when it is restarted. The theory in one table:

| class | restarted, it … |
|---|---|
| repeatable | emits identical duplicates, from any earlier point; one tuple of each input makes an output |
| convergent | emits other duplicates at first, then the same stream; windows are aligned to the data |
| deterministic | emits the same stream only from the same state |
| arbitrary | may emit another stream: time, chance, arrival order between inputs |

The class of a network is that of its most general operator. On this engine windows are aligned to `_seq` or
to the epoch and late tuples are told by positions, not by batches, so every aggregate on a subjob's input is
at least convergent. A restart from nothing gives the tuples of a stream between two elements of a subjob new
seqs: an operator that depends on the `_seq` of such a stream is deterministic.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from .draws import draws_of
from .elements import Element, elements_of, uses_seq
from .job import Merge, Subjob
from .operators import Aggregate, Correlate, Filter, Join, Map, Operator, Python, Sample, Sql, Union, WindowOn


class OperatorClass(StrEnum):
    """From the most special to the most general."""

    REPEATABLE = "repeatable"
    CONVERGENT = "convergent"
    DETERMINISTIC = "deterministic"
    ARBITRARY = "arbitrary"

    @property
    def generality(self) -> int:
        return list(OperatorClass).index(self)


@dataclass(frozen=True, slots=True)
class Verdict:
    operator_class: OperatorClass
    why: str
    by_plan: bool = False
    """Arbitrary, but every choice is made when a batch plan is cut."""


def class_of(subjob: Subjob) -> Verdict:
    """The most general class of its elements, with the reason."""
    elements = elements_of(subjob)
    inner = {element.name for element in elements}
    placed = (_placed(op) for e in elements if inner.intersection(e.inputs) for op in e.operators)
    return _most_general(
        [*map(class_of_element, elements), *(verdict for verdict in placed if verdict is not None)]
    )


def class_of_element(element: Element) -> Verdict:
    verdicts = [classify(operator) for operator in element.operators]
    if len(element.inputs) > 1:
        verdicts.append(_merging(element.merge))
    return _most_general(verdicts)


def _most_general(verdicts: Iterable[Verdict]) -> Verdict:
    """Of several verdicts, the most general. An arbitrary choice that no batch plan makes counts as more
    general than one that a plan makes."""
    passes = Verdict(OperatorClass.REPEATABLE, "every tuple passes as it is")
    return max(
        verdicts, key=lambda verdict: (verdict.operator_class.generality, not verdict.by_plan), default=passes
    )


def _placed(operator: Operator) -> Verdict | None:
    """The class of an operator that reads another element, if it depends on the places that this element
    gives its tuples."""
    windows = isinstance(operator, Aggregate) and operator.window.on is WindowOn.SEQ
    if not windows and not uses_seq(operator):
        return None
    why = (
        "it depends on _seq behind another stateful operator, "
        "and a restart from nothing numbers that stream anew"
    )
    return Verdict(OperatorClass.DETERMINISTIC, why)


def _merging(merge: Merge) -> Verdict:
    match merge:
        case Merge.ARRIVAL:
            why = "merge: arrival takes several inputs in the order they arrive"
            return Verdict(OperatorClass.ARBITRARY, why, by_plan=True)
        case Merge.EVENT_TIME:
            return Verdict(
                OperatorClass.REPEATABLE, "merge: eventTime takes inputs in the order of event time"
            )
        case _:
            assert_never(merge)


def classify(operator: Operator) -> Verdict:
    """The class of one operator on one merged input; how several inputs meet is the element's concern."""
    draws = [Verdict(OperatorClass.ARBITRARY, d.why, by_plan=d.taken is not None) for d in draws_of(operator)]
    if draws:
        return _most_general(draws)
    match operator:
        case Filter():
            return Verdict(OperatorClass.REPEATABLE, "filter looks at one tuple at a time")
        case Map():
            return Verdict(OperatorClass.REPEATABLE, "map looks at one tuple at a time")
        case Sql():
            return Verdict(OperatorClass.REPEATABLE, "the query looks at one tuple at a time")
        case Union():
            return Verdict(OperatorClass.REPEATABLE, "union passes tuples in the order of its input")
        case Join():
            return Verdict(
                OperatorClass.REPEATABLE, "join without timeout: one tuple of each input makes a pair"
            )
        case Aggregate():
            return _aggregate(operator)
        case Sample(seed=None):
            why = "sample without seed is random; with a seed it is repeatable"
            return Verdict(OperatorClass.ARBITRARY, why, by_plan=True)
        case Sample():
            return Verdict(OperatorClass.REPEATABLE, "sample with a seed is a function of seed and _seq")
        case Python() | Correlate():
            return _declared(operator)
        case _:
            assert_never(operator)


def _aggregate(operator: Aggregate) -> Verdict:
    aligned = "their place on the stream" if operator.window.on is WindowOn.SEQ else "event time"
    why = f"windows are aligned to {aligned}, so a restart from nothing converges"
    return Verdict(OperatorClass.CONVERGENT, why)


def _declared(operator: Python | Correlate) -> Verdict:
    if operator.deterministic:
        return Verdict(OperatorClass.DETERMINISTIC, f"{operator.function} is declared deterministic")
    return Verdict(OperatorClass.ARBITRARY, f"{operator.function} is not declared deterministic")
