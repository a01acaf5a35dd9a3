"""The plan of a job: for each subjob its class, what each mode would guarantee and cost and how long it would
take, and the mode it runs in, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from .choice import PLANNED, Choice, choose, too_long
from .classes import Verdict
from .classification import class_of
from .costs import assumed_rates, loads
from .guarantees import AVAILABLE, Promise, promise, promise_now
from .ha import Mode
from .job import StreamJob, Subjob
from .prediction import Detection, Prediction, detection, predictions
from .refusal import Refusal, listed, path


@dataclass(frozen=True, slots=True)
class ModePlan:
    promise: Promise
    """The promise as it is built; for a mode that is not built, that of the papers."""
    is_available: bool
    prediction: Prediction


@dataclass(frozen=True, slots=True)
class SubjobPlan:
    verdict: Verdict
    choice: Choice
    detection: Detection
    modes: Mapping[Mode, ModePlan]
    assumed_rates: Mapping[str, float]
    """For sources above the subjob that declare no rate, in tuples per second."""
    warning: str | None
    """A sentence if a recovery may take longer than allowed."""


def plan(job: StreamJob) -> Mapping[str, SubjobPlan] | list[Refusal]:
    """The plans of a job that `check` accepts. Refusals only where a mode can't give the guarantee asked for;
    a recovery time that can't be reached is a warning here, because running jobs have to be planned, too."""
    load_of, assumed = loads(job), assumed_rates(job)
    plans: dict[str, SubjobPlan] = {}
    refusals: list[Refusal] = []
    for place, subjob in enumerate(job.subjobs):
        choice = choose(subjob, load_of[subjob.name], path("spec", "subjobs", place))
        if isinstance(choice, Refusal):
            refusals.append(choice)
            continue
        verdict, forecast = class_of(subjob), predictions(subjob, load_of[subjob.name])
        modes = {
            mode: ModePlan(
                promise_now(mode, subjob) or promise(mode, verdict.operator_class),
                mode in AVAILABLE,
                forecast[mode],
            )
            for mode in PLANNED
        }
        rates = assumed[subjob.name]
        warning = _warning(subjob, choice, forecast[choice.mode], rates)
        plans[subjob.name] = SubjobPlan(verdict, choice, detection(subjob.ha), modes, rates, warning)
    return refusals or plans


def warnings(plans: Mapping[str, SubjobPlan]) -> tuple[str, ...]:
    return tuple(one.warning for one in plans.values() if one.warning)


def _warning(subjob: Subjob, choice: Choice, found: Prediction, rates: Mapping[str, float]) -> str | None:
    sentence = too_long(subjob.ha, choice.mode, found)
    if sentence is None:
        return None
    return f"{subjob.name}: {sentence}" + (f" ({assumption(rates)})" if rates else "")


def assumption(rates: Mapping[str, float]) -> str:
    """Which rates were assumed, and how to declare the real ones."""
    each = [f"{rate:,.0f} tuples/s from {source}" for source, rate in rates.items()]
    return f"assumed: {listed(each, 'and')}; write `rate` at the source if it has another"


def to_json(plans: Mapping[str, SubjobPlan]) -> dict[str, Any]:
    """The output of `understudy plan --json`."""
    return {"subjobs": {name: _subjob_json(one) for name, one in plans.items()}}


def _subjob_json(one: SubjobPlan) -> dict[str, Any]:
    return {
        "operatorClass": str(one.verdict.operator_class),
        "chosen": str(one.choice.mode),
        "why": one.choice.why,
        "warning": one.warning,
        "assumedRates": dict(one.assumed_rates),
        "detectionMs": {"killed": _ms(one.detection.killed), "lostNode": _ms(one.detection.lost)},
        "modes": {str(mode): _mode_json(entry) for mode, entry in one.modes.items()},
    }


def _mode_json(entry: ModePlan) -> dict[str, Any]:
    found = entry.prediction
    return {
        "guarantee": str(entry.promise.guarantee),
        "recoveryMs": _ms(found.recovery),
        "lostNodeRecoveryMs": _ms(found.lost_node),
        "bandwidthOverhead": round(found.bandwidth_overhead, 4),
        "pods": found.takes.pods,
        "cores": found.takes.cores,
        "memoryMi": found.takes.memory_mi,
    }


def _ms(time: timedelta) -> float:
    return round(time.total_seconds() * 1000, 1)
