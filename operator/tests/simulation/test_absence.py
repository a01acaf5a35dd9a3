"""A primary and a sink of its stream are lost together, in random jobs."""

from __future__ import annotations

import pytest

from understudy.modes.amnesia import Amnesia
from understudy.modes.upstream_backup import UpstreamBackup
from understudy.protocol import events as on
from understudy.protocol.commands import Commands
from understudy_lab.exploration.absence import run_with_absence
from understudy_lab.exploration.networks import Cores

SEEDS = 40


class NeverBeginsAgain(UpstreamBackup):
    def late_consumer_differs(self, event: on.Subscribed) -> Commands:
        self.ledger = self.ledger.subscribed(event)
        return self.consumer_heard(event)


class CountsAlike(Amnesia):
    def late_consumer_differs(self, event: on.Subscribed) -> Commands:
        self.ledger = self.ledger.subscribed(event)
        return self.consumer_heard(event)


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


@pytest.mark.parametrize(
    ("mode", "cores", "seed"),
    [("upstreamBackup", Cores(upstream=NeverBeginsAgain), 173), ("amnesia", Cores(amnesia=CountsAlike), 18)],
)
def test_a_late_sink_that_is_not_given_what_is_its_own_is_noticed(mode: str, cores: Cores, seed: int) -> None:
    assert run_with_absence(seed, cores, mode).problems
    assert run_with_absence(seed, only=mode).problems == []
