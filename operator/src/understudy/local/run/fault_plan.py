"""What to hurt, and when.

`beats@15s` is the primary of beats, `beats@standby@15s` its standby, `beats@protected@15s` the primary at 15
s or as soon after as somebody could take over from it and from its neighbours, `beats@recovering@15s` the
first primary since then that has taken over and not caught up yet, `beats@joining@15s` the first standby
since then that is new and not ready yet, `sink/alerts@15s` a sink; `beats@10s-20s` is some moment in between,
drawn from the run's seed. A stop, a hang and an overload may add for how long: `beats@15s+2s`. A migration
hurts nobody: `beats@15s` moves the primary of beats to a new instance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random
from typing import Final

from understudy.model.ha import Heartbeat
from understudy.model.job import StreamJob
from understudy.model.refusal import did_you_mean, listed
from understudy.model.value import parse_duration

SINK_PREFIX: Final = "sink/"
STOP_MS: Final = 3_000  # at least: where silence is suspected later, twice as long as that takes
OVERLOAD_MS: Final = 20_000
HANG_MS: Final = 20_000  # at least: twice the engine timeout, where that is given


class Target(StrEnum):
    PRIMARY = "primary"
    STANDBY = "standby"
    PROTECTED = (
        "protected"  # the primary, as soon as somebody could take over from it and from its neighbours
    )
    RECOVERING = "recovering"  # the primary that has taken over, and has not caught up
    JOINING = "joining"  # the new standby whose session is up, and which is not ready yet
    SINK = "sink"


ROLES: Final = (Target.PRIMARY, Target.STANDBY, Target.PROTECTED, Target.RECOVERING, Target.JOINING)


class Harm(StrEnum):
    """What a fault that lasts does to its victim."""

    STOP = "stopped"
    THROTTLE = "throttled"  # stopped and continued in turn, so that it runs for a small part of the time
    HANG = "hung"  # its JVM is stopped, and nothing else

    @property
    def signal(self) -> str:
        match self:
            case Harm.STOP:
                return "SIGSTOP"
            case Harm.THROTTLE:
                return "SIGSTOP and SIGCONT in turn"
            case Harm.HANG:
                return "SIGSTOP to the JVM alone"


@dataclass(frozen=True, slots=True)
class Fault:
    """A signal to one process and all that it started: the one that plays `target` for `owner` at that
    moment."""

    owner: str
    target: Target
    at_ms: int
    """Since the job's start."""
    stop_ms: int | None = None
    """SIGSTOP, and SIGCONT so much later; None: SIGKILL."""
    harm: Harm = Harm.STOP
    """What is done to it for that time."""

    @property
    def done(self) -> str:
        """What is done to it."""
        if self.stop_ms is None:
            return "killed"
        return f"{self.harm} for {self.stop_ms / 1000:g} s"

    @property
    def signal(self) -> str:
        return "SIGKILL" if self.stop_ms is None else self.harm.signal

    @property
    def role(self) -> str:
        """What the victim is."""
        match self.target:
            case Target.PROTECTED:
                return str(Target.PRIMARY)
            case Target.RECOVERING:
                return f"recovering {Target.PRIMARY}"
            case Target.JOINING:
                return f"joining {Target.STANDBY}"
            case _:
                return str(self.target)

    def __str__(self) -> str:
        return f"{self.role} of {self.owner}" if self.target is not Target.SINK else f"sink {self.owner}"


@dataclass(frozen=True, slots=True)
class Planned:
    """A move of the subjob's primary to a new instance."""

    subjob: str
    at_ms: int
    """Since the job's start."""
    why: str = "planned"
    resource: bool = False
    """Because of an overload."""


def parse_kill(text: str, job: StreamJob, random: Random) -> Fault | str:
    """The fault that `--kill TEXT` asks for, or why it cannot be."""
    found = parse_fault(text, job, random)
    return f"--kill {text}: {found}" if isinstance(found, str) else found


def parse_stop(text: str, job: StreamJob, random: Random) -> Fault | str:
    """The fault that `--stop TEXT` asks for, or why it cannot be."""
    found = _lasting("--stop", text, job, random)
    return (
        replace(found, stop_ms=_noticed(found.owner, job))
        if isinstance(found, Fault) and not found.stop_ms
        else found
    )


