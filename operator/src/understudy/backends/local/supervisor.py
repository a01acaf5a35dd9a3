"""Act: starts the processes of a job, hurts them, replaces them as the operator would, until the job is over."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, assert_never

from understudy.backends.local.arrivals import Arrival, ArrivalWatch
from understudy.backends.local.cast import Cast, Kind, Process
from understudy.backends.local.direction import Done, Fail, Finish, Hurt, Nemesis, Observed, Open, Seen, Start, decide
from understudy.backends.local.environment import cores, for_children
from understudy.backends.local.folder import Folder
from understudy.backends.local.pages import Page
from understudy.backends.local.processes import Child, Janitor, end_all
from understudy.backends.local.surroundings import LocalSurroundings
from understudy.model.job import StreamJob
from understudy.runtime.clock import now_ms

TICK_SECONDS = 0.02
GRACE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Death:
    """A process that ended by itself."""

    process: Process
    at_ms: int
    exit_code: int
    had_standby: bool


@dataclass(slots=True)
class Record:
    """What happened in a run, for those who tell of it."""

    began_ms: int
    started_ms: int | None = None
    ended_ms: int | None = None
    outcome: Finish | Fail | None = None
    done: list[Done] = field(default_factory=list)
    deaths: list[Death] = field(default_factory=list)
    takeovers: dict[tuple[str, int], Mapping[str, Any]] = field(default_factory=dict)
    """By (instance, epoch): the newest word of each instance that took over, and its subjob."""
    protections: dict[str, list[tuple[int, bool]]] = field(default_factory=dict)
    """Per subjob: since when it was protected or not."""
    noticed_ms: dict[Process, int] = field(default_factory=dict)
    """When the supervisor saw that a process was gone."""
    arrivals: dict[str, list[Arrival]] = field(default_factory=dict)
    last: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """The last status of every process."""


class Audience(Protocol):
    """Who is shown what happens."""

    def note(self, text: str) -> None:
        """Something happened."""

    def watch(self, observed: Observed, tuples: Mapping[str, int]) -> None:
        """Called at every tick."""


@dataclass(slots=True)
class _Running:
    process: Process
    child: Child
    page: Page
    began_ms: int
    hurt: bool = False
    gone: bool = False
    ready_at: int | None = None


class Supervisor:
    """Runs one job once. All its children end with it, however it ends."""

    def __init__(self, job: StreamJob, folder: Folder, nemesis: Nemesis, audience: Audience) -> None:
        self._job, self._folder, self._nemesis, self._audience = job, folder, nemesis, audience
        self._cast = Cast.of(job)
        self._surroundings = LocalSurroundings(folder.surroundings)
        self._running: list[_Running] = []
        self._watches = {s.name: ArrivalWatch(folder.sink(s.name)) for s in job.sinks}
        self._janitor = Janitor()
        self._asked_to_stop = False
        self.record = Record(began_ms=now_ms())

    def ask_to_stop(self) -> None:
        self._asked_to_stop = True

    def run(self) -> Record:
        try:
            while self.record.outcome is None:
                self._tick()
                time.sleep(TICK_SECONDS)
            self._last_look()
        finally:
            self._end()
        return self.record

    def _tick(self) -> None:
        observed = self._observe()
        self._remember(observed)
        self._audience.watch(observed, {name: w.tuples for name, w in self._watches.items()})
        for intent in decide(self._cast, self._nemesis, cores(), observed):
            match intent:
                case Start():
                    self._start(intent.process)
                case Open():
                    self._open(intent.at_ms)
                case Hurt():
                    self._hurt(intent, observed)
                case Fail() | Finish():
                    self.record.outcome = intent
                case _:
                    assert_never(intent)

    # --- observe

    def _observe(self) -> Observed:
        now = now_ms()
        for watch in self._watches.values():
            watch.look(now)
        return Observed(
            now_ms=now,
            started_ms=self.record.started_ms,
            seen=tuple(self._see(r, now) for r in self._running),
            holders={s: lease.holder for s in self._cast.subjobs if (lease := self._surroundings.read_lease(s))},
            done=tuple(self.record.done),
            asked_to_stop=self._asked_to_stop,
        )

    def _see(self, running: _Running, now: int) -> Seen:
        code = running.child.exit_code()
        if code is not None and not running.gone:
            running.gone = True
            running.page.close()
            self._surroundings.withdraw(running.process.name)
            self.record.noticed_ms[running.process] = now
        seen = Seen(running.process, now - running.began_ms, code, running.hurt, running.page.status)
        if running.ready_at is None and seen.ready:
            running.ready_at = now
        return replace(seen, ready_ms=None if running.ready_at is None else now - running.ready_at)

    def _remember(self, observed: Observed) -> None:
        for seen in observed.seen:
            self.record.last[seen.process.name] = seen.status
            if story := seen.status.get("takeover"):
                key = (seen.process.name, int(seen.status["epoch"]))
                self.record.takeovers[key] = {**story, "subjob": seen.process.owner}
            self._remember_death(seen, observed)
        for subjob in self._cast.subjobs:
            self._remember_protection(subjob, observed)

    def _remember_death(self, seen: Seen, observed: Observed) -> None:
        process = seen.process
        known = seen.hurt or any(d.process == process for d in self.record.deaths)
        if seen.exit_code is None or known or (process.kind is Kind.SINK and seen.exit_code == 0):
            return
        death = Death(process, observed.now_ms, seen.exit_code, observed.covered(process))
        self.record.deaths.append(death)
        self._audience.note(f"{process.name} ended by itself ({seen.exit_code}), see {self._log(process)}")

    def _remember_protection(self, subjob: str, observed: Observed) -> None:
        primary = observed.primary(subjob)
        protected = primary is not None and bool(primary.status.get("protected"))
        known = self.record.protections.setdefault(subjob, [])
        if not known or known[-1][1] != protected:
            known.append((observed.now_ms, protected))

    def _last_look(self) -> None:
        """The pages are a little behind: what happened last is on the next one."""
        if isinstance(self.record.outcome, Finish):
            time.sleep(0.5)
            self._remember(self._observe())

    # --- act

    def _start(self, process: Process) -> None:
        child = Child(process.name, self._command(process), self._log(process), self._janitor, for_children())
        page = Page(process.name, child.pid, self._surroundings)
        self._running.append(_Running(process, child, page, now_ms()))
        self._audience.note(f"starting {process.name}")

    def _command(self, process: Process) -> list[str]:
        common = ["--job", str(self._folder.job), "--surroundings", f"local:{self._folder.surroundings}"]
        if process.kind is Kind.SINK:
            own = ["sink", "--sink", process.owner, "--output", str(self._folder.sink(process.owner))]
        else:
            scratch = self._folder.scratch / process.name
            own = ["subjob", "--subjob", process.owner, "--instance", process.name, "--scratch", str(scratch)]
        return [sys.executable, "-m", "understudy.cli", *own, *common]

    def _log(self, process: Process) -> Path:
        return self._folder.logs / f"{process.name}.log"

    def _open(self, at_ms: int) -> None:
        self._surroundings.set_start_time(at_ms)
        self.record.started_ms = at_ms
        self._audience.note(
            f"everything is ready after {(now_ms() - self.record.began_ms) / 1000:.0f} s; the streams begin"
        )

    def _hurt(self, intent: Hurt, observed: Observed) -> None:
        victim = next(r for r in self._running if r.process == intent.victim)
        victim.hurt = True
        at = now_ms()
        victim.child.kill()
        self.record.done.append(Done(intent.fault, intent.victim, at, observed.covered(intent.victim)))
        self._audience.note(f"killed {intent.victim.name}, {intent.fault}")

    def tail_of(self, process: Process, count: int = 15) -> list[str]:
        running = next(r for r in self._running if r.process == process)
        return running.child.last_lines(count)

    def _end(self) -> None:
        """A sink finishes the line it writes. A subjob has nothing to finish: losing it is what it is made for."""
        self.record.ended_ms = now_ms()
        end_all([r.child for r in self._running if r.process.kind is Kind.SINK], GRACE_SECONDS)
        self._janitor.close()
        for running in self._running:
            running.page.close()
        for name, watch in self._watches.items():
            watch.look(self.record.ended_ms)
            self.record.arrivals[name] = watch.arrivals
        shutil.rmtree(self._folder.scratch, ignore_errors=True)
