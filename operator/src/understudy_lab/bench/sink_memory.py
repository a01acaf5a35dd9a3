"""What a dead sink costs in memory: an hour's worth of tuples is made while it is away, and must arrive
afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from understudy.local.folder import Folder
from understudy.local.report.finish import tell_of
from understudy.local.run.fault_plan import Fault, Target
from understudy.local.run.intents import Hurt
from understudy.local.run.members import Kind
from understudy.local.run.nemesis import Schedule
from understudy.local.run.observed import Observed, Seen
from understudy.local.surroundings import LocalSurroundings
from understudy.model.guarantees import Recovery
from understudy.model.ha import Mode
from understudy_lab.bench.jobs import passed_on
from understudy_lab.bench.watching import Failed, Say, Teller, perform

RATE: Final = 100  # tuples per second, of which `seconds` worth are made
FASTER: Final = 100  # times
QUEUE: Final = "{memory: 1Mi, disk: 3Mi}"
MODES: Final = (Mode.PASSIVE_STANDBY, Mode.UPSTREAM_BACKUP)
LEAVES_MS: Final = 3_000
STAYS_AWAY_MS: Final = 20_000  # after the last tuple is due
LOOK_MS: Final = 500


@dataclass(frozen=True, slots=True)
class Absence:
    """One run. Bytes; what is in memory counts without what is only mapped from a file."""

    bound: int
    """Of each output queue."""
    queues: Mapping[str, int]
    """The most that the queue of each instance held."""
    full: tuple[str, ...]
    """Subjobs that waited for room."""
    before: Mapping[str, int]
    """Memory of the instances' own processes when the sink went."""
    most: Mapping[str, int]
    """The most while it was away."""
    arrived: int
    precise: bool

    @property
    def kept(self) -> bool:
        return self.precise and max(self.queues.values()) <= self.bound

    @property
    def grown(self) -> int:
        """By how much an instance grew, at the most."""
        return max(most - self.before[name] for name, most in self.most.items() if name in self.before)


@dataclass(frozen=True, slots=True)
class Memory:
    modes: Mapping[Mode, Absence]
    tuples: int

    @property
    def ratio(self) -> dict[str, float]:
        return {mode.value: max(found.queues.values()) / found.bound for mode, found in self.modes.items()}

    @property
    def met(self) -> bool:
        return all(found.kept and found.arrived == self.tuples for found in self.modes.values())


def measure(modes: Sequence[Mode], seconds: int, folder: Path, say: Say) -> Memory:
    """`seconds`: how long the tuples would take that are made."""
    tuples = RATE * seconds
    return Memory({mode: _absence(mode, tuples, Folder(folder / mode.value), say) for mode in modes}, tuples)


def _absence(mode: Mode, tuples: int, folder: Folder, say: Say) -> Absence:
    job = passed_on(RATE * FASTER, tuples, mode, QUEUE)
    returns_ms = 1_000 * tuples // (RATE * FASTER) + STAYS_AWAY_MS
    gauge = Gauge("out", returns_ms, LocalSurroundings(folder.surroundings))
    record = perform(job, folder, gauge, say)
    told = tell_of(job, folder, record, Teller(say))
    if told.verdicts is None or (found := told.verdicts["out"].comparison) is None:
        raise Failed(f"the sink could not be checked; see {folder.logs}")
    bounds = job.subjobs[0].queue
    absence = Absence(
        bounds.memory_bytes + bounds.disk_bytes,
        gauge.queues,
        tuple(sorted(gauge.full)),
        gauge.before,
        gauge.most,
        found.tuples,
        found.recovery is Recovery.PRECISE,
    )
    say(f"{mode.value}: the fullest queue held {max(absence.queues.values()):,} of {absence.bound:,} bytes")
    return absence


@dataclass(slots=True)
class Gauge:
    """Stops the sink, kills it much later, so that another one takes its place, and looks at everybody
    meanwhile."""

    sink: str
    returns_ms: int
    surroundings: LocalSurroundings
    queues: dict[str, int] = field(default_factory=dict)
    full: set[str] = field(default_factory=set)
    before: dict[str, int] = field(default_factory=dict)
    most: dict[str, int] = field(default_factory=dict)
    _looked_ms: int = 0

    def strike(self, observed: Observed) -> Iterator[Hurt]:
        if observed.started_ms is not None and observed.now_ms - self._looked_ms >= LOOK_MS:
            self._looked_ms = observed.now_ms
            for seen in observed.seen:
                if seen.alive and seen.process.kind is Kind.SUBJOB:
                    self._look(seen, observed)
        away = Fault(self.sink, Target.SINK, LEAVES_MS, stop_ms=2 * self.returns_ms)
        return Schedule((away, Fault(self.sink, Target.SINK, self.returns_ms))).strike(observed)

    def satisfied(self, observed: Observed) -> bool:
        return False

    def _look(self, seen: Seen, observed: Observed) -> None:
        name = seen.process.name
        for stream, queue in seen.instance.outputs.items():
            self.queues[name] = max(self.queues.get(name, 0), queue.bytes)
            if queue.full:
                self.full.add(stream)
        announced = self.surroundings.announcement(name)
        if announced is None:
            return
        used = anonymous_bytes(announced.pid)
        if not observed.done:
            self.before[name] = used
        elif len(observed.done) == 1:
            self.most[name] = max(self.most.get(name, 0), used)


def anonymous_bytes(pid: int) -> int:
    """Memory of a process that no file stands behind."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon:"))
