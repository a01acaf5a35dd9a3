"""How far two executions without failures may differ: what a run of a query with many results is held to. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from understudy.backends.local.history import Comparison
from understudy.backends.local.promises import path_of
from understudy.model.classes import OperatorClass, class_of_element
from understudy.model.draws import draws_of
from understudy.model.elements import Element, elements_of, is_stateful, uses_seq
from understudy.model.guarantees import Recovery
from understudy.model.job import Merge, StreamJob
from understudy.model.network import in_order
from understudy.model.operators import Operator, Sample


@dataclass(frozen=True, slots=True)
class Chance:
    """What is left to chance on the way to a stream; nothing: every execution gives the same tuples."""

    which: bool = False
    """A sample without a seed: which tuples pass."""
    order: bool = False
    """Arrival: in which order tuples are merged."""
    content: bool = False
    """What is in a tuple, too."""


def chance_of(job: StreamJob, stream: str) -> Chance:
    path = {s.name for s in path_of(job, stream)}
    found, touched = Chance(), set[str]()
    for subjob in (s for s in in_order(job) if s.name in path):
        for element in elements_of(subjob):
            own = _own(element)
            found = replace(found, which=found.which or own.which, order=found.order or own.order)
            if own != Chance() or touched & set(element.inputs):
                touched.add(element.name)
                spreads = any(is_stateful(op) or uses_seq(op) for op in element.operators)
                found = replace(found, content=found.content or own.content or spreads)
    return found


def _own(element: Element) -> Chance:
    verdict = class_of_element(element)
    if verdict.operator_class is not OperatorClass.ARBITRARY:
        return Chance()
    merges = len(element.inputs) > 1 and element.merge is Merge.ARRIVAL
    told = any(map(_is_drawn, element.operators))
    return Chance(any(map(draws, element.operators)), merges, content=told or not verdict.by_plan)


def _is_drawn(operator: Operator) -> bool:
    """Whether expressions take time and chance from batch plans, which nobody keeps."""
    return next(draws_of(operator), None) is not None


def draws(operator: Operator) -> bool:
    return isinstance(operator, Sample) and operator.seed is None


def without_draws(job: StreamJob) -> StreamJob:
    """The same job with every random sample taking all: whatever it lets pass is among that."""
    subjobs = tuple(
        s.model_copy(
            update={
                "operators": tuple(_kept(s.operators)),
                "elements": tuple(e.model_copy(update={"operators": tuple(_kept(e.operators))}) for e in s.elements),
            }
        )
        for s in job.subjobs
    )
    return job.model_copy(update={"subjobs": subjobs})


def _kept(operators: tuple[Operator, ...]) -> Iterator[Operator]:
    for operator in operators:
        yield operator.model_copy(update={"fraction": 1.0, "seed": 0}) if draws(operator) else operator


def one_of_many(found: Comparison, chance: Chance, declared: int) -> Comparison | None:
    """What is found, seen as one of the results that an execution without failures could give: compared with the
    widest of them. None where tuples tell nothing; then only what processes declared lost is known to be lost."""
    if declared:
        return replace(found, recovery=Recovery.GAP, lost=declared, duplicated=0, surplus=(), holes=())
    if chance.content:
        return None
    if found.surplus:
        recovery = Recovery.DIVERGENT if found.foreign else Recovery.REPEATING
        return replace(found, recovery=recovery, lost=0, holes=())
    lacking = found.expected - found.tuples
    if (lacking and not chance.which) or (found.reordered and not chance.order):
        return found
    return replace(found, recovery=Recovery.PRECISE, lost=0, duplicated=0, reordered=0, holes=())
