"""The determinants (Hwang §6) of a Spark element are its batch plans: the tuples and their order, salt,
clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from understudy.engine.inbox import Inbox
from understudy.engine.plan import BatchPlan, Choice, Position
from understudy.model.classes import OperatorClass
from understudy.model.classification import class_of_element
from understudy.model.elements import Element
from understudy.protocol.determinants import Determinant
from understudy.protocol.ids import Seq, Stream, positions


def leaves_to_chance(element: Element) -> bool:
    """Whether another instance needs the element's determinants to repeat its steps."""
    return class_of_element(element).operator_class is OperatorClass.ARBITRARY


def determinant_of(
    element: Element, before: Mapping[Stream, Seq], plan: BatchPlan, at: Position
) -> Determinant | None:
    """What was chosen for the step that took `plan`; `before`: the positions at its beginning."""
    if not leaves_to_chance(element):
        return None
    return Determinant(element.name, before, positions(at.seqs), plan.choice().to_ints())


def follow(inboxes: Mapping[str, Inbox]) -> None:
    """Lets non-deterministic elements wait for the determinants of the primary."""
    for inbox in inboxes.values():
        if leaves_to_chance(inbox.element):
            inbox.follow(())


def lead(inboxes: Mapping[str, Inbox]) -> None:
    for inbox in inboxes.values():
        inbox.lead()


def heard_of(inboxes: Mapping[str, Inbox], determinants: Iterable[Determinant]) -> None:
    """From determinants that a standby only stores, it learns how far the primary's clock has come."""
    for step in determinants:
        if step.choice:
            inboxes[step.element].heard_of(Choice.of(step.choice))


def choose(inboxes: Mapping[str, Inbox], determinants: Iterable[Determinant]) -> None:
    for step in determinants:
        inboxes[step.element].follow([Choice.of(step.choice)])
