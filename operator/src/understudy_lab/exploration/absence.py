"""A primary and a sink of its stream are lost together, and the sink comes back much later.

Drawn apart from the other faults, so that a seed with an absence has the same job and the same other faults
as without.
"""

from __future__ import annotations

import random

from understudy_lab.exploration.fault import Fault
from understudy_lab.exploration.fault_schedules import AFTERWARDS, WITH_SINK, Outcome, run, schedule
from understudy_lab.exploration.networks import Cores, draw
from understudy_lab.simulation.specs import Job
from understudy_lab.simulation.world import MS


def absences(seed: int, job: Job) -> list[Fault]:
    """One of the sinks is away. Another consumer of the stream is there in some jobs only."""
    rng = random.Random(f"absence {seed}")
    shared = [(s, stream) for s, stream in job.sinks.items() if _readers(job, stream) > 1] or list(
        job.sinks.items()
    )
    sink, stream = rng.choice(shared)
    last = max(s.lasts for s in job.sources) // MS + AFTERWARDS
    at, lasts = rng.randrange(5, last) * MS, rng.randrange(400, 2_000) * MS
    return [Fault(at, WITH_SINK, job.maker[stream].name, lasts, rng.random() < 0.5, sink)]


def _readers(job: Job, stream: str) -> int:
    return sum(stream in s.inputs for s in job.subjobs) + list(job.sinks.values()).count(stream)


def run_with_absence(
    seed: int, cores: Cores | None = None, only: str | None = None, *, tell: bool = False
) -> Outcome:
    rng = random.Random(seed)
    job = draw(rng, cores or Cores(), only)
    faults = sorted([*schedule(rng, job), *absences(seed, job)], key=lambda f: f.at)
    return run(seed, cores, only, faults, tell)
