"""The planner's predictions (`model/costs`) against the simulator, on twenty random jobs.

A job is a manifest like a user's: a generator, a subjob with a filter or an aggregate, intervals of its own. What
`understudy plan` says of it is compared with what the protocol core does on simulated machines of Hwang's Table 5.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from understudy.backends.simulation.experiments.experiment import Experiment, Progress
from understudy.backends.simulation.experiments.hwang_node import (
    ACTIVE,
    FILTER,
    OVERHEAD,
    PASSIVE,
    RECOVERY,
    UPSTREAM,
    Elements,
    Setup,
    aggregate,
    measure,
)
from understudy.model.costs import Cost, costs, loads
from understudy.model.ha import Mode
from understudy.model.job import StreamJob
from understudy.model.load import from_manifest

JOBS = 20
MODES = {Mode.PASSIVE_STANDBY: PASSIVE, Mode.UPSTREAM_BACKUP: UPSTREAM, Mode.ACTIVE_STANDBY: ACTIVE}
NOTES = (
    "Hwang's three approaches; upstream backup with watermarks forwarded, as precise recovery needs them.",
    "Rates 200 to 2000/s, windows of 50 to 300 ms of input, up to 12 of them open, ack intervals 20 to 100 ms, a "
    "checkpoint every 1 to 4 of those.",
    "The parameters of Hwang's Table 5 hold in both: 10 µs for a tuple and window, 16 Mbit/s, 5 ms, r = 40 ms.",
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
        ha = {"mode": "auto", "ackInterval": f"{self.ack}ms", "checkpoint": {"interval": f"{self.checkpoint}ms"}}
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
        drawn = Drawn.at(seed)
        label = f"{seed + 1}: {drawn.label}, acks {drawn.ack} ms, checkpoints {drawn.checkpoint} ms"
        progress(label)
        for mode, price in drawn.predicted().items():
            if mode in MODES:
                overhead, recovery = measure(drawn.setup(mode), max(runs // 2, 1))
                found.add(label, mode, OVERHEAD, 100 * price.bandwidth_overhead, overhead)
                found.add(label, mode, RECOVERY, price.recovery.total_seconds() * 1_000, recovery)
    judge(found)
    return found


def judge(found: Experiment) -> None:
    for metric, most in ((OVERHEAD, 0.10), (RECOVERY, 0.15)):
        modes = [m for m in MODES if (m, metric) != (Mode.ACTIVE_STANDBY, RECOVERY)]
        errors = [abs(c.ratio - 1) for c in found.cells if c.metric == metric and c.ratio and c.column in modes]
        found.check(f"{metric}: the median error of the prediction is below {most:.0%}", median(errors) < most)
        found.notes.append(
            f"{metric}: error of the prediction {fmean(errors):.1%} on average, median {median(errors):.1%}, worst "
            f"{max(errors):.1%}{' (without active standby, which takes a millisecond)' if metric == RECOVERY else ''}."
        )
    agreed = [_cheapest(found, row, "paper") == _cheapest(found, row, "measured") for row in _rows(found)]
    found.check("the cheapest mode is the same in prediction and simulation", sum(agreed) >= 0.9 * len(agreed))
    quickest = all(_quickest(found, row) == Mode.ACTIVE_STANDBY for row in _rows(found))
    found.check("active standby recovers first, as predicted", quickest)


def _rows(found: Experiment) -> Sequence[str]:
    return list(dict.fromkeys(c.row for c in found.cells))


def _cheapest(found: Experiment, row: str, what: str) -> str:
    cells = [c for c in found.cells if (c.row, c.metric) == (row, OVERHEAD)]
    return min(cells, key=lambda c: float(getattr(c, what))).column


def _quickest(found: Experiment, row: str) -> str:
    return min((c for c in found.cells if (c.row, c.metric) == (row, RECOVERY)), key=lambda c: c.measured).column
