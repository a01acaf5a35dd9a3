"""A primary and a sink of its stream are lost together, in random jobs."""

from __future__ import annotations

import pytest

from understudy.backends.simulation.absence import run_with_absence

SEEDS = 40


@pytest.mark.parametrize("mode", ["amnesia", "upstreamBackup", "activeStandby"])
def test_no_promise_is_broken_when_a_sink_is_away_during_a_take_over(mode: str) -> None:
    found = {seed: run_with_absence(seed, only=mode).problems for seed in range(SEEDS)}
    assert {seed: problems for seed, problems in found.items() if problems} == {}


@pytest.mark.parametrize("mode", ["amnesia", "upstreamBackup"])
def test_the_other_consumers_are_served_while_the_sink_is_away(mode: str) -> None:
    """In these jobs somebody else reads the stream."""
    stories = [run_with_absence(seed, only=mode, tell=True).history for seed in range(SEEDS)]
    served = [line for story in stories for line in story if "does not wait for" in line]
    assert len(served) > 3
