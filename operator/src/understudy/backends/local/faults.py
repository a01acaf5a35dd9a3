"""What to hurt, and when.

`beats@15s` is the primary of beats, `beats@standby@15s` its standby, `sink/alerts@15s` a sink; `beats@10s-20s` is some
moment in between, drawn from the run's seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Final

from understudy.model.job import StreamJob
from understudy.model.refusal import did_you_mean, listed
from understudy.model.value import parse_duration

SINK_PREFIX: Final = "sink/"


class Target(StrEnum):
    PRIMARY = "primary"
    STANDBY = "standby"
    SINK = "sink"


@dataclass(frozen=True, slots=True)
class Fault:
    """SIGKILL to one process: the one that plays `target` for `owner` at that moment."""

    owner: str
    target: Target
    at_ms: int
    """Since the job's start."""

    def __str__(self) -> str:
        return f"{self.target} of {self.owner}" if self.target is not Target.SINK else f"sink {self.owner}"


def parse_kill(text: str, job: StreamJob, random: Random) -> Fault | str:
    """The fault that `--kill TEXT` asks for, or why it cannot be."""
    name, *target, when = text.split("@") if "@" in text else (text, "")
    at_ms = _moment(when, random)
    if at_ms is None or len(target) > 1:
        return f"--kill {text}: write SUBJOB@TIME or SUBJOB@standby@TIME, such as {job.subjobs[0].name}@15s"
    owner = _owner(name, job)
    if owner is None:
        known = [s.name for s in job.subjobs] + [f"{SINK_PREFIX}{s.name}" for s in job.sinks]
        return f"--kill {text}: there is no subjob {name!r}{did_you_mean(name, known)}; write {listed(known)}"
    found, is_sink = owner
    if target and (is_sink or target[0] not in (Target.PRIMARY, Target.STANDBY)):
        return f"--kill {text}: {target[0]!r} is nobody to kill; write {found}@primary@TIME or {found}@standby@TIME"
    wanted = Target.SINK if is_sink else Target(target[0]) if target else Target.PRIMARY
    return Fault(found, wanted, at_ms)


def _owner(name: str, job: StreamJob) -> tuple[str, bool] | None:
    """A subjob goes before a sink of the same name; `sink/NAME` is always the sink."""
    if job.subjob(name):
        return name, False
    sink = name.removeprefix(SINK_PREFIX)
    return (sink, True) if job.sink(sink) else None


def _moment(text: str, random: Random) -> int | None:
    """`15s`, or `10s-20s` for some moment in between."""
    try:
        ends = [parse_duration(part).total_seconds() * 1000 for part in text.split("-")]
    except ValueError:
        return None
    if len(ends) > 2 or ends != sorted(ends):
        return None
    return round(random.uniform(ends[0], ends[-1]))
