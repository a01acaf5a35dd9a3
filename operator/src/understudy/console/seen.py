"""What is known of a job when the console looks at it, in a local run, in its folder, or on a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from understudy.console.view import NodeKind, Part, Verdict
from understudy.model.job import StreamJob
from understudy.model.plan import SubjobPlan, plan
from understudy.protocol.statuspage import InstancePage, SinkPage, StatusPage

PROTECTED_AGAIN: Final = "protected again"
"""The last step of an incident, often long after the output has come back."""


@dataclass(frozen=True, slots=True)
class ProcessSeen:
    name: str
    kind: NodeKind
    owner: str
    """Its subjob, or its sink."""
    part: Part
    page: StatusPage | None
    """None before it answers."""
    silent_ms: int | None = None
    """For how long it has not answered; None while it does, so that its page is current."""

    @property
    def instance(self) -> InstancePage:
        """The page of an instance; an empty page before it answers."""
        return self.page if isinstance(self.page, InstancePage) else InstancePage()

    @property
    def sink(self) -> SinkPage:
        return self.page if isinstance(self.page, SinkPage) else SinkPage()

    @property
    def serves(self) -> bool:
        """Whether it does its work, as far as anybody knows now."""
        if self.page is None or self.part is Part.GONE or self.silent_ms is not None:
            return False
        return self.page.state.serves and not self.instance.stalled and not self.sink.stalled


@dataclass(frozen=True, slots=True)
class Arrived:
    at_ms: int
    tuples: int
    """How many tuples there were at the sink by then."""


@dataclass(frozen=True, slots=True)
class IncidentSeen:
    """A failure. Steps are milliseconds since the fault; a step that did not happen is missing."""

    at_ms: int
    subjob: str
    mode: str
    cause: str
    victim: str
    role: str
    successor: str | None = None
    steps: Mapping[str, int] = field(default_factory=dict)
    recovery_ms: int | None = None
    replayed: int = 0
    lost: int = 0
    duplicated: int | None = None


@dataclass(frozen=True, slots=True)
class JobSeen:
    job: StreamJob
    place: str
    now_ms: int
    started_ms: int | None
    ended_ms: int | None
    plans: Mapping[str, SubjobPlan]
    """What each subjob promises in its mode, and why."""
    processes: tuple[ProcessSeen, ...]
    incidents: tuple[IncidentSeen, ...] = ()
    arrivals: Mapping[str, Sequence[Arrived]] = field(default_factory=dict)
    """For each sink, in the order of time."""
    rates: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """(stream, consumer) → tuples per second."""
    outcome: Verdict | None = None
    """Of a job that is over: whether its promises were kept."""

    def primary(self, subjob: str) -> ProcessSeen | None:
        mine = (p for p in self.processes if p.kind is NodeKind.SUBJOB and p.owner == subjob)
        leading = [p for p in mine if p.part is Part.PRIMARY]
        return max(leading, key=lambda p: p.instance.epoch, default=None)

    def of(self, kind: NodeKind, owner: str) -> tuple[ProcessSeen, ...]:
        return tuple(p for p in self.processes if p.kind is kind and p.owner == owner)


def plans_of(job: StreamJob) -> Mapping[str, SubjobPlan]:
    """Of a job that runs: it was accepted. If it is refused now, nothing is known."""
    found = plan(job)
    return {} if isinstance(found, list) else found
