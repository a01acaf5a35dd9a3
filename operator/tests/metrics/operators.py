"""An operator whose decisions are carried out in a world of values, and whose metrics are scraped."""

from __future__ import annotations

from dataclasses import dataclass, field

from prometheus_client import generate_latest

from tests.control.world import World
from understudy.control.decide import decide
from understudy.kubernetes.metrics import OperatorMetrics

from .reading import Scrape, read


@dataclass
class Operator:
    world: World
    metrics: OperatorMetrics = field(default_factory=OperatorMetrics)

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
        return scrape(self.metrics)


def scrape(metrics: OperatorMetrics) -> Scrape:
    return read(generate_latest(metrics.registry).decode())
