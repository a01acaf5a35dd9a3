"""Runs a StreamJob as `understudy run` does, with a nemesis of the benchmark's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from understudy.local.effective import write
from understudy.local.folder import Folder
from understudy.local.report.fault_effects import Incident
from understudy.local.report.record import Record
from understudy.local.run.fault_plan import Fault, Planned, Target
from understudy.local.run.intents import Fail, Hurt
from understudy.local.run.members import Kind
from understudy.local.run.nemesis import Nemesis, victim_of
from understudy.local.run.observed import Observed
from understudy.local.run.supervisor import Supervisor
from understudy.model.job import StreamJob
from understudy.protocol.statuspage import InstancePage

Say = Callable[[str], None]


class Failed(Exception):
    """The job did not run; the message says why."""


class Teller:
    """Passes on what happens; a benchmark draws no table."""

    def __init__(self, say: Say) -> None:
        self._say = say

    def note(self, text: str) -> None:
        self._say(text)

    def watch(self, observed: Observed, tuples: Mapping[str, int]) -> None:
        pass


def perform(
    job: StreamJob, folder: Folder, nemesis: Nemesis, say: Say, planned: Sequence[Planned] = ()
) -> Record:
    folder.clear()
    write(job, folder.job)
    supervisor = Supervisor(job, folder, nemesis, Teller(say), planned=planned)
    record = supervisor.run()
    if isinstance(record.outcome, Fail):
        raise Failed(f"{record.outcome.why}; see {folder.logs}")
    return record


def detections(incidents: Sequence[Incident]) -> tuple[int, ...]:
    """How long each loss went unnoticed. One that nobody noticed is no figure, and above all no small one."""
    for incident in incidents:
        if incident.detected_ms is None:
            raise Failed(f"{incident.victim} was lost ({incident.cause}), and nobody noticed")
    return tuple(i.detected_ms for i in incidents if i.detected_ms is not None)


@dataclass(frozen=True, slots=True)
class KillEach:
    """Kills primaries one after the other, each when all are protected again and have run quietly for a
    while."""

    subjobs: tuple[str, ...]
    kills: int
    quiet_ms: int
    alone: frozenset[str] = frozenset()
    """Those of the subjobs that have no standby to wait for."""

    def strike(self, observed: Observed) -> Iterator[Hurt]:
        count = len(observed.done)
        if count >= self.kills or not self._quiet(observed):
            return
        fault = Fault(self.subjobs[count % len(self.subjobs)], Target.PRIMARY, 0)
        if victim := victim_of(fault, observed):
            yield Hurt(fault, victim)

    def satisfied(self, observed: Observed) -> bool:
        if len(observed.done) < self.kills:
            return False
        last = observed.done[-1]
        return observed.now_ms - last.at_ms > self.quiet_ms and _caught_up(observed, last.fault.owner)

    def _quiet(self, observed: Observed) -> bool:
        begun = observed.started_ms
        changes = [d.at_ms for d in observed.done] + [begun or observed.now_ms]
        instances = [s for s in observed.seen if s.alive and s.process.kind is Kind.SUBJOB]
        settled = all((s.ready_ms or 0) >= self.quiet_ms for s in instances)
        calm = observed.now_ms - max(changes) >= self.quiet_ms
        return calm and settled and all(observed.protected(s) for s in self.subjobs if s not in self.alone)


@dataclass(slots=True)
class Progress:
    """Hurts nobody; notes how a figure on the primary's status page grows. May end the run after a while."""

    subjob: str
    figure: Callable[[InstancePage], int]
    ends_after_ms: int | None = None
    points: list[tuple[float, int]] = field(default_factory=list)
    """(wall clock in milliseconds, figure), one for each change."""

    def strike(self, observed: Observed) -> Iterator[Hurt]:
        primary = observed.primary(self.subjob)
        if primary is not None and observed.started_ms is not None:
            figure = self.figure(primary.instance)
            if not self.points or figure != self.points[-1][1]:
                self.points.append((observed.now_ms, figure))
        return iter(())

    def satisfied(self, observed: Observed) -> bool:
        if self.ends_after_ms is None or observed.started_ms is None:
            return False
        return observed.now_ms - observed.started_ms > self.ends_after_ms


def primaries(record: Record) -> list[InstancePage]:
    """The last page of every instance that led when it was last seen."""
    return [page for page in record.last.values() if isinstance(page, InstancePage) and page.leads]


def growth(points: Sequence[tuple[float, int]], least: float) -> float:
    """By how much a figure grows in a second, from where it has reached `least` to its last point."""
    counted = [p for p in points if p[1] >= least]
    (began, first), (ended, last) = counted[0], counted[-1]
    return (last - first) / ((ended - began) / 1000)


def _caught_up(observed: Observed, subjob: str) -> bool:
    primary = observed.primary(subjob)
    story = primary.instance.take_over if primary else None
    return bool(story and story.caught_up)
