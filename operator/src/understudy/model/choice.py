"""Which mode a subjob runs in, what that mode guarantees, and why; or why no mode is possible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from .classes import Verdict
from .classification import class_of
from .costs import Load, print_overhead
from .guarantees import AVAILABLE, PRECISE, Addition, Promise, promise_now, why_not
from .ha import Guarantee, Ha, Mode
from .job import Subjob
from .prediction import Prediction, predictions
from .refusal import Refusal, listed, refuse
from .value import print_duration, show_time

PLANNED: Final[tuple[Mode, ...]] = tuple(mode for mode in Mode if mode is not Mode.AUTO)

# The name of an unbuilt addition in a refusal.
_ADDITIONS: Final[Mapping[Addition, str]] = {
    Addition.FORWARD_CHECKPOINTED: "forwarding only checkpointed tuples",
    Addition.DETERMINANTS: "shipping determinants",
    Addition.LOW_WATERMARKS: "low watermarks",
    Addition.HIGH_WATERMARKS: "high watermarks",
}


DEFAULT_BOUND: Final = timedelta(seconds=10)
"""How long a recovery may take if `maxRecovery` is not set. A longer prediction is not refused, but is a
warning."""

IMPOSSIBLE: Final = 2.0
"""A prediction is accurate within this factor (docs/benchmarks.md, *Predictions*). So a recovery time counts
as impossible only if it is shorter than the prediction by more than this factor."""


@dataclass(frozen=True, slots=True)
class Choice:
    mode: Mode
    guarantee: Guarantee
    why: str


def bound_of(ha: Ha) -> timedelta | None:
    """How long a recovery may take; None: any time. A user who chooses amnesia accepts any recovery time."""
    if ha.max_recovery is not None or ha.mode is Mode.AMNESIA:
        return ha.max_recovery
    return DEFAULT_BOUND


def choose(subjob: Subjob, load: Load, field: str) -> Choice | Refusal:
    """The mode in the manifest, if it can give the guarantee asked for. For `auto` the cheapest mode that can
    and is fast enough, or the fastest one if none is. `field` is the subjob's place in the manifest."""
    verdict = class_of(subjob)
    if subjob.ha.mode is Mode.AUTO:
        return _cheapest(subjob, verdict, predictions(subjob, load), field)
    return _asked_for(subjob, subjob.ha.mode, verdict, field)


def out_of_reach(subjob: Subjob, mode: Mode, load: Load, field: str) -> Refusal | None:
    """Why the chosen mode can't recover within `maxRecovery`, not even after the kill of a process."""
    most, found = subjob.ha.max_recovery, predictions(subjob, load)[mode].recovery
    if most is None or found <= most * IMPOSSIBLE:
        return None
    shown = print_duration(timedelta(milliseconds=round(found.total_seconds() * 1000)))
    what = f"{mode} is predicted to take {show_time(found)}, far longer than {print_duration(most)}"
    what = f"{what}; write {shown}"
    if subjob.ha.mode is Mode.AUTO:
        what = f"no available mode with that guarantee recovers within {print_duration(most)}; {what}"
    return refuse(
        "RecoveryNotPossible", f"{field}.ha.maxRecovery", f"{what} or more{_faster(subjob.ha, mode)}"
    )


def too_long(ha: Ha, mode: Mode, found: Prediction) -> str | None:
    """A sentence if the mode's predicted recovery exceeds the allowed time."""
    most = bound_of(ha)
    if most is None or found.lost_node <= most:
        return None
    allowed = (
        f"{show_time(most)}, the default of ha.maxRecovery" if ha.max_recovery is None else show_time(most)
    )
    times = (
        f"{show_time(found.recovery)} after a kill and {show_time(found.lost_node)} after the loss of a node"
    )
    return f"{mode} is predicted to recover in {times}, longer than {allowed}"


def _faster(ha: Ha, mode: Mode) -> str:
    match mode:
        case Mode.PASSIVE_STANDBY:
            return ", shorten checkpoint.interval, or write mode activeStandby"
        case Mode.AMNESIA if not ha.spare:
            return ", or spare: true"
        case Mode.AMNESIA | Mode.ACTIVE_STANDBY | Mode.REPLICA_BACKUP:
            return ""
        case _:
            return ", or mode activeStandby"


def _asked_for(subjob: Subjob, mode: Mode, verdict: Verdict, field: str) -> Choice | Refusal:
    given = promise_now(mode, subjob)
    if given is None and (why := why_not(mode, subjob)):
        return refuse("ModeNotAvailable", f"{field}.ha.mode", why)
    if given is None:
        built = listed([str(mode) for mode in AVAILABLE])
        return refuse("ModeNotAvailable", f"{field}.ha.mode", f"{mode} is not available yet; write {built}")
    wanted = subjob.ha.guarantee
    if wanted is not None and given.guarantee.strength < wanted.strength:
        return refuse(
            "GuaranteeNotPossible", f"{field}.ha.guarantee", _too_weak(subjob, mode, wanted, given, verdict)
        )
    return Choice(
        mode, given.guarantee, f"{given.guarantee}: class {verdict.operator_class}, and {given.why}"
    )


