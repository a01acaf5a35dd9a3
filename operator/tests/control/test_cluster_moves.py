"""Planned moves in a whole cluster: whoever orders one, it ends with a protected primary at its new place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from understudy.control import intents as do
from understudy.control.decide import decide
from understudy.control.observed import Order
from understudy.protocol.move_limits import LIMIT_MS, too_late

from .jobs import job
from .test_cut_plans import assert_goal, cut_everywhere, run_until_settled
from .world import World


def running() -> World:
    world = World(job()).run_for(30)
    assert_goal(world)
    return world


def free_node(world: World) -> str:
    taken = {pod.node for pod in world.live("keep")}
    return next(node.name for node in world.nodes if node.name not in taken)


def cordon(world: World, name: str | None) -> None:
    world.nodes = [replace(n, schedulable=False, cordoned=True) if n.name == name else n for n in world.nodes]


def test_a_switchover_makes_the_standby_primary() -> None:
    world = running()
    before, standby = world.primary("keep"), world.standby("keep")
    world.orders["keep"] = Order()
    world.run_for(10)
    assert (world.primary("keep"), world.standby("keep")) == (standby, before)
    assert world.orders == {}
    last = world.subjob("keep")["lastMove"]
    assert (last["from"], last["to"], last["succeeded"], last["movedBytes"], last["lost"]) == (
        before,
        standby,
        True,
        42,
        0,
    )
    assert last["pauseSeconds"] == 0.3
    assert {"MoveStarted", "Moved"} <= set(world.reasons())
    assert world.incidents == {}
    assert_goal(world)


def test_a_move_to_a_node_makes_a_new_instance_there_before_the_standby_goes() -> None:
    world = running()
    node, before = free_node(world), world.primary("keep")
    world.orders["keep"] = Order(node, "mig")
    for _ in range(30):
        world.tick()
        world.reconcile()
        assert any(world.ready(pod) for pod in world.live("keep") if pod.name != world.primary("keep"))
    assert world.pods[world.primary("keep")].node == node
    assert world.standby("keep") == before
    assert world.subjob("keep")["lastMove"]["migration"] == "mig"
    assert_goal(world)


@pytest.mark.parametrize("where", ["nowhere", "here", "cordoned"])
def test_a_move_that_is_not_possible_is_refused_with_a_reason(where: str) -> None:
    world = running()
    here = world.pods[world.primary("keep")].node
    node = {"nowhere": "n9", "here": here, "cordoned": free_node(world)}[where]
    if where == "cordoned":
        cordon(world, node)
    world.orders["keep"] = Order(node, "mig")
    world.run_for(3)
    last = world.subjob("keep")["lastMove"]
    assert (last["succeeded"], last["migration"], world.orders) == (False, "mig", {})
    assert str(node) in last["message"]


def test_a_switchover_without_a_standby_is_refused() -> None:
    world = running()
    world.kill(world.standby("keep"))
    world.orders["keep"] = Order()
    world.run_for(2)
    assert not world.subjob("keep")["lastMove"]["succeeded"]


def test_a_primary_leaves_a_cordoned_node_and_nothing_is_placed_there() -> None:
    world = running()
    node, standby = world.pods[world.primary("keep")].node, world.standby("keep")
    cordon(world, node)
    world.run_for(10)
    assert world.primary("keep") == standby
    assert "cordoned" in world.subjob("keep")["lastMove"]["why"]
    world.kill(world.standby("keep"))  # as the eviction does
    world.run_for(30)
    assert node not in {pod.node for pod in world.live("keep")}
    assert_goal(world)


def test_where_the_standby_is_on_a_cordoned_node_too_a_new_instance_is_made() -> None:
    world = running()
    for pod in world.live("keep"):
        cordon(world, pod.node)
    free = free_node(world)
    world.run_for(40)
    assert world.pods[world.primary("keep")].node == free


def test_a_target_that_is_lost_ends_the_move() -> None:
    world = running()
    before = world.primary("keep")
    world.orders["keep"] = Order(free_node(world))
    world.run_for(2)
    world.kill(max(world.live("keep"), key=lambda pod: pod.created_ms).name)
    run_until_settled(world)
    assert world.primary("keep") == before
    assert "is lost" in world.subjob("keep")["lastMove"]["message"]
    assert_goal(world)


@pytest.mark.parametrize("delay", range(1, 8))
def test_a_move_goes_on_from_a_new_primary_that_took_over_on_the_way(delay: int) -> None:
    world = running()
    before, standby, node = world.primary("keep"), world.standby("keep"), free_node(world)
    world.orders["keep"] = Order(node, "mig")
    world.run_for(delay)
    world.kill(before)
    run_until_settled(world)
    last = world.subjob("keep")["lastMove"]
    assert (last["succeeded"], last["migration"], last["from"]) == (True, "mig", standby)
    assert world.pods[world.primary("keep")].node == node
    assert_goal(world)


def test_a_primary_that_left_its_cordoned_node_by_a_take_over_need_not_move() -> None:
    world = running()
    before, nodes = world.primary("keep"), world.nodes
    for pod in world.live("keep"):
        cordon(world, pod.node)
    world.run_for(3)
    world.nodes = nodes
    world.kill(before)
    run_until_settled(world)
    assert "took over meanwhile" in world.subjob("keep")["lastMove"]["message"]


@pytest.mark.parametrize("delay", range(14))
def test_an_operator_that_dies_anywhere_leaves_a_move_that_its_successor_ends(delay: int) -> None:
    world = running()
    node, used = free_node(world), len(world.used)
    world.orders["keep"] = Order(node, "mig")
    for other in cut_everywhere(world, delay):
        assert other.pods[other.primary("keep")].node == node
        last = other.subjob("keep")["lastMove"]
        assert (last["migration"], last["succeeded"]) == ("mig", True)
        assert len(other.used) == used + 1, "one target was made"


@pytest.mark.parametrize("delay", range(0, 14, 2))
def test_an_operator_that_dies_anywhere_leaves_a_node_that_its_successor_empties(delay: int) -> None:
    world = running()
    node, used = free_node(world), len(world.used)
    for pod in world.live("keep"):
        cordon(world, pod.node)
    for other in cut_everywhere(world, delay):
        assert other.pods[other.primary("keep")].node == node
        made = {name for name in other.used[used:] if "keep" in name}
        assert len(made) == 1, "one target was made"


def test_an_overloaded_primary_moves_to_its_standby_and_leaves_an_incident() -> None:
    world = running()
    before, standby = world.primary("keep"), world.standby("keep")
    world.overloads[before] = "the processor was withheld for 80 %"
    world.run_for(10)
    assert (world.primary("keep"), world.standby("keep")) == (standby, before)
    (incident,) = world.incidents.values()
    assert (incident.spec["class"], incident.spec["from"]) == ("resource", before)
    assert "withheld" in incident.spec["cause"]
    world.overloads[standby] = "the backlog grows"
    world.run_for(20)
    assert world.primary("keep") == standby, "it has only just moved"


def stuck(world: World) -> tuple[str, str]:
    """The subjob is to move to a new instance that is never ready."""
    before = world.primary("keep")
    world.orders["keep"] = Order(free_node(world), "mig")
    world.run_for(2)
    target = max(world.live("keep"), key=lambda pod: pod.created_ms).name
    world.silent.add(target)
    return before, target


def name_successor(world: World, name: str | None) -> None:
    world.leases["demo-keep"] = replace(world.leases["demo-keep"], successor=name)


def test_a_late_move_is_taken_out_of_the_lease_before_it_is_reported_as_failed() -> None:
    world = running()
    before, target = stuck(world)
    name_successor(world, target)
    world.tick(LIMIT_MS)
    plan = decide(world.observe())
    assert do.WithdrawSuccessor in {type(intent) for intent in plan}
    assert "MoveFailed" not in {str(intent.reason) for intent in plan if isinstance(intent, do.Emit)}
    world.apply(plan)
    assert world.leases["demo-keep"].successor is None
    world.silent.discard(target)
    world.run_for(60)
    assert world.primary("keep") == before, "it was given up"
    last = world.subjob("keep")["lastMove"]
    assert (last["succeeded"], last["migration"]) == (False, "mig")
    assert too_late() in last["message"]
    assert_goal(world)


def test_a_move_that_takes_place_while_it_is_given_up_is_done() -> None:
    world = running()
    _, target = stuck(world)
    name_successor(world, target)
    world.tick(LIMIT_MS)
    plan = decide(world.observe())
    world.silent.discard(target)
    world.leases["demo-keep"] = replace(world.leases["demo-keep"], holder=target, epoch=2, successor=None)
    world.apply(plan)
    run_until_settled(world)
    assert world.primary("keep") == target
    assert world.subjob("keep")["lastMove"]["succeeded"]


def test_an_operator_that_dies_while_it_gives_up_leaves_a_move_that_its_successor_gives_up() -> None:
    world = running()
    before, target = stuck(world)
    name_successor(world, target)
    world.tick(LIMIT_MS)
    for cut in range(len(decide(world.observe())) + 1):
        other = world.fork()
        other.reconcile(cut)
        run_until_settled(other)
        assert other.primary("keep") == before
        assert too_late() in other.subjob("keep")["lastMove"]["message"]
