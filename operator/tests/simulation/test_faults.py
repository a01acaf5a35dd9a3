"""Exploration of faults, and whether it would notice."""

from __future__ import annotations

import os

import pytest

from tests.simulation.mistakes import MISTAKES, Mistake
from understudy.backends.simulation.exploration import explore, first_caught
from understudy.backends.simulation.faults import run

SEEDS = int(os.environ.get("UNDERSTUDY_SEEDS", "200"))  # `make explore` asks for thousands
PARTS = 4
# Those that a few seeds notice; all of them when thousands are asked for.
CHECKED = MISTAKES if SEEDS >= 2_000 else [m for m in MISTAKES if m.mode == "passiveStandby"][:8]


@pytest.mark.parametrize("part", range(PARTS))
def test_no_promise_is_broken(part: int) -> None:
    report = explore(part * SEEDS // PARTS, SEEDS // PARTS)
    assert not report.failures, report.text()


@pytest.mark.parametrize("mistake", CHECKED, ids=lambda m: m.says)
def test_a_mistake_is_caught_within_500_seeds(mistake: Mistake) -> None:
    found = first_caught(mistake.cores, 500, mistake.mode)
    assert found is not None, f"not noticed: {mistake.says}"


def test_a_seed_tells_the_same_story_twice() -> None:
    first, second = run(17, tell=True), run(17, tell=True)
    assert (first.history, first.problems, first.faults) == (second.history, second.problems, second.faults)
