"""The plan of a job: for each subjob its class, what each mode would give and cost, the mode it takes and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from .choice import PLANNED, Choice, choose
from .classes import Verdict, class_of
from .costs import costs, detection, loads
from .guarantees import AVAILABLE, Promise, logs_steps, promise, promise_now
from .ha import Mode
from .job import StreamJob
from .refusal import Refusal, path


@dataclass(frozen=True, slots=True)
class ModePlan:
    promise: Promise
    """As built; for a mode that is not, what the papers give."""
    is_available: bool
    recovery: timedelta
    """After detection."""
    bandwidth_overhead: float
    """Ratio to the bytes of the input streams."""


@dataclass(frozen=True, slots=True)
class SubjobPlan:
    verdict: Verdict
    choice: Choice
    detection: timedelta
    modes: Mapping[Mode, ModePlan]


def plan(job: StreamJob) -> Mapping[str, SubjobPlan] | list[Refusal]:
    """Of a job that `check` accepts. Refusals only where a mode cannot keep what is asked of it."""
    load_of = loads(job)
    plans: dict[str, SubjobPlan] = {}
    refusals: list[Refusal] = []
    for place, subjob in enumerate(job.subjobs):
        choice = choose(subjob, load_of[subjob.name], path("spec", "subjobs", place))
        if isinstance(choice, Refusal):
            refusals.append(choice)
            continue
        verdict, prices = class_of(subjob), costs(load_of[subjob.name], subjob.ha, logs=logs_steps(subjob))
        modes = {
            mode: ModePlan(
                promise_now(mode, subjob) or promise(mode, verdict.operator_class),
                mode in AVAILABLE,
                prices[mode].recovery,
                prices[mode].bandwidth_overhead,
            )
            for mode in PLANNED
        }
        plans[subjob.name] = SubjobPlan(verdict, choice, detection(subjob.ha), modes)
    return refusals or plans


def to_json(plans: Mapping[str, SubjobPlan]) -> dict[str, Any]:
    """What `understudy plan --json` prints."""
    return {"subjobs": {name: _subjob_json(one) for name, one in plans.items()}}


def _subjob_json(one: SubjobPlan) -> dict[str, Any]:
    return {
        "operatorClass": str(one.verdict.operator_class),
        "chosen": str(one.choice.mode),
        "why": one.choice.why,
        "modes": {
            str(mode): {
                "guarantee": str(entry.promise.guarantee),
                "recoveryMs": round(entry.recovery.total_seconds() * 1000, 1),
                "bandwidthOverhead": round(entry.bandwidth_overhead, 4),
            }
            for mode, entry in one.modes.items()
        },
    }
