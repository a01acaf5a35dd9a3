"""What the supervisor of a run can be asked to do."""

from __future__ import annotations

from dataclasses import dataclass

from understudy.local.run.fault_plan import Fault
from understudy.local.run.members import Process
from understudy.local.run.observed import Done


@dataclass(frozen=True, slots=True)
class Start:
    process: Process


@dataclass(frozen=True, slots=True)
class Open:
    """Begin the streams at this moment."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class Hurt:
    fault: Fault
    victim: Process


@dataclass(frozen=True, slots=True)
class Kill:
    """Kill a sink whose disk has stalled, or an instance whose Spark does not start: a new process may
    work."""

    process: Process
    why: str


@dataclass(frozen=True, slots=True)
class Resume:
    """Let a stopped process continue: its fault is over."""

    done: Done


@dataclass(frozen=True, slots=True)
class Tell:
    """Send the instance the settings of the edited manifest."""

    process: Process
    settings: str


@dataclass(frozen=True, slots=True)
class Retire:
    """End a standby that is no longer needed."""

    process: Process
    why: str


@dataclass(frozen=True, slots=True)
class StandIn:
    """Start the alternative of a subjob that has failed for good."""

    subjob: str
    alternative: str
    why: str


@dataclass(frozen=True, slots=True)
class LastResort:
    """Run the failure process of a subjob that has failed for good and has no alternative."""

    subjob: str
    why: str


@dataclass(frozen=True, slots=True)
class Fail:
    exit_code: int
    why: str
    culprit: Process | None = None


@dataclass(frozen=True, slots=True)
class Finish:
    why: str
    complete: bool
    """Whether every stream came to its end."""


Intent = Start | Open | Hurt | Kill | Resume | Tell | Retire | StandIn | LastResort | Fail | Finish