def _too_weak(subjob: Subjob, mode: Mode, wanted: Guarantee, given: Promise, verdict: Verdict) -> str:
    addition = PRECISE[mode].get(verdict.operator_class)
    what, why = f"{mode} gives {given.guarantee}, not {wanted}", f"because {given.why}"
    if addition is not None and wanted is Guarantee.PRECISE:
        why = f"for class {verdict.operator_class} ({verdict.why}): {_why_not(mode, addition)}"
    return f"{what}, {why}; write {_instead(subjob, wanted, given)}"


def _why_not(mode: Mode, addition: Addition) -> str:
    if addition not in AVAILABLE[mode]:
        return f"{_ADDITIONS[addition]} is not available yet"
    return "a batch plan does not hold what is drawn there"


def _instead(subjob: Subjob, wanted: Guarantee, given: Promise) -> str:
    able = [
        f"mode {mode}"
        for mode in AVAILABLE
        if (promised := promise_now(mode, subjob)) and promised.guarantee.strength >= wanted.strength
    ]
    return listed([*able, f"guarantee {given.guarantee}"])


# ---- mode: auto ------------------------------------------------------------------------------------------

Forecast = Mapping[Mode, Prediction]


def _cheapest(subjob: Subjob, verdict: Verdict, forecast: Forecast, field: str) -> Choice | Refusal:
    """If no guarantee is asked for, `auto` takes the strongest one possible."""
    promises = {mode: promise_now(mode, subjob) for mode in AVAILABLE}
    given = {mode: promised for mode, promised in promises.items() if promised is not None}
    wanted = subjob.ha.guarantee or max((p.guarantee for p in given.values()), key=lambda g: g.strength)
    strong = [mode for mode, promised in given.items() if promised.guarantee.strength >= wanted.strength]
    if not strong:
        return _none_is_able(wanted, verdict, field)
    able = [mode for mode in strong if not too_long(subjob.ha, mode, forecast[mode])]
    if able:
        mode = min(able, key=lambda mode: (forecast[mode].bandwidth_overhead, forecast[mode].lost_node))
        how = f"the cheapest available that is {wanted} and recovers within {_most(subjob)}"
    else:
        mode = min(strong, key=lambda mode: (forecast[mode].lost_node, forecast[mode].bandwidth_overhead))
        how = f"the quickest available that is {wanted}; none recovers within {_most(subjob)}"
    found = forecast[mode]
    why = (
        f"{how}: {_overhead(found)} bandwidth, recovery {show_time(found.recovery)}, or "
        f"{show_time(found.lost_node)} "
        f"after the loss of a node; class {verdict.operator_class}, and {given[mode].why}"
    )
    others = (*_passed_over(mode, forecast, strong), *_sooner(mode, forecast, able))
    return Choice(mode, given[mode].guarantee, "; ".join((why, *others)))


def _most(subjob: Subjob) -> str:
    default = " (the default of maxRecovery)" if subjob.ha.max_recovery is None else ""
    return f"{show_time(subjob.ha.max_recovery or DEFAULT_BOUND)}{default}"


def _passed_over(taken: Mode, forecast: Forecast, strong: list[Mode]) -> tuple[str, ...]:
    """Sentences about cheaper modes that keep the guarantee but are too slow: the user may allow more
    time."""
    least = forecast[taken].bandwidth_overhead
    return tuple(
        f"{mode} would cost {_overhead(forecast[mode])}, but take {show_time(forecast[mode].lost_node)}"
        for mode in strong
        if forecast[mode].bandwidth_overhead < least
    )


def _sooner(taken: Mode, forecast: Forecast, able: list[Mode]) -> tuple[str, ...]:
    """Sentences about faster modes that cost more bandwidth: the user may ask for them with maxRecovery."""
    quick = [mode for mode in able if forecast[mode].recovery < forecast[taken].recovery / 2]
    best = min(quick, key=lambda mode: forecast[mode].bandwidth_overhead, default=None)
    if best is None:
        return ()
    return (f"{best} would recover in {show_time(forecast[best].recovery)}, for {_overhead(forecast[best])}",)


def _overhead(found: Prediction) -> str:
    return print_overhead(found.bandwidth_overhead)


def _none_is_able(wanted: Guarantee, verdict: Verdict, field: str) -> Refusal:
    what = (
        f"no available mode is {wanted} for class {verdict.operator_class} ({verdict.why}); "
        "write a weaker guarantee, or make the subjob deterministic"
    )
    return refuse("GuaranteeNotPossible", f"{field}.ha.guarantee", what)
