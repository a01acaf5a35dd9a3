"""Act: starts the processes of a job, hurts them, replaces them as the operator would, until the job is
over."""

from __future__ import annotations

import shutil
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, assert_never

from understudy.control import planned_move
from understudy.faults.cuts import FOLDER, ME
from understudy.local.effective import write
from understudy.local.environment import cores, for_children
from understudy.local.folder import Folder
from understudy.local.processes import Child, Reaper, end_all
from understudy.local.report.arrivals import ArrivalWatch
from understudy.local.report.record import Record, Stall
from understudy.local.run.code import finding
from understudy.local.run.decide import decide, poison_of
from understudy.local.run.failure_process import run_process
from understudy.local.run.fault_plan import Fault, Harm, Planned
from understudy.local.run.intents import (
    Fail,
    Finish,
    Hurt,
    Kill,
    LastResort,
    Open,
    Resume,
    Retire,
    StandIn,
    Start,
    Tell,
)
from understudy.local.run.jobfile import JobFile, Refused
from understudy.local.run.local_moves import Underway, begun, overloaded, steps
from understudy.local.run.members import Kind, Members, Process
from understudy.local.run.nemesis import Nemesis
from understudy.local.run.observed import Done, Observed, Seen
from understudy.local.run.orders import tell
from understudy.local.run.page_reader import PageReader
from understudy.local.run.partitions import Partition, Partitions
from understudy.local.surroundings import LocalSurroundings
from understudy.model.branches import in_use
from understudy.model.job import StreamJob
from understudy.process.clock import Anchor
from understudy.protocol.statuspage import SinkPage

TICK_SECONDS = 0.02
GRACE_SECONDS = 5.0


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
    reader: PageReader
    began_ms: int
    hurt: bool = False
    retired: bool = False
    gone: bool = False
    ready_at: int | None = None


