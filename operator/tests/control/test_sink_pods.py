"""When a sink is given up, and where it is made again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from understudy.control.intents import CreateSink
from understudy.control.observed import Pod, Seen

from .jobs import job
from .world import World

SINK = "demo-sink-out"


@pytest.fixture
def started() -> World:
    """A job that runs, with an instance on the node of its sink."""
    world = World(job()).run_for(30)
    assert world.is_true("Protected")
    assert neighbours(world)
    return world


def neighbours(world: World) -> list[Pod]:
    return [pod for pod in world.pods.values() if pod.node == world.pods[SINK].node and pod.name != SINK]


def silence(world: World, node: str) -> None:
    """The node is lost, and Kubernetes does not know yet."""
    world.silent |= {pod.name for pod in world.pods.values() if pod.node == node}


def made(world: World) -> CreateSink:
    return [intent for intent in world.history if isinstance(intent, CreateSink)][-1]


def node_of_sink(world: World) -> str:
    node = world.pods[SINK].node
    assert node is not None
    return node


def test_a_sink_is_made_again_on_another_node_when_no_pod_on_its_node_answers(started: World) -> None:
    node = node_of_sink(started)
    silence(started, node)
    started.run_for(7)
    assert started.pods[SINK].node == node, "a few seconds prove nothing"
    started.run_for(5)
    assert started.pods[SINK].node != node
    assert (made(started).avoid, made(started).life) == (frozenset({node}), 2)


def test_a_silent_sink_whose_neighbours_answer_is_given_more_time(started: World) -> None:
    started.silent.add(SINK)
    started.run_for(25)
    assert made(started).life == 1
    started.run_for(10)
    assert made(started).life == 2


def test_a_sink_beside_one_that_answers_is_given_more_time(started: World) -> None:
    """Two processes hang, and the node does not."""
    silence(started, node_of_sink(started))
    started.elsewhere[node_of_sink(started)] = Seen(started.pages[SINK].page, started.now_ms)
    started.run_for(25)
    assert made(started).life == 1


def test_pods_of_other_jobs_tell_of_a_node_where_a_sink_is_alone(started: World) -> None:
    node = node_of_sink(started)
    started.nodes = [replace(n, schedulable=n.name != node) for n in started.nodes]
    for pod in neighbours(started):
        started.kill(pod.name)
    silence(started, node)
    started.elsewhere[node] = Seen(started.pages[SINK].page, started.now_ms, silent=True)
    started.run_for(12)
    assert made(started).life == 2


def test_an_instance_on_a_silent_node_is_not_removed_at_once(started: World) -> None:
    beside = neighbours(started)[0]
    silence(started, node_of_sink(started))
    started.run_for(12)
    assert beside.name in started.pods


def test_a_plan_that_is_cut_after_the_removal_is_made_up_for(started: World) -> None:
    silence(started, node_of_sink(started))
    for _ in range(12):
        started.tick()
        started.reconcile(cut=1)
    started.run_for(5)
    assert SINK in started.pods
    assert made(started).life == started.lives["out"]
