"""What the status says of sinks: how far they are behind, and whether what they wrote survives their pod."""

from __future__ import annotations

from typing import Any

import pytest

from understudy.control.job_status import same_but_for_figures

from .jobs import job
from .world import World


def sink_of(world: World) -> dict[str, Any]:
    (found,) = world.status["sinks"]
    return dict(found)


def test_the_lag_of_a_sink_is_what_its_producer_says() -> None:
    world = World(job(), behind={"out": (40_000, 3_200)}).run_for(40)
    found = sink_of(world)
    assert (found["lag"], found["lagSeconds"]) == (40_000, 3.2)
    assert found["next"] == found["tuples"]


def test_the_lag_is_shown_while_the_sink_itself_does_not_answer() -> None:
    world = World(job(), behind={"out": (5, 100)}).run_for(30)
    world.silent.add("demo-sink-out")
    world.behind = {"out": (9_000, 8_000)}
    world.run_for(12)
    assert sink_of(world)["lag"] == 9_000


def test_an_unknown_lag_is_left_out() -> None:
    assert "lag" not in sink_of(World(job()).run_for(30))


def test_a_lag_that_changes_is_no_reason_to_write_the_status_at_once() -> None:
    world = World(job(), behind={"out": (5, 100)}).run_for(30)
    before = world.status
    found = sink_of(world)
    assert same_but_for_figures(
        before, {**before, "sinks": [{**found, "lag": 6, "lagSeconds": 0.2, "next": 7}]}
    )


@pytest.mark.parametrize(
    ("volume", "durable"),
    [
        (None, False),
        ({"emptyDir": {}}, False),
        ({"emptyDir": {"medium": "Memory"}}, False),
        ({"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}, False),
        ({"csi": {"driver": "inline.example"}}, False),
        ({"persistentVolumeClaim": {"claimName": "c"}}, True),
        ({"hostPath": {"path": "/srv/out"}}, True),
        ({"nfs": {"server": "n", "path": "/"}}, True),
    ],
)
def test_a_volume_that_is_removed_with_the_pod_is_not_durable(
    volume: dict[str, Any] | None, durable: bool
) -> None:
    files = {"path": "out"} | ({"volume": volume} if volume is not None else {})
    world = World(job(sinks=[{"name": "out", "input": "double", "files": files}])).run_for(30)
    found = sink_of(world)
    assert found["durable"] is durable
    assert ("the files die with the pod" in found.get("note", "")) is not durable
