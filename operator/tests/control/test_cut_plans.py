"""The operator may die after any step. Whatever it had done, its successor gets to the same end.

Each scenario: bring a cluster into a state, cut the next plan (or the one three seconds later) after every
step, forget the operator, and go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from understudy.control.decide import decide, is_calm

from .jobs import job, with_query, with_settings, with_spark
from .world import World


@dataclass(frozen=True)
class Scenario:
    name: str
    prepare: Callable[[World], object]


def kill_primary(world: World) -> None:
    world.kill(world.primary("keep"))


def kill_both(world: World) -> None:
    for pod in world.live("keep"):
        world.kill(pod.name)


def lose_a_node(world: World) -> None:
    node = world.pods[world.primary("keep")].node
    assert node is not None
    world.lose_node(node)


SCENARIOS = [
    Scenario("a primary is killed", kill_primary),
    Scenario("a standby is killed", lambda w: w.kill(w.standby("double"))),
    Scenario("both are killed", kill_both),
    Scenario("a sink is killed", lambda w: w.kill("demo-sink-out")),
    Scenario("a node is lost", lose_a_node),
    Scenario("settings change", lambda w: w.edit(with_settings(mode="passiveStandby", ackInterval="80ms"))),
    Scenario("resources change", lambda w: w.edit(with_spark(driver={"memory": "2Gi"}))),
    Scenario("the query changes", lambda w: w.edit(with_query("v > 3"))),
    Scenario("a Lease is deleted", lambda w: w.leases.pop("demo-keep")),
]


def assert_goal(world: World) -> None:
    """Everything that a running job should have, once."""
    assert world.is_true("Ready"), world.status
    assert world.is_true("Protected"), world.status
    for subjob in ("keep", "double"):
        assert len(world.live(subjob)) == 2
        assert len({pod.node for pod in world.live(subjob)}) == 2
    assert set(world.services) == set(world.leases) == {"demo-keep", "demo-double"}
    assert set(world.jobs) >= {pod.revision for pod in world.pods.values()}
    assert len(world.used) == len(set(world.used))


def run_until_settled(world: World, most: int = 90) -> None:
    """Until nothing has been decided for a while."""
    quiet = 0
    for _ in range(most):
        world.tick()
        plan = world.reconcile()
        quiet = quiet + 1 if is_calm(world.observe(), plan) else 0
        if quiet > 5:
            return


def cut_everywhere(world: World, delay: int) -> Iterator[World]:
    """What becomes of each."""
    world.run_for(delay)
    world.tick()
    plan = decide(world.observe())
    for cut in range(len(plan) + 1):
        other = world.fork()
        other.apply(plan[:cut])
        run_until_settled(other)
        assert_goal(other)
        yield other


@pytest.mark.parametrize("delay", [0, 3, 8, 12, 20])
def test_a_cut_start_reaches_the_goal(delay: int) -> None:
    assert list(cut_everywhere(World(job()), delay))


@pytest.mark.parametrize("delay", [0, 1, 3, 12])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_a_cut_plan_reaches_the_goal(scenario: Scenario, delay: int) -> None:
    world = World(job()).run_for(30)
    assert_goal(world)
    scenario.prepare(world)
    assert list(cut_everywhere(world, delay))


def test_a_cut_end_completes() -> None:
    world = World(job()).run_for(30)
    world.finish_sinks()
    for _ in range(3):
        plan = decide(world.observe())
        for cut in range(len(plan) + 1):
            other = world.fork()
            other.apply(plan[:cut])
            other.run_for(10)
            assert other.status["phase"] == "Completed"
            assert set(other.pods) == {"demo-sink-out"}
        world.apply(plan)
        world.tick()
