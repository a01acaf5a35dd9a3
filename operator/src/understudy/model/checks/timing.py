"""Time: durations that make sense, windows that fit what they are on, event time where it is needed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from ..elements import elements_of
from ..job import Merge, StreamJob
from ..network import Walk
from ..operators import Window
from ..refusal import Refusal, path, refuse

_FINEST: Final = timedelta(milliseconds=1)
_LEAST_ENGINE_TIMEOUT = timedelta(milliseconds=500)


def windows(walk: Walk) -> Iterator[Refusal]:
    for step in walk.steps:
        if isinstance(window := step.operator.remembers, Window):
            for field, fault in window.faults():
                yield fault.at(f"{step.field}.window.{field}")


def event_time(walk: Walk) -> Iterator[Refusal]:
    for step in walk.steps:
        if not step.has_event_time and (needs := step.operator.needs_event_time):
            what = (
                f"{needs} needs event time, and an input has none; write eventTime at its source, or on: _seq"
            )
            yield refuse("NoEventTime", step.field, what)


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
