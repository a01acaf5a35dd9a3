"""Many seeds: on several cores, with progress, and from where an interrupted run stopped."""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from understudy_lab.experiments.experiment import Progress
from understudy_lab.exploration.fault_schedules import Outcome, run, shrink, tale
from understudy_lab.exploration.history import Handled
from understudy_lab.exploration.networks import Cores

CHUNK = 100  # seeds that are run, counted and recorded together
TOLD = 3  # failures that are shrunk and told


def has_weather(seed: int) -> bool:
    """Every second seed: weather costs time, and hides what fair weather shows."""
    return seed % 2 == 1


@dataclass(frozen=True)
class Chunk:
    """What consecutive seeds came to."""

    first: int
    seeds: int
    failures: dict[int, list[str]] = field(default_factory=dict)  # seed: what is wrong
    exceeded: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    modes: Counter[str] = field(default_factory=Counter)
    reports: Counter[str] = field(default_factory=Counter)  # of losses: all, and those in vain
    digests: dict[int, str] = field(default_factory=dict)  # seed: digest of its history

    def to_json(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "seeds": self.seeds,
            "failures": self.failures,
            "exceeded": self.exceeded,
            "faults": self.faults,
            "modes": self.modes,
            "reports": self.reports,
            "digests": self.digests,
        }

    @classmethod
    def of(cls, value: dict[str, Any]) -> Chunk:
        failures = {int(seed): problems for seed, problems in value["failures"].items()}
        counted = Counter(value["faults"]), Counter(value["modes"]), Counter(value.get("reports", {}))
        digests = {int(seed): digest for seed, digest in value.get("digests", {}).items()}
        return cls(value["first"], value["seeds"], failures, value["exceeded"], *counted, digests)


@contextmanager
def _rarely_collecting() -> Iterator[None]:
    """A run makes much that is soon gone, and few cycles: looking for them costs a sixth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@_rarely_collecting()
def run_chunk(first: int, seeds: int, only: str | None) -> Chunk:
    failures: dict[int, list[str]] = {}
    faults: Counter[str] = Counter()
    modes: Counter[str] = Counter()
    reports: Counter[str] = Counter()
    digests: dict[int, str] = {}
    exceeded = 0
    for seed in range(first, first + seeds):
        outcome = run(seed, None, only, weather=has_weather(seed))
        exceeded += outcome.exceeded
        faults.update(f.kind for f in outcome.faults)
        modes.update(s.mode for s in outcome.job.subjobs)
        reports.update(dict(zip(("all", "in vain"), outcome.reports, strict=True)))
        digests[seed] = digest_of(outcome)
        if outcome.problems:
            failures[seed] = outcome.problems
    return Chunk(first, seeds, failures, exceeded, faults, modes, reports, digests)


def digest_of(outcome: Outcome) -> str:
    """Two versions of the core that do the same have the same digests. Reasons are left out: they are
    prose."""
    seen = ((at, replace(o, why="") if isinstance(o, Handled) else o) for at, o in outcome.observed)
    return sha256("\n".join(map(repr, seen)).encode()).hexdigest()[:16]


@dataclass
class Report:
    only: str | None = None
    chunks: list[Chunk] = field(default_factory=list)

    @property
    def seeds(self) -> int:
        return sum(c.seeds for c in self.chunks)

    @property
    def failures(self) -> dict[int, list[str]]:
        return dict(sorted((seed, found) for c in self.chunks for seed, found in c.failures.items()))

    @property
    def digests(self) -> dict[int, str]:
        return dict(sorted((seed, digest) for c in self.chunks for seed, digest in c.digests.items()))

    @property
    def exceeded(self) -> int:
        return sum(c.exceeded for c in self.chunks)

    def text(self) -> str:
        failures = self.failures
        first = min((c.first for c in self.chunks), default=0)
        reports = sum((c.reports for c in self.chunks), Counter())
        head = (
            f"{self.seeds} seeds from {first} on: {len(failures)} with a broken promise\n"
            f"faults: {_listed(c.faults for c in self.chunks)}\n"
            f"subjobs: {_listed(c.modes for c in self.chunks)}\n"
            f"{self.exceeded} seeds had more failures than some mode survives: there losses must only be "
            "reported\n"
            f"losses were reported of {reports['all']} inputs, of {reports['in vain']} though nothing was "
            "missing"
        )
        told = [tale(shrink(seed, None, self.only, has_weather(seed))) for seed in list(failures)[:TOLD]]
        rest = [f"seed {seed}: {found[0]}" for seed, found in list(failures.items())[TOLD:]]
        return "\n\n".join([head, *told, *rest])

    def to_json(self) -> dict[str, Any]:
        first = min((c.first for c in self.chunks), default=0)
        merged = Chunk(
            first,
            self.seeds,
            self.failures,
            self.exceeded,
            sum((c.faults for c in self.chunks), Counter()),
            sum((c.modes for c in self.chunks), Counter()),
            sum((c.reports for c in self.chunks), Counter()),
            self.digests,
        )
        return merged.to_json()


def _listed(counters: Iterator[Counter[str]] | Any) -> str:
    return ", ".join(f"{k} {v}" for k, v in sorted(sum(counters, Counter()).items()))


def explore(
    first: int,
    seeds: int,
    only: str | None = None,
    progress: Progress | None = None,
    jobs: int = 1,
    record: Path | None = None,
) -> Report:
    """`record`: a file to which every chunk is written when it is done; what is in it already is not run
    again."""
    report = Report(only, _recorded(record))
    done = {c.first for c in report.chunks}
    starts = [s for s in range(first, first + seeds, CHUNK) if s not in done]
    todo = [(s, min(CHUNK, first + seeds - s), only) for s in starts]
    for chunk in _run(todo, jobs):
        report.chunks.append(chunk)
        if record is not None:
            with record.open("a") as file:
                file.write(json.dumps(chunk.to_json()) + "\n")
        if progress is not None:
            progress(f"{report.seeds} of {seeds} seeds, {len(report.failures)} failed")
    return report


def _recorded(record: Path | None) -> list[Chunk]:
    if record is None or not record.exists():
        return []
    return [Chunk.of(json.loads(line)) for line in record.read_text().splitlines() if line.endswith("}")]


def _run(todo: list[tuple[int, int, str | None]], jobs: int) -> Iterator[Chunk]:
    if jobs <= 1:
        yield from (run_chunk(*args) for args in todo)
        return
    with ProcessPoolExecutor(jobs) as pool:
        for future in as_completed([pool.submit(run_chunk, *args) for args in todo]):
            yield future.result()


def first_caught(cores: Cores, seeds: int, only: str | None = None, first: int = 0) -> Outcome | None:
    """The first seed that catches a mistake in the core."""
    for seed in range(first, first + seeds):
        outcome = run(seed, cores, only, weather=has_weather(seed))
        if outcome.problems:
            return outcome
    return None