class Supervisor:
    """Runs one job once. All its children end with it, however it ends."""

    def __init__(
        self,
        job: StreamJob,
        folder: Folder,
        nemesis: Nemesis,
        audience: Audience,
        file: JobFile | None = None,
        partitions: tuple[Partition, ...] = (),
        planned: Sequence[Planned] = (),
        secrets: Path = Path("secrets"),
    ) -> None:
        """`secrets`: the folder of what Secrets are on Kubernetes."""
        self._folder, self._nemesis, self._audience, self._file = folder, nemesis, audience, file
        self._declared, self._since = job, dict[str, int]()
        self._job, self._members = in_use(job), Members.of(in_use(job))
        self._told: set[tuple[Process, str]] = set()
        self._modes: dict[str, str] = {}
        self._faults = set[tuple[str, str]]()
        self._partitions = Partitions.of(partitions)
        self._planned = planned
        self._surroundings = LocalSurroundings(folder.surroundings)
        self._surroundings.set_job(f"understudy.local.{job.name}.{uuid.uuid4().hex[:8]}", secrets)
        self._running: list[_Running] = []
        self._watches = {s.name: ArrivalWatch(folder.sink(s.name)) for s in job.sinks}
        self._reaper = Reaper()
        self._asked_to_stop = False
        self._resumed: set[Done] = set()
        self._killed: set[Process] = set()
        self._recovered: set[tuple[Process, int]] = set()
        clock = Anchor.now()
        self.record = Record(began_ms=clock.wall, versions=[self._job], clock=clock)

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
        self._look_at_the_file()
        observed = self._observe()
        self._remember(observed)
        self._cut(observed)
        self._audience.watch(observed, {name: w.tuples for name, w in self._watches.items()})
        intents = decide(self._members, self._nemesis, cores(), observed)
        for intent in intents:
            match intent:
                case Start():
                    self._start(intent.process)
                case Open():
                    self._open(intent.at_ms)
                case Hurt():
                    self._hurt(intent, observed)
                case Kill():
                    self._kill(intent)
                case Resume():
                    self._resume(intent.done)
                case Tell():
                    self._tell(intent)
                case Retire():
                    self._retire(intent.process.name, intent.why)
                case StandIn():
                    self._stand_in(intent)
                case LastResort():
                    self._last_resort(intent)
                case Fail() | Finish():
                    self.record.outcome = intent
                case _:
                    assert_never(intent)
        if not any(isinstance(i, Start | Fail | Finish) for i in intents):
            self._move(observed)

    def _move(self, observed: Observed) -> None:
        for move, step in steps(self.record.moves, observed):
            self._take_step(move, step, observed.now_ms)
        planned = (*self._planned, *overloaded(self._members, self.record.moves, observed))
        for move in begun(planned, self.record.moves, observed):
            self._audience.note(f"{move.source.name} is to move to {move.target.name}: {move.planned.why}")
            self.record.moves.append(move)
            self._start(move.target)

    def _take_step(self, move: Underway, step: planned_move.Step, now: int) -> None:
        subjob = move.planned.subjob
        match step:
            case planned_move.Retire(instance, why):
                self._retire(instance, why)
            case planned_move.Name(source, target):
                self._surroundings.set_successor(subjob, source, target)
                self._change(move, replace(move, asked_ms=now))
            case planned_move.Withdraw(target):
                self._surroundings.take_successor_away(subjob, target)
            case planned_move.Follow(source):
                leads = next(r.process for r in self._running if r.process.name == source)
                self._change(move, replace(move, source=leads, asked_ms=None))
                self._audience.note(f"{move.source.name} leads no more: {source} is to move")
            case planned_move.Fail(why):
                self._change(move, replace(move, ended_ms=now, failure=why))
                self._audience.note(f"{move.source.name} does not move: {why}")
            case planned_move.Finish():
                self._change(move, replace(move, ended_ms=now))
                self._audience.note(f"{move.source.name} has moved to {move.target.name}")
            case _:
                assert_never(step)

    def _change(self, old: Underway, new: Underway) -> None:
        self.record.moves[self.record.moves.index(old)] = new

    def _retire(self, instance: str, why: str) -> None:
        """One that was never ready may be unable to end by itself."""
        running = next(r for r in self._running if r.process.name == instance)
        if not running.retired:
            running.retired = running.hurt = True
            running.child.kill() if running.ready_at is None else running.child.ask_to_stop()
            self._audience.note(f"retired: {instance}, {why}")

    # --- observe

    def _observe(self) -> Observed:
        now = self.record.clock.wall_now()
        self._look_at_sinks(now)
        found = {s: lease for s in self._members.subjobs if (lease := self._surroundings.read_lease(s))}
        return Observed(
            now_ms=now,
            started_ms=self.record.started_ms,
            seen=tuple(self._see(r, now) for r in self._running),
            holders={subjob: lease.holder for subjob, lease in found.items()},
            successors={s: lease.successor for s, lease in found.items() if lease.successor},
            under_way=frozenset(m.planned.subjob for m in self.record.moves if m.ended_ms is None),
            done=tuple(self.record.done),
            resumed=frozenset(self._resumed),
            asked_to_stop=self._asked_to_stop,
            told=frozenset(self._told),
            killed=frozenset(self._killed),
            moving=frozenset(side for move in self.record.moves for side in move.sides),
        )

    def _look_at_sinks(self, now: int) -> None:
        for sink in self.record.versions[-1].sinks:
            watch = self._watches[sink.name]
            if sink.target.lines:
                watch.look(now)
                continue
            page = self.record.last.get(f"sink-{sink.name}")
            said = page.tuples if isinstance(page, SinkPage) else 0
            watch.note(now, max(said, self._surroundings.ends(sink.input).get(sink.name, 0)))

    def _see(self, running: _Running, now: int) -> Seen:
        code = running.child.exit_code()
        if code is not None and not running.gone:
            running.gone = True
            running.reader.close()
            self._surroundings.withdraw(running.process.name)
        reader = running.reader
        seen = Seen(
            *(running.process, now - running.began_ms, code, running.hurt, reader.page),
            silent_ms=reader.silent_ms,
        )
        if running.ready_at is None and seen.ready:
            running.ready_at = now
        return replace(seen, ready_ms=None if running.ready_at is None else now - running.ready_at)

    def _remember(self, observed: Observed) -> None:
        deaths = self.record.remember(observed)
        for death in deaths:
            name = death.process.name
            self._audience.note(f"{name} ended by itself ({death.exit_code}), see {self._log(death.process)}")
        for subjob in {death.process.owner for death in deaths if death.process.kind is Kind.SUBJOB}:
            if poison := poison_of(self._members, observed.of(Kind.SUBJOB, subjob)):
                self.record.degraded[subjob] = poison
                self._audience.note(poison)
        self._note_modes(observed)
        self._note_faults(observed)
        self._note_recoveries()

    def _note_recoveries(self) -> None:
        """As soon as it is known for how long there was no output."""
        for key, story in self.record.takeovers.items():
            if story.recovery_ms is not None and key not in self._recovered:
                self._recovered.add(key)
                what = f"{key[0].name} took over {key[0].owner} from {story.gone}"
                self._audience.note(f"{what}: no output for {story.recovery_ms:,} ms")

    def _note_faults(self, observed: Observed) -> None:
        """Each reason once, for which a source is not read or its bad records are not copied."""
        for source, at in ((s, i) for seen in observed.seen for s, i in seen.instance.inputs.items()):
            if at.fault is not None and (source, at.fault) not in self._faults:
                self._faults.add((source, at.fault))
                self._audience.note(f"the source {source}: {at.fault}")

    def _note_modes(self, observed: Observed) -> None:
        for subjob in self._members.subjobs:
            primary = observed.primary(subjob)
            mode = primary.instance.mode if primary else None
            if mode is not None and mode != self._modes.setdefault(subjob, mode):
                self._modes[subjob] = mode
                self._audience.note(f"{subjob} is kept alive by {mode} now")

    def _last_look(self) -> None:
        """The pages are a little behind: what happened last is on the next one."""
        if isinstance(self.record.outcome, Finish):
            time.sleep(0.5)
            self._remember(self._observe())

    # --- act

    def _cut(self, observed: Observed) -> None:
        news = list(self._partitions.news(observed))
        if news:
            self._surroundings.cut(self._partitions.apart)
            self.record.cuts = list(self._partitions.begun)
        for each in news:
            self._audience.note(each)

    def _start(self, process: Process) -> None:
        child = Child(
            process.name, self._command(process), self._log(process), self._reaper, self._environment(process)
        )
        reader = PageReader(process.name, child.pid, self._surroundings)
        self._running.append(_Running(process, child, reader, self.record.clock.wall_now()))
        self._audience.note(f"starting {process.name}")

    def _environment(self, process: Process) -> dict[str, str]:
        relays = (
            {FOLDER: str(self._folder.surroundings), ME: process.name} if self._partitions.planned else {}
        )
        found = for_children()
        return {**found, **finding(self._folder.code, found), **relays}

    def _command(self, process: Process) -> list[str]:
        common = ["--job", str(self._folder.job), "--surroundings", f"local:{self._folder.surroundings}"]
        if process.kind is Kind.SINK:
            own = ["sink", "--sink", process.owner, "--output", str(self._folder.sink(process.owner))]
            own += ["--life", str(process.number)]
        else:
            scratch = self._folder.scratch / process.name
            own = ["subjob", "--subjob", process.owner, "--instance", process.name, "--scratch", str(scratch)]
        return [sys.executable, "-m", "understudy.cli", *own, *common]

    def _log(self, process: Process) -> Path:
        return self._folder.logs / f"{process.name}.log"

    def _open(self, at_ms: int) -> None:
        self._surroundings.set_start_time(at_ms)
        self.record.started_ms = at_ms
        took = (self.record.clock.wall_now() - self.record.began_ms) / 1000
        self._audience.note(f"everything is ready after {took:.0f} s; the streams begin")

    def _hurt(self, intent: Hurt, observed: Observed) -> None:
        victim = next(r for r in self._running if r.process == intent.victim)
        victim.hurt = True
        at = self.record.clock.wall_now()
        _carry_out(intent.fault, victim.child)
        self.record.done.append(Done(intent.fault, intent.victim, at, observed.covered(intent.victim)))
        self._audience.note(f"{intent.fault.done}: {intent.victim.name}, {intent.fault}")

    def _kill(self, intent: Kill) -> None:
        next(r for r in self._running if r.process == intent.process).child.order_to_die()
        self._killed.add(intent.process)
        if intent.process.kind is Kind.SINK:
            self.record.stalls[intent.process] = Stall(self.record.clock.wall_now(), intent.why)
        self._audience.note(f"{intent.process.name} is killed, to be started again: {intent.why}")

    def _resume(self, done: Done) -> None:
        victim = next(r for r in self._running if r.process == done.victim)
        victim.child.resume()
        self._resumed.add(done)
        self._audience.note(f"resumed: {done.victim.name}")

    # --- edits

    def _look_at_the_file(self) -> None:
        match self._file.edited(self._declared) if self._file is not None else None:
            case StreamJob() as job:
                self._adopt(job)
            case Refused(sentences):
                for sentence in sentences:
                    self._audience.note(f"edit refused, the job runs on as it was: {sentence}")
            case None:
                pass

    def _adopt(self, job: StreamJob) -> None:
        for before, after in zip(self._declared.subjobs, job.subjobs, strict=True):
            if before.ha != after.ha:
                self._audience.note(f"edited: {after.name} is to be kept alive by {after.ha.mode}")
        self._declared = job
        self._play()

    def _play(self) -> None:
        """From now on, what is declared, with those who stand in."""
        self._job = in_use(self._declared, self._since)
        self._members = replace(Members.of(self._job), since=self._since)
        self.record.versions.append(self._job)
        write(self._job, self._folder.job)

    def _stand_in(self, intent: StandIn) -> None:
        mine = [
            r for r in self._running if r.process.kind is Kind.SUBJOB and r.process.owner == intent.subjob
        ]
        for running in mine:
            running.hurt = True
            running.child.ask_to_stop()
        self._since = {**self._since, intent.subjob: len(mine)}
        self._play()
        self._audience.note(f"{intent.alternative} stands in for {intent.subjob}: {intent.why}")

    def _last_resort(self, intent: LastResort) -> None:
        subjob = self._job.subjob(intent.subjob)
        declared = subjob.ha.on_permanent_failure if subjob else None
        assert declared is not None
        assert declared.process is not None
        self._audience.note(f"the failure process of {intent.subjob} is run: {intent.why}")
        log = self._folder.logs / f"process-{intent.subjob}.log"
        how = run_process(declared.process.job_template, for_children(), log)
        self.record.outcome = Fail(
            1, f"{intent.subjob} has failed for good; its failure process was run: {how}"
        )

    def _tell(self, intent: Tell) -> None:
        subjob, order = self._job.subjob(intent.process.owner), (intent.process, intent.settings)
        found = self._surroundings.announcement(intent.process.name)
        if subjob is not None and found is not None:
            self._told = {(who, what) for who, what in self._told if who != intent.process} | {order}
            tell(found.address, subjob.ha, lambda: self._told.discard(order))

    def tail_of(self, process: Process, count: int = 15) -> list[str]:
        running = next(r for r in self._running if r.process == process)
        return running.child.last_lines(count)

    def _end(self) -> None:
        """A sink finishes the line it writes. A subjob has nothing to finish: losing it is what it is made
        for."""
        self.record.ended_ms = self.record.clock.wall_now()
        end_all([r.child for r in self._running if r.process.kind is Kind.SINK], GRACE_SECONDS)
        self._reaper.close()
        for running in self._running:
            running.reader.close()
        self._look_at_sinks(self.record.ended_ms)
        for name, watch in self._watches.items():
            self.record.arrivals[name] = watch.arrivals
        shutil.rmtree(self._folder.scratch, ignore_errors=True)


def _carry_out(fault: Fault, child: Child) -> None:
    if fault.stop_ms is None:
        return child.kill()
    match fault.harm:
        case Harm.STOP:
            child.pause()
        case Harm.THROTTLE:
            child.throttle()
        case Harm.HANG:
            child.hang()
