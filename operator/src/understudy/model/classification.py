"""The operator classes of operators, elements and subjobs."""

from __future__ import annotations

from typing import assert_never

from .classes import OperatorClass, Verdict, most_general
from .elements import Element, elements_of
from .job import Merge, Subjob
from .operators import Operator


def class_of(subjob: Subjob) -> Verdict:
    """The most general class of its elements, with the reason."""
    elements = elements_of(subjob)
    inner = {element.name for element in elements}
    placed = (_placed(op) for e in elements if inner.intersection(e.inputs) for op in e.operators)
    return most_general(
        [*map(class_of_element, elements), *(verdict for verdict in placed if verdict is not None)]
    )


def class_of_element(element: Element) -> Verdict:
    verdicts = [classify(operator) for operator in element.operators]
    if len(element.inputs) > 1:
        verdicts.append(_merging(element.merge))
    return most_general(verdicts)


def _placed(operator: Operator) -> Verdict | None:
    """The class of an operator that reads another element, if it depends on the places that this element
    gives its tuples."""
    if not operator.uses_seq:
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
    draws = [Verdict(OperatorClass.ARBITRARY, d.why, by_plan=d.taken is not None) for d in operator.draws()]
    return most_general(draws) if draws else operator.verdict
