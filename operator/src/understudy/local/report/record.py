"""What happened in a run, as input for the report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from understudy.local.report.arrivals import Arrival
from understudy.local.run.intents import Fail, Finish
from understudy.local.run.local_moves import Underway
from understudy.local.run.members import Kind, Process
from understudy.local.run.observed import Done, Observed, Seen
from understudy.local.run.partitions import Partition
from understudy.model.job import StreamJob
from understudy.process.clock import Anchor
from understudy.protocol.statuspage import Departure, InstancePage, Lag, StatusPage, TakeOver


@dataclass(frozen=True, slots=True)
class Death:
    """A process that ended by itself or by a fault."""

    process: Process
    at_ms: int
    exit_code: int
    had_standby: bool


@dataclass(frozen=True, slots=True)
class Stall:
    """A sink whose disk stalled, and that was killed for it."""

    at_ms: int
    why: str


@dataclass(frozen=True, slots=True)
class Lags:
    """How far a sink was behind its stream."""

    most: Lag
    last: Lag


@dataclass(slots=True)
class Record:
    began_ms: int
    clock: Anchor = field(default_factory=Anchor.now)
    """All times of the run come from this clock, so a step of the wall clock does not move them."""
    versions: list[StreamJob] = field(default_factory=list)
    """The job, and its versions after each edit."""
    started_ms: int | None = None
    ended_ms: int | None = None
    outcome: Finish | Fail | None = None
    done: list[Done] = field(default_factory=list)
    deaths: list[Death] = field(default_factory=list)
    stalls: dict[Process, Stall] = field(default_factory=dict)
    takeovers: dict[tuple[Process, int], TakeOver] = field(default_factory=dict)
    """By (instance, epoch): the newest report of each instance that took over."""
    moves: list[Underway] = field(default_factory=list)
    departures: dict[tuple[str, str], Departure] = field(default_factory=dict)
    """By (instance, target): the newest report of each instance that was asked to move."""
    cuts: list[Partition] = field(default_factory=list)
    """The cuts that have begun."""
    protections: dict[str, list[tuple[int, bool]]] = field(default_factory=dict)
    """For each subjob: the times from which it was protected, or was not."""
    noticed_ms: dict[Process, int] = field(default_factory=dict)
    """When the end of a process was noticed."""
    lags: dict[str, Lags] = field(default_factory=dict)
    """For each sink: how far it was behind."""
    arrivals: dict[str, list[Arrival]] = field(default_factory=dict)
    degraded: dict[str, str] = field(default_factory=dict)
    """Subjob → a problem that a person should look at."""
    last: dict[str, StatusPage | None] = field(default_factory=dict)
    """The last status page of every process; None if it never answered."""

    def remember(self, observed: Observed) -> list[Death]:
        """Records an observation; returns the deaths that were not known before."""
        for seen in observed.seen:
            self.last[seen.process.name] = seen.page
            if seen.exit_code is not None:
                self.noticed_ms.setdefault(seen.process, observed.now_ms)
            if story := seen.instance.take_over:
                self.takeovers[seen.process, seen.instance.epoch] = story
            if departure := seen.instance.departure:
                self.departures[seen.process.name, departure.target] = departure
        self._remember_protection(observed)
        self._remember_lags(observed)
        new = list(self._new_deaths(observed))
        self.deaths += new
        return new

    def instance(self, name: str) -> InstancePage:
        """The last page of an instance; an empty page if it never answered."""
        found = self.last.get(name)
        return found if isinstance(found, InstancePage) else InstancePage()

    def _new_deaths(self, observed: Observed) -> Iterator[Death]:
        known = {death.process for death in self.deaths}
        for seen in observed.seen:
            if (
                seen.exit_code is not None
                and not seen.hurt
                and seen.process not in known
                and not _finished(seen)
            ):
                yield Death(seen.process, observed.now_ms, seen.exit_code, observed.covered(seen.process))

    def _remember_lags(self, observed: Observed) -> None:
        for sink in {s.process.owner for s in observed.seen if s.process.kind is Kind.SINK}:
            if (lag := observed.lag(sink)) is not None:
                known = self.lags.get(sink)
                most = known.most if known and known.most.tuples >= lag.tuples else lag
                self.lags[sink] = Lags(most, lag)

    def _remember_protection(self, observed: Observed) -> None:
        for subjob in {s.process.owner for s in observed.seen if s.process.kind is Kind.SUBJOB}:
            protected = observed.protected(subjob)
            known = self.protections.setdefault(subjob, [])
            if not known or known[-1][1] != protected:
                known.append((observed.now_ms, protected))


def _finished(seen: Seen) -> bool:
    return seen.process.kind is Kind.SINK and seen.exit_code == 0
