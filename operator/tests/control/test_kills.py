"""Instances that are OOM-killed at the same place: a poison plan shows as Degraded, and survives the pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from understudy.control.kills import Counted
from understudy.control.observed import Seen
from understudy.protocol.statuspage import Input, InstancePage

from .jobs import job
from .world import World, take_over

POISON = {"ticks": (1_200, 1_250)}


@pytest.fixture
def world() -> World:
    found = World(job()).run_for(30)
    for pod in list(found.pods.values()):
        found.pods[pod.name] = replace(pod, memory_limit="1408Mi")
    return found


def dies(world: World, pod: str, inputs: Mapping[str, tuple[int, int]]) -> None:
    """Its page said this last, and does not answer any more."""
    kept = world.pages[pod].page
    assert isinstance(kept, InstancePage)
    last = replace(kept, inputs={name: Input(*at) for name, at in inputs.items()})
    world.pages[pod] = Seen(last, world.now_ms, silent=True)


def kill(
    world: World, pod: str, inputs: Mapping[str, tuple[int, int]], caught_up: bool, why: str = "OOMKilled"
) -> None:
    """The kernel does it, while the pod leads; then the operator looks twice: it counts, and then it
    tells."""
    story = take_over("demo-keep-9", world.now_ms)
    world.taken[pod] = story if caught_up else {**story, "caughtUpMs": None}
    world.tick()
    dies(world, pod, inputs)
    world.crash(pod, why)
    for _ in range(2):
        world.reconcile()


def lead(world: World, pod: str) -> None:
    lease = world.leases["demo-keep"]
    world.leases["demo-keep"] = replace(lease, holder=pod, epoch=lease.epoch + 1)


def kill_both(world: World) -> tuple[str, str]:
    """The primary, and the standby that takes over and comes to the same place."""
    first, second = world.primary("keep"), world.standby("keep")
    kill(world, first, POISON, caught_up=True)
    lead(world, second)
    kill(world, second, POISON, caught_up=False)
    return first, second


def test_a_primary_and_its_standby_that_are_killed_at_the_same_place_are_a_poison_plan(world: World) -> None:
    kill_both(world)
    condition = world.condition("Degraded")
    assert (condition["status"], condition["reason"]) == ("True", "PoisonPlan")
    said = condition["message"]
    for word in (
        "keep was OOM-killed 2 times at the same place",
        "ticks from 1200 to 1250",
        "1408Mi",
        "more memory",
    ):
        assert word in said


def test_one_kill_is_none(world: World) -> None:
    kill(world, world.primary("keep"), POISON, caught_up=True)
    assert world.condition("Degraded")["reason"] != "PoisonPlan"


def test_two_kills_at_different_places_are_none(world: World) -> None:
    """The one that took over had caught up: it got past what killed the first."""
    first, second = world.primary("keep"), world.standby("keep")
    kill(world, first, POISON, caught_up=True)
    lead(world, second)
    kill(world, second, {"ticks": (9_000, 9_050)}, caught_up=True)
    assert world.condition("Degraded")["reason"] != "PoisonPlan"


def test_other_deaths_are_none(world: World) -> None:
    first, second = world.primary("keep"), world.standby("keep")
    kill(world, first, POISON, caught_up=True, why="Error")
    lead(world, second)
    kill(world, second, POISON, caught_up=False, why="Error")
    assert world.condition("Degraded")["reason"] != "PoisonPlan"


def test_it_is_said_still_when_the_pods_are_others(world: World) -> None:
    before = set(kill_both(world))
    for name in before:
        world.kill(name)
    world.run_for(4)
    assert before.isdisjoint(pod.name for pod in world.live("keep"))
    assert "2 times" in world.condition("Degraded")["message"]


def test_a_death_is_counted_once_however_often_it_is_seen(world: World) -> None:
    kill_both(world)
    for _ in range(5):
        world.tick()
        world.reconcile()
    assert world.entries is not None
    assert Counted.of(world.entries["kills.keep"]).kills.count == 2


def test_it_is_over_when_an_instance_has_got_past_that_place(world: World) -> None:
    _, second = kill_both(world)
    world.taken[second] = take_over("demo-keep-0", world.now_ms)
    world.run_for(60)
    assert world.entries is not None
    assert Counted.of(world.entries["kills.keep"]).kills.count == 0
    assert world.condition("Degraded")["reason"] != "PoisonPlan"
