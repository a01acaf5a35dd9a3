"""Which mode a subjob runs in, what that guarantees, and why: or why it cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from .classes import Verdict, class_of
from .costs import Cost, Load, costs, detection, print_overhead
from .guarantees import AVAILABLE, PRECISE, Addition, Promise, logs_steps, promise_now, why_not
from .ha import Guarantee, Mode
from .job import Subjob
from .refusal import Refusal, listed, refuse
from .value import print_duration

PLANNED: Final[tuple[Mode, ...]] = tuple(mode for mode in Mode if mode is not Mode.AUTO)

# What an addition that is not built yet is called in a refusal.
_ADDITIONS: Final[Mapping[Addition, str]] = {
    Addition.FORWARD_CHECKPOINTED: "forwarding only checkpointed tuples",
    Addition.DETERMINANTS: "shipping determinants",
    Addition.LOW_WATERMARKS: "low watermarks",
    Addition.HIGH_WATERMARKS: "high watermarks",
}


@dataclass(frozen=True, slots=True)
class Choice:
    mode: Mode
    guarantee: Guarantee
    why: str


def choose(subjob: Subjob, load: Load, field: str) -> Choice | Refusal:
    """The mode asked for, if it can keep what is asked of it; for `auto` the cheapest that can.
    `field` is the subjob's place in the manifest."""
    verdict, prices = class_of(subjob), costs(load, subjob.ha, logs=logs_steps(subjob))
    if subjob.ha.mode is Mode.AUTO:
        return _cheapest(subjob, verdict, prices, field)
    return _asked_for(subjob, subjob.ha.mode, verdict, prices, field)


def _asked_for(
    subjob: Subjob, mode: Mode, verdict: Verdict, prices: Mapping[Mode, Cost], field: str
) -> Choice | Refusal:
    given = promise_now(mode, subjob)
    if given is None and (why := why_not(mode, subjob)):
        return refuse("ModeNotAvailable", f"{field}.ha.mode", why)
    if given is None:
        built = listed([str(mode) for mode in AVAILABLE])
        return refuse("ModeNotAvailable", f"{field}.ha.mode", f"{mode} is not available yet; write {built}")
    wanted = subjob.ha.guarantee
    if wanted is not None and given.guarantee.strength < wanted.strength:
        return refuse("GuaranteeNotPossible", f"{field}.ha.guarantee", _too_weak(subjob, mode, wanted, given, verdict))
    if late := _too_slow(subjob, prices[mode]):
        return refuse("RecoveryNotPossible", f"{field}.ha.maxRecovery", f"{mode} {late}")
    return Choice(mode, given.guarantee, f"{given.guarantee}: class {verdict.operator_class}, and {given.why}")


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


def _too_slow(subjob: Subjob, price: Cost) -> str | None:
    """Detection and recovery together must fit into maxRecovery."""
    most = subjob.ha.max_recovery
    if most is None or detection(subjob.ha) + price.recovery <= most:
        return None
    shown = f"{_total_ms(subjob, price):.0f}ms"
    return (
        f"is predicted to take {shown} with detection, longer than {print_duration(most)}; "
        f"write {shown} or more, or shorten heartbeat.interval or checkpoint.interval"
    )


# ---- mode: auto ------------------------------------------------------------------------------------------


def _cheapest(subjob: Subjob, verdict: Verdict, prices: Mapping[Mode, Cost], field: str) -> Choice | Refusal:
    """Without a guarantee asked for, `auto` takes the strongest that is to be had."""
    promises = {mode: promise_now(mode, subjob) for mode in AVAILABLE}
    given = {mode: promised for mode, promised in promises.items() if promised is not None}
    wanted = subjob.ha.guarantee or max((p.guarantee for p in given.values()), key=lambda g: g.strength)
    strong = [mode for mode, promised in given.items() if promised.guarantee.strength >= wanted.strength]
    able = [mode for mode in strong if not _too_slow(subjob, prices[mode])]
    if not able:
        return _none_is_able(subjob, wanted, verdict, bool(strong), field)
    mode = min(able, key=lambda mode: (prices[mode].bandwidth_overhead, prices[mode].recovery))
    why = (
        f"the cheapest available that is {wanted}{_in_time(subjob)}: {_overhead(prices[mode])} bandwidth, recovery "
        f"{_ms(prices[mode].recovery)} after detection; class {verdict.operator_class}, and {given[mode].why}"
    )
    others = (*_passed_over(subjob, mode, prices, strong), *_sooner(mode, prices, able))
    return Choice(mode, given[mode].guarantee, "; ".join((why, *others)))


def _in_time(subjob: Subjob) -> str:
    most = subjob.ha.max_recovery
    return f" and recovers within {print_duration(most)}" if most is not None else ""


def _passed_over(subjob: Subjob, taken: Mode, prices: Mapping[Mode, Cost], strong: list[Mode]) -> tuple[str, ...]:
    """Cheaper modes that keep the guarantee are too slow: say so, because the user may allow more time."""
    least = prices[taken].bandwidth_overhead
    return tuple(
        f"{mode} would cost {_overhead(prices[mode])}, but take {_total_ms(subjob, prices[mode]):.0f}ms"
        for mode in strong
        if prices[mode].bandwidth_overhead < least
    )


def _sooner(taken: Mode, prices: Mapping[Mode, Cost], able: list[Mode]) -> tuple[str, ...]:
    """What more bandwidth would buy: the user may ask for it with maxRecovery."""
    quick = [mode for mode in able if prices[mode].recovery < prices[taken].recovery / 2]
    best = min(quick, key=lambda mode: prices[mode].bandwidth_overhead, default=None)
    if best is None:
        return ()
    return (f"{best} would recover in {_ms(prices[best].recovery)}, for {_overhead(prices[best])}",)


def _overhead(price: Cost) -> str:
    return print_overhead(price.bandwidth_overhead)


def _ms(time: timedelta) -> str:
    return f"{time.total_seconds() * 1_000:.0f}ms"


def _total_ms(subjob: Subjob, price: Cost) -> float:
    return (detection(subjob.ha) + price.recovery).total_seconds() * 1_000


def _none_is_able(subjob: Subjob, wanted: Guarantee, verdict: Verdict, strong: bool, field: str) -> Refusal:
    if strong and subjob.ha.max_recovery is not None:
        most = print_duration(subjob.ha.max_recovery)
        what = f"no available mode that is {wanted} recovers within {most}; write a longer one"
        return refuse("RecoveryNotPossible", f"{field}.ha.maxRecovery", what)
    what = (
        f"no available mode is {wanted} for class {verdict.operator_class} ({verdict.why}); "
        "write a weaker guarantee, or make the subjob deterministic"
    )
    return refuse("GuaranteeNotPossible", f"{field}.ha.guarantee", what)
