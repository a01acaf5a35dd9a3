"""The planner's predictions (`model/costs`) against the simulator, on twenty random jobs.

A job is a manifest like a user's: a generator, a subjob with a filter or an aggregate, intervals of its own.
What `understudy plan` says of it is compared with what the protocol core does on simulated machines of
Hwang's Table 5.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from understudy.model.costs import Cost, costs, loads
from understudy.model.ha import Mode
from understudy.model.job import StreamJob
from understudy.model.load import from_manifest
from understudy_lab.experiments.experiment import Experiment, Progress
from understudy_lab.experiments.hwang_node import (
    ACTIVE,
    FILTER,
    OVERHEAD,
    PASSIVE,
    RECOVERY,
    REPLICA,
    SAVEPOINT,
    UPSTREAM,
    Elements,
    Setup,
    aggregate,
    measure,
)

JOBS = 20
MODES = {
    Mode.PASSIVE_STANDBY: PASSIVE,
    Mode.UPSTREAM_BACKUP: UPSTREAM,
    Mode.ACTIVE_STANDBY: ACTIVE,
    Mode.REPLICA_BACKUP: REPLICA,
    Mode.SAVEPOINT: SAVEPOINT,
}
WORST = 0.30
NOTES = (
    "Upstream backup with watermarks forwarded, as precise recovery needs them. Of replica backup only the "
    "overhead: "
    "it has nothing to recreate. A savepoint operator's replacement is ready on its node, as a standby is.",
    "Rates 200 to 2000/s, windows of 50 to 300 ms of input, up to 12 of them open, ack intervals 20 to 100 "
    "ms, a "
    "checkpoint every 1 to 4 of those.",
    "The parameters of Hwang's Table 5 hold in both: 10 µs for a tuple and window, 16 Mbit/s, 5 ms, r = 40 "
    "ms.",
)


@dataclass(frozen=True)
class Drawn:
    label: str
    rate: int
    elements: Elements
    operator: dict[str, Any]
    ack: int  # milliseconds
    checkpoint: int

    @classmethod
    def at(cls, seed: int) -> Drawn:
        rng = random.Random(seed)
        rate = rng.randrange(200, 2_001, 50)
        ack = rng.randrange(20, 101, 10)
        checkpoint = ack * rng.randrange(1, 5)
        if rng.random() < 0.25:
            return cls(f"{rate}/s, filter", rate, FILTER, {"filter": {"where": "x > 0"}}, ack, checkpoint)
        slide = max(1, round(rate * rng.uniform(0.05, 0.3) / (opened := rng.randrange(1, 13))))
        size = slide * opened
        window = {"window": {"on": "_seq", "size": size, "slide": slide}, "select": {"n": "count(*)"}}
        label = f"{rate}/s, window {size}/{slide}"
        return cls(label, rate, aggregate(size, slide), {"aggregate": window}, ack, checkpoint)

    def manifest(self) -> dict[str, Any]:
        ha = {
            "mode": "auto",
            "ackInterval": f"{self.ack}ms",
            "checkpoint": {"interval": f"{self.checkpoint}ms"},
        }
        return {
            "apiVersion": "understudy.dev/v1alpha1",
            "kind": "StreamJob",
            "metadata": {"name": "drawn"},
            "spec": {
                "sources": [{"name": "i", "generator": {"rate": self.rate, "fields": {"x": "_seq"}}}],
                "subjobs": [{"name": "n", "inputs": ["i"], "operators": [self.operator], "ha": ha}],
                "sinks": [{"name": "app", "input": "n", "console": {}}],
            },
        }

    def predicted(self) -> dict[Mode, Cost]:
        job = from_manifest(self.manifest())
        if not isinstance(job, StreamJob):
            raise TypeError(f"the drawn manifest is refused: {job}")
        return dict(costs(loads(job)["n"], job.subjobs[0].ha))

    def setup(self, mode: Mode) -> Setup:
        m = self.checkpoint if mode is Mode.PASSIVE_STANDBY else self.ack
        precise = mode is Mode.UPSTREAM_BACKUP
        return Setup(MODES[mode], self.elements, interval=m, precise=precise, rate=self.rate, acks=self.ack)


def planner(progress: Progress, runs: int, jobs: int = JOBS) -> Experiment:
    title = "The planner's predictions against the simulator"
    found = Experiment("planner", title, notes=list(NOTES), against="predicted")
    for seed in range(jobs):
        drawn, job = Drawn.at(seed), f"#{seed + 1}"
        described = (
            f"{job}: {drawn.label}, acks every {drawn.ack} ms, checkpoints every {drawn.checkpoint} ms."
        )
        progress(described)
        found.notes.append(described)
        for mode, price in drawn.predicted().items():
            if mode in MODES:
                overhead, recovery = measure(drawn.setup(mode), max(runs // 2, 1))
                found.add(mode, job, OVERHEAD, 100 * price.bandwidth_overhead, overhead)
                if mode is not Mode.REPLICA_BACKUP:
                    found.add(mode, job, RECOVERY, price.recovery.total_seconds() * 1_000, recovery)
    judge(found)
    return found


def judge(found: Experiment) -> None:
    for metric, most in ((OVERHEAD, 0.10), (RECOVERY, 0.15)):
        errors = _errors(found, metric)
        found.check(
            f"{metric}: the median error of the prediction is below {most:.0%}", median(errors) < most
        )
        found.check(f"{metric}: no prediction is further off than 30 %", max(errors) < WORST)
        found.notes.append(
            f"{metric}: error of the prediction {fmean(errors):.1%} on average, median {median(errors):.1%}, "
            "worst "
            f"{max(errors):.1%}{' (without active standby, which takes a millisecond)' if metric == RECOVERY else ''}."
        )
    jobs = list(dict.fromkeys(c.column for c in found.cells))
    agreed = [
        _least(found, job, OVERHEAD, "paper") == _least(found, job, OVERHEAD, "measured") for job in jobs
    ]
    found.check(
        "the cheapest mode is the same in prediction and simulation", sum(agreed) >= 0.9 * len(agreed)
    )
    quickest = all(_least(found, job, RECOVERY, "measured") == Mode.ACTIVE_STANDBY for job in jobs)
    found.check("active standby recovers first, as predicted", quickest)


def _errors(found: Experiment, metric: str) -> list[float]:
    """Of each prediction; a recovery of less than a millisecond has no error worth a share."""
    cells = [
        c for c in found.cells if c.metric == metric and (metric, c.row) != (RECOVERY, Mode.ACTIVE_STANDBY)
    ]
    return [abs(c.ratio - 1) for c in cells if c.ratio]


def _least(found: Experiment, job: str, metric: str, what: str) -> str:
    cells = [c for c in found.cells if (c.column, c.metric) == (job, metric)]
    return min(cells, key=lambda c: float(getattr(c, what))).row
