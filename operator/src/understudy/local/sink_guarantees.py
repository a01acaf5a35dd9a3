"""What the subjobs of a job guarantee, and so what a sink may rely on: the weakest guarantee on its path.
Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from understudy.model.classes import OperatorClass
from understudy.model.ha import Guarantee, Mode
from understudy.model.job import StreamJob, Subjob
from understudy.model.plan import plan


@dataclass(frozen=True, slots=True)
class SubjobPromise:
    mode: Mode
    operator_class: OperatorClass
    guarantee: Guarantee


def promises(job: StreamJob) -> Mapping[str, SubjobPromise]:
    """The promises of a job that is accepted."""
    plans = plan(job)
    if isinstance(plans, list):
        raise ValueError("; ".join(refusal.message for refusal in plans))
    return {
        n: SubjobPromise(p.choice.mode, p.verdict.operator_class, p.choice.guarantee)
        for n, p in plans.items()
    }


def path_of(job: StreamJob, stream: str) -> tuple[Subjob, ...]:
    """The subjobs through which a stream comes, the nearest first."""
    found: dict[str, Subjob] = {}
    waiting = [stream]
    while waiting:
        subjob = job.subjob(waiting.pop(0))
        if subjob is not None and subjob.name not in found:
            found[subjob.name] = subjob
            waiting += subjob.inputs
    return tuple(found.values())


def promised(job: StreamJob, stream: str) -> Guarantee:
    given = promises(job)
    guarantees = (given[subjob.name].guarantee for subjob in path_of(job, stream))
    return min(guarantees, key=lambda guarantee: guarantee.strength, default=Guarantee.PRECISE)
