"""Variants of a job whose results say more about those of the job itself. Pure."""

from __future__ import annotations

from understudy.model.elements import in_reading_order
from understudy.model.job import ElementSpec, StreamJob, Subjob
from understudy.model.operators import Operator


def without_draws(job: StreamJob) -> StreamJob:
    """The same job with every random sample taking all: whatever it lets pass is among that."""
    subjobs = tuple(
        s.model_copy(
            update={
                "operators": _without_draws(s.operators),
                "elements": tuple(
                    e.model_copy(update={"operators": _without_draws(e.operators)}) for e in s.elements
                ),
            }
        )
        for s in job.subjobs
    )
    return job.model_copy(update={"subjobs": subjobs})


def _without_draws(operators: tuple[Operator, ...]) -> tuple[Operator, ...]:
    return tuple(operator.without_draw() for operator in operators)


def without_last_operator(job: StreamJob, stream: str) -> StreamJob:
    """The same job with a stream as it is before the last operator of its subjob."""
    subjobs = tuple(_shortened(subjob) if subjob.name == stream else subjob for subjob in job.subjobs)
    return job.model_copy(update={"subjobs": subjobs})


def _shortened(subjob: Subjob) -> Subjob:
    if not subjob.elements:
        return subjob.model_copy(update={"operators": subjob.operators[:-1]})
    *_, last = in_reading_order(subjob.elements)
    return subjob.model_copy(update={"elements": tuple(_cut(e) if e is last else e for e in subjob.elements)})


def _cut(element: ElementSpec) -> ElementSpec:
    return element.model_copy(update={"operators": element.operators[:-1]})
