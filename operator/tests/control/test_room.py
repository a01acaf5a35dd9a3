"""Pairs that had to share a node, on a model of the cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from understudy.control.intents import CreateTrial

from .jobs import job, with_spark
from .test_cut_plans import cut_everywhere
from .world import World


def cordon(world: World, *names: str) -> None:
    """Only for new pods: what is there stays, and nobody wants the nodes empty."""
    world.nodes = [replace(node, schedulable=node.name not in names) for node in world.nodes]


def crowded() -> World:
    """A pair on one node, because there was no other for a while; there is again."""
    world = World(job()).run_for(30)
    primary = world.pods[world.primary("keep")]
    cordon(world, *(node.name for node in world.nodes if node.name != primary.node))
    world.kill(world.standby("keep"))
    world.run_for(60)
    assert len({pod.node for pod in world.live("keep")}) == 1
    assert world.is_true("Protected")
    return world


def test_a_pair_that_shares_a_node_waits_for_no_room_where_no_other_node_can_be_used() -> None:
    world = crowded()
    assert not world.trials
    assert not world.is_true("Degraded"), "it cannot be helped"


def test_a_pair_that_shares_a_node_parts_when_another_can_take_the_standby() -> None:
    world = crowded()
    primary = world.primary("keep")
    cordon(world)
    world.run_for(40)
    assert len({pod.node for pod in world.live("keep")}) == 2
    assert world.primary("keep") == primary, "only the standby went"
    assert world.is_true("Protected")
    assert not world.trials


def test_a_standby_stays_beside_its_primary_while_the_other_nodes_have_no_room() -> None:
    world = crowded()
    both = {pod.name for pod in world.live("keep")}
    world.no_room_for = {"keep"}
    cordon(world)
    world.run_for(120)
    assert {pod.name for pod in world.live("keep")} == both
    assert len(world.trials) == 1
    assert sum(isinstance(intent, CreateTrial) for intent in world.history) == 1, "it waits where it is"
    assert world.condition("Degraded")["reason"] == "NodeShared"
    assert world.is_true("Protected")


def test_a_trial_asks_for_what_the_newest_edit_asks_for() -> None:
    world = crowded()
    world.no_room_for = {"keep"}
    cordon(world)
    (before,) = world.run_for(5).trials.values()
    world.edit(with_spark(driver={"memory": "3Gi"})).run_for(3)
    assert all(trial.asks != before.asks for trial in world.trials.values())


@pytest.mark.parametrize("delay", range(0, 6, 2))
def test_an_operator_that_dies_anywhere_leaves_a_pair_that_its_successor_parts(delay: int) -> None:
    world = crowded()
    cordon(world)
    for other in cut_everywhere(world, delay):
        assert len({pod.node for pod in other.live("keep")}) == 2
        assert not other.trials
