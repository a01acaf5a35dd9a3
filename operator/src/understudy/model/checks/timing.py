"""Time: durations that make sense, windows that fit what they are on, event time where it is needed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from ..elements import elements_of
from ..job import Merge, StreamJob
from ..network import Step, Walk
from ..operators import Aggregate, Join, Window, WindowOn
from ..refusal import Fault, Refusal, path, refuse

MAX_OVERLAP: Final = 10_000
_FINEST: Final = timedelta(milliseconds=1)
_LEAST_ENGINE_TIMEOUT = timedelta(milliseconds=500)


def windows(walk: Walk) -> Iterator[Refusal]:
    for step in walk.steps:
        if isinstance(step.operator, Aggregate):
            for field, fault in _window(step.operator.window):
                yield fault.at(f"{step.field}.window.{field}")


_WANTED: Final = {WindowOn.SEQ: "a number of tuples, such as 100", WindowOn.TS: "a duration, such as 10s"}


def _window(window: Window) -> Iterator[tuple[str, Fault]]:
    extents = {"size": window.size, "slide": window.slide}
    wrong = [
        name for name, extent in extents.items() if isinstance(extent, int) != (window.on is WindowOn.SEQ)
    ]
    if wrong:
        yield (
            wrong[0],
            Fault(
                "WrongWindow", f"a window on {window.on} is measured otherwise; write {_WANTED[window.on]}"
            ),
        )
        return
    empty = [name for name, extent in extents.items() if _amount(extent) <= 0]
    if empty:
        yield empty[0], Fault("OutOfRange", f"a window needs more than nothing; write {_WANTED[window.on]}")
        return
    yield from _proportions(window)


def _proportions(window: Window) -> Iterator[tuple[str, Fault]]:
    overlap = _amount(window.size) / _amount(window.slide)
    if overlap < 1:
        yield (
            "slide",
            Fault("WrongWindow", "longer than size, so tuples would be left out; write at most the size"),
        )
    if overlap > MAX_OVERLAP:
        yield "slide", Fault("WrongWindow", f"more than {MAX_OVERLAP} windows overlap; write a longer slide")
    if window.on is WindowOn.SEQ and window.lateness:
        yield "lateness", Fault("WrongWindow", "no tuple is late on _seq; leave it out or write on: ts")


def _amount(extent: int | timedelta) -> float:
    return extent if isinstance(extent, int) else extent.total_seconds()


def event_time(walk: Walk) -> Iterator[Refusal]:
    for step in walk.steps:
        if not step.has_event_time and (needs := _needs_event_time(step)):
            what = (
                f"{needs} needs event time, and an input has none; write eventTime at its source, or on: _seq"
            )
            yield refuse("NoEventTime", step.field, what)


def _needs_event_time(step: Step) -> str | None:
    match step.operator:
        case Aggregate(window=Window(on=WindowOn.TS)):
            return "a window on ts"
        case Join():
            return "a join"
        case _:
            return None


def merge_event_time(walk: Walk) -> Iterator[Refusal]:
    timed = walk.event_time
    for n, subjob in enumerate(walk.job.subjobs):
        for element in elements_of(subjob) if subjob.merge is Merge.EVENT_TIME else ():
            late = [name for name in element.inputs if not timed.get(name, True)]
            if late and len(element.inputs) > 1:
                what = f"{late[0]} has no event time; write eventTime at its source, or merge: arrival"
                yield refuse("NoEventTime", path("spec", "subjobs", n, "merge"), what)


def intervals(job: StreamJob) -> Iterator[Refusal]:
    for n, subjob in enumerate(job.subjobs):
        ha = subjob.ha
        found = {
            "maxRecovery": ha.max_recovery,
            "ackInterval": ha.ack_interval,
            "checkpoint.interval": ha.checkpoint.interval,
            "heartbeat.interval": ha.heartbeat.interval,
            "engineTimeout": ha.engine_timeout,
        }
        for name, interval in found.items():
            field = f"{path('spec', 'subjobs', n, 'ha')}.{name}"
            if interval is not None and interval < _FINEST:
                yield refuse("OutOfRange", field, "shorter than 1ms; write a longer one, such as 100ms")
            elif name == "engineTimeout" and interval is not None and interval < _LEAST_ENGINE_TIMEOUT:
                what = "a healthy Spark may be quiet for so long; write 500ms or more, or leave it out"
                yield refuse("OutOfRange", field, what)
