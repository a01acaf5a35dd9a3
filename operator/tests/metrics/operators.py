"""An operator whose decisions are carried out in a world of values, and whose metrics are scraped."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import generate_latest

from tests.control.world import World
from understudy.control.decide import decide
from understudy.kubernetes.metrics import FIRST_MS, OperatorMetrics
from understudy.protocol.ids import Millis

from .reading import Scrape, read


class Clock:
    """Minutes pass between two scrapes: a new series has shown its zero by then."""

    def __init__(self) -> None:
        self._now = 0

    def __call__(self) -> Millis:
        return Millis(self._now)

    def pass_a_minute(self) -> None:
        self._now += FIRST_MS


class Operator:
    def __init__(self, world: World, leads: Callable[[], bool] = lambda: True) -> None:
        self.world, self.clock = world, Clock()
        self.metrics = OperatorMetrics(leads, self.clock)

    def look(self) -> None:
        """One look, as `Reconciler` takes it."""
        seen = self.world.observe()
        plan = decide(seen)
        for intent in plan:
            self.world.apply([intent])
            self.metrics.did(seen, intent)
        self.metrics.looked(seen, plan)

    def run_for(self, seconds: int) -> Operator:
        for _ in range(seconds):
            self.look()
            self.world.tick()
        return self

    def scraped(self) -> Scrape:
        self.clock.pass_a_minute()
        return scrape(self.metrics)


def scrape(metrics: OperatorMetrics) -> Scrape:
    return read(generate_latest(metrics.registry).decode())
