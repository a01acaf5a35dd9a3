"""Subjobs that no node can take, on a model of the cluster."""

from __future__ import annotations

from typing import Any

from understudy.control import intents as do
from understudy.model.job import StreamJob

from .jobs import job, manifest
from .world import World

TEMPLATE = {"spec": {"template": {"spec": {"containers": [{"name": "tell", "image": "tell"}]}}}}


def with_failure(**on_permanent_failure: Any) -> StreamJob:
    keep, double = manifest()["spec"]["subjobs"]
    keep = {**keep, "ha": {"onPermanentFailure": on_permanent_failure}}
    coarse = {
        **keep,
        "name": "coarse",
        "ha": {"mode": "amnesia"},
        "operators": [{"filter": {"where": "v > 5"}}],
    }
    return job(subjobs=[keep, double, *([coarse] if "alternative" in on_permanent_failure else [])])


def lost(wanted: StreamJob) -> World:
    """A job that ran, whose first subjob then finds no place any more."""
    world = World(wanted).run_for(30)
    assert world.is_true("Protected")
    world.no_room_for = {"keep"}
    for pod in world.live("keep"):
        world.kill(pod.name)
    return world


def test_the_alternative_branch_is_not_started_before_it_is_needed() -> None:
    world = World(with_failure(alternative="coarse")).run_for(30)
    assert {pod.part for pod in world.pods.values()} == {"keep", "double", "out"}


def test_the_alternative_stands_in_if_no_node_has_room_for_a_long_time() -> None:
    world = lost(with_failure(alternative="coarse")).run_for(120)
    assert not world.failed, "a node may still come"
    world.run_for(120)
    assert set(world.failed) == {"keep"}
    assert [world.told[pod.name].mode for pod in world.live("keep")] == ["amnesia"]
    assert world.is_true("Ready")
    assert {pod.name for pod in world.live("double")} == {"demo-double-0", "demo-double-1"}


def test_the_subjob_comes_back_when_there_is_room_for_all_its_instances() -> None:
    world = lost(with_failure(alternative="coarse")).run_for(300)
    assert world.failed
    assert {trial.subjob for trial in world.trials.values()} == {"keep"}
    assert len(world.trials) == 2
    assert world.condition("Degraded")["reason"] == "StoodIn"
    world.no_room_for = set()
    world.run_for(60)
    assert not world.failed
    assert not world.trials, "they make way"
    assert [world.told[pod.name].mode for pod in world.live("keep")] == ["passiveStandby"] * 2
    assert world.is_true("Protected")


def frugal(**on_permanent_failure: Any) -> StreamJob:
    """The one that stands in computes the same with less memory."""
    keep, double = manifest()["spec"]["subjobs"]
    small = {**keep, "name": "small", "spark": {"driver": {"memory": "512Mi"}}}
    keep = {**keep, "ha": {"onPermanentFailure": {"alternative": "small", **on_permanent_failure}}}
    return job(subjobs=[keep, double, small])


def test_an_alternative_with_smaller_requests_stands_in_and_leaves_by_take_overs() -> None:
    world = lost(frugal()).run_for(280)
    assert set(world.failed) == {"keep"}
    assert world.is_true("Protected")
    small = {pod.name for pod in world.live("keep")}
    world.no_room_for = set()
    world.run_for(5)
    assert small & {pod.name for pod in world.live("keep")}, "one after the other"
    assert world.is_true("Ready")
    world.run_for(60)
    assert not world.failed
    assert world.is_true("Protected")
    assert not small & {pod.name for pod in world.live("keep")}


def test_how_long_is_for_good_is_said_by_the_manifest() -> None:
    world = lost(frugal(after="40s")).run_for(90)
    assert set(world.failed) == {"keep"}


def test_the_failure_process_is_run_once() -> None:
    world = lost(with_failure(process={"jobTemplate": TEMPLATE})).run_for(400)
    assert world.processes == {"demo-keep-failed-1": TEMPLATE}
    assert sum(isinstance(intent, do.RunProcess) for intent in world.history) == 1


def test_without_a_declaration_nothing_is_made_up() -> None:
    world = lost(job()).run_for(400)
    assert (world.failed, world.processes) == ({}, {})
