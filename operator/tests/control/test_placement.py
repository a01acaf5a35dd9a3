"""Replacements go to the nearest node that can take them (CLEA), and the event says why."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from understudy.control.intents import CreateInstance, Emit
from understudy.control.observed import Node, Observed, Placement

from .jobs import job
from .world import World


class Measured(World):
    """Four nodes: n1 and n2 are close to each other, n3 is near them, n4 far away."""

    placement = Placement.LATENCY
    unmeasured: frozenset[str] = frozenset()

    def observe(self) -> Observed:
        at = {"n1": 0.0, "n2": 1.0, "n3": 5.0, "n4": 50.0}
        known = {
            (one, other): abs(at[one] - at[other]) + 0.5
            for one in at
            for other in at
            if one != other and not {one, other} & self.unmeasured
        }
        return replace(super().observe(), placement=self.placement, distances=known)


def replacement(world: World) -> tuple[CreateInstance, str]:
    """What is made for the primary of `keep`, which is killed."""
    world.kill(world.primary("keep"))
    before = len(world.history)
    world.run_for(20)
    made = next(i for i in world.history[before:] if isinstance(i, CreateInstance))
    said = next(i.why for i in world.history[before:] if isinstance(i, Emit) and made.name in i.why)
    return made, said


@pytest.fixture
def world() -> Measured:
    return Measured(job(), nodes=[Node(name) for name in ("n1", "n2", "n3", "n4")]).run_for(30)  # type: ignore[return-value]


def free_nodes(world: World) -> set[str]:
    """Where there is no instance of keep, once its primary is gone."""
    peer = world.pods[world.standby("keep")].node
    return {node.name for node in world.nodes} - {peer}


def test_the_nearest_free_node_is_elected_and_the_event_gives_the_figures(world: Measured) -> None:
    free = free_nodes(world)
    made, said = replacement(world)
    assert f"on {made.prefer}, the nearest to" in said
    means = {node: float(mean) for node, mean in re.findall(r"(n\d) ([\d.]+) ms", said)}
    assert set(means) == free
    assert made.prefer == min(means, key=lambda node: means[node])


def test_a_node_without_measurements_is_not_elected_and_without_any_measurements_no_node_is(
    world: Measured,
) -> None:
    world.unmeasured = frozenset({"n1", "n2", "n3", "n4"})
    made, said = replacement(world)
    assert made.prefer is None
    assert "no free one was measured" in said


def test_lots_can_be_drawn_instead(world: Measured) -> None:
    world.placement = Placement.RANDOM
    free = free_nodes(world)
    made, said = replacement(world)
    assert made.prefer in free
    assert "drawn by lot" in said


def test_it_can_be_left_to_the_scheduler(world: Measured) -> None:
    world.placement = Placement.SCHEDULER
    made, _ = replacement(world)
    assert made.prefer is None
