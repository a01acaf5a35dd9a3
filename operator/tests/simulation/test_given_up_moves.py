"""Moves that are given up at every moment: what was reported as failed never takes place, and no tuple is
harmed."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from understudy_lab.exploration.fault import Fault
from understudy_lab.exploration.fault_schedules import ORDERS, Outcome, run
from understudy_lab.exploration.networks import Cores, draw
from understudy_lab.simulation.world import MS

MODES = ("passiveStandby", "activeStandby", "upstreamBackup", "amnesia")
SEEDS = range(3)
MOMENTS = range(2, 400, 57)  # milliseconds after which it is given up


def given_up(seed: int, mode: str, kind: str, after: int) -> Outcome:
    job = draw(random.Random(seed), Cores(), mode)
    last = max(s.lasts for s in job.sources)
    faults = [Fault(last // 3, kind, subjob.name, after * MS, False) for subjob in job.subjobs]
    return run(seed, only=mode, faults=faults, tell=True)


@pytest.mark.parametrize("kind", ORDERS)
@pytest.mark.parametrize("mode", MODES)
def test_a_move_that_was_given_up_never_takes_place(mode: str, kind: str) -> None:
    ends = Counter[str]()
    for seed in SEEDS:
        for after in MOMENTS:
            outcome = given_up(seed, mode, kind, after + seed)
            assert outcome.problems == [], "\n".join([str(seed), str(after + seed), *outcome.history])
            ends.update(str(end).partition(":")[0] for end in outcome.moves)
    assert ends["failed"] > 0
    assert ends["done"] > 0
