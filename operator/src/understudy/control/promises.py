"""What each subjob promises while it runs: the class of its operators, its guarantee in force, and why."""

from __future__ import annotations

from dataclasses import dataclass

from understudy.control.observed import Observed
from understudy.control.views import SubjobView
from understudy.model.classes import OperatorClass
from understudy.model.ha import Guarantee


@dataclass(frozen=True, slots=True)
class Promise:
    operator_class: OperatorClass
    guarantee: Guarantee
    why: str


def promise_of(seen: Observed, view: SubjobView) -> Promise:
    """The guarantee that the mode gives for this class of operators. It holds from the first tuple on: until
    a standby is ready, upstream keeps everything that a restart would need."""
    plan = seen.plans.get(view.subjob.name)
    if plan is None:
        return Promise(OperatorClass.ARBITRARY, Guarantee.GAP, "the job could not be planned")
    return Promise(plan.verdict.operator_class, plan.choice.guarantee, plan.choice.why)