def _noticed(owner: str, job: StreamJob) -> int:
    """A stop of this length is certain to be noticed."""
    subjob = job.subjob(owner)
    heartbeat = subjob.ha.heartbeat if subjob is not None else Heartbeat()
    return max(STOP_MS, 2 * heartbeat.misses * round(heartbeat.interval.total_seconds() * 1000))


def parse_overload(text: str, job: StreamJob, random: Random) -> Fault | str:
    """The fault that `--overload TEXT` asks for, or why it cannot be."""
    found = _lasting("--overload", text, job, random)
    if isinstance(found, str):
        return found
    return replace(found, harm=Harm.THROTTLE, stop_ms=found.stop_ms or OVERLOAD_MS)


def parse_hang(text: str, job: StreamJob, random: Random) -> Fault | str:
    """The fault that `--hang TEXT` asks for, or why it cannot be."""
    found = _lasting("--hang", text, job, random)
    if isinstance(found, str):
        return found
    if found.target is Target.SINK:
        return f"--hang {text}: a sink has no JVM; write a subjob, such as {job.subjobs[0].name}@15s"
    return replace(found, harm=Harm.HANG, stop_ms=found.stop_ms or _hang_ms(found.owner, job))


def _hang_ms(owner: str, job: StreamJob) -> int:
    subjob = job.subjob(owner)
    said = subjob.ha.engine_timeout if subjob is not None else None
    return max(HANG_MS, round(2000 * said.total_seconds()) if said is not None else 0)


def _lasting(option: str, text: str, job: StreamJob, random: Random) -> Fault | str:
    """Its length is None where the text leaves it out."""
    fault, plus, length = text.rpartition("+") if "+" in text else (text, "", "")
    lasts_ms = parse_moment(length, random) if plus else None
    if (plus and not lasts_ms) or not fault:
        return f"{option} {text}: write SUBJOB@TIME+LENGTH, such as {job.subjobs[0].name}@15s+2s"
    found = parse_fault(fault, job, random)
    return f"{option} {text}: {found}" if isinstance(found, str) else replace(found, stop_ms=lasts_ms)


def parse_migration(text: str, job: StreamJob, random: Random) -> Planned | str:
    """The move that `--migrate TEXT` asks for, or why it cannot be."""
    found = parse_fault(text, job, random)
    if isinstance(found, Fault) and (found.target is not Target.PRIMARY or text.count("@") > 1):
        found = f"what moves is a subjob's primary; write SUBJOB@TIME, such as {job.subjobs[0].name}@15s"
    return f"--migrate {text}: {found}" if isinstance(found, str) else Planned(found.owner, found.at_ms)


def parse_fault(text: str, job: StreamJob, random: Random) -> Fault | str:
    name, *target, when = text.split("@") if "@" in text else (text, "")
    at_ms = parse_moment(when, random)
    if at_ms is None or len(target) > 1:
        return f"write SUBJOB@TIME or SUBJOB@standby@TIME, such as {job.subjobs[0].name}@15s"
    owner = _owner(name, job)
    if owner is None:
        known = [s.name for s in job.subjobs] + [f"{SINK_PREFIX}{s.name}" for s in job.sinks]
        return f"there is no subjob {name!r}{did_you_mean(name, known)}; write {listed(known)}"
    found, is_sink = owner
    if target and (is_sink or target[0] not in ROLES):
        ways = listed([f"{found}@{who}@TIME" for who in ROLES])
        return f"{target[0]!r} is nobody to hurt; write {ways}"
    wanted = Target.SINK if is_sink else Target(target[0]) if target else Target.PRIMARY
    return Fault(found, wanted, at_ms)


def _owner(name: str, job: StreamJob) -> tuple[str, bool] | None:
    """A subjob goes before a sink of the same name; `sink/NAME` is always the sink."""
    if job.subjob(name):
        return name, False
    sink = name.removeprefix(SINK_PREFIX)
    return (sink, True) if job.sink(sink) else None


def parse_moment(text: str, random: Random) -> int | None:
    """`15s`, or `10s-20s` for some moment in between."""
    try:
        ends = [parse_duration(part).total_seconds() * 1000 for part in text.split("-")]
    except ValueError:
        return None
    if len(ends) > 2 or ends != sorted(ends):
        return None
    return round(random.uniform(ends[0], ends[-1]))
