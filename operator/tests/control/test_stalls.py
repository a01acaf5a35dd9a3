"""A process that lives, and does nothing: Spark in it hangs, or its disk does. Nobody calls that Ready or
Protected."""

from __future__ import annotations

import pytest

from understudy.cli.pages import status_page
from understudy.cli.terminal import plain
from understudy.control.intents import Emit

from .jobs import job
from .world import World

SINK = "demo-sink-out"
SYNC = "a sync of /output/part-00000.jsonl did not end within 10 s"
JVM = "the JVM did not answer for 3.1 s"


@pytest.fixture
def started() -> World:
    world = World(job()).run_for(30)
    assert world.is_true("Protected")
    return world


def told(world: World, reason: str) -> list[str]:
    return [i.why for i in world.history if isinstance(i, Emit) and i.reason == reason]


def test_a_stalled_sink_makes_the_job_not_ready_and_leaves_an_incident_and_an_event(started: World) -> None:
    started.stalled[SINK] = SYNC
    started.run_for(5)
    ready, degraded = started.condition("Ready"), started.condition("Degraded")
    assert (ready["status"], ready["reason"]) == ("False", "SinkStalled")
    assert ready["message"] == f"the disk of sink out: {SYNC}"
    assert (degraded["status"], degraded["reason"]) == ("True", "SinkStalled")
    assert [sink["state"] for sink in started.status["sinks"]] == ["Stalled"]
    assert told(started, "SinkStalled") == [f"{SINK}: its disk stands still: {SYNC}"]
    (incident,) = started.incidents.values()
    assert (incident.spec["role"], incident.spec["class"]) == ("sink", "temporary")
    assert incident.spec["cause"] == f"its disk stands still: {SYNC}"
    assert "reprotected" not in incident.status


def test_the_restart_of_a_stalled_sink_belongs_to_the_incident_of_its_stall(started: World) -> None:
    started.stalled[SINK] = SYNC
    started.run_for(5)
    started.stalled.clear()
    started.crash(SINK, "Error")
    started.run_for(10)
    (incident,) = started.incidents.values()
    assert "reprotected" in incident.status
    assert started.is_true("Ready")
    started.crash(SINK, "Error")
    started.run_for(10)
    assert len(started.incidents) == 2


def test_a_sink_that_stalls_again_later_leaves_another_incident(started: World) -> None:
    started.flowing = True
    for _ in range(2):
        started.stalled[SINK] = SYNC
        started.run_for(5)
        started.stalled.clear()
        started.run_for(5)
    assert len(started.incidents) == 2
    assert all("reprotected" in incident.status for incident in started.incidents.values())


def test_a_stalled_primary_does_not_count_as_serving(started: World) -> None:
    primary = started.primary("keep")
    started.stalled[primary] = JVM
    started.run_for(3)
    assert started.condition("Ready")["reason"] == "NoPrimary"
    assert not started.is_true("Protected")
    assert started.condition("Degraded")["reason"] == "EngineStalled"
    assert told(started, "EngineStalled") == [f"{primary}: Spark stands still: {JVM}"]


def test_a_stalled_standby_does_not_count_as_protection(started: World) -> None:
    started.stalled[started.standby("keep")] = JVM
    started.run_for(3)
    assert started.is_true("Ready")
    assert not started.is_true("Protected")
    assert started.condition("Degraded")["reason"] == "EngineStalled"


@pytest.mark.parametrize("role", ["primary", "standby", "sink"])
def test_the_status_is_not_called_safe_while_a_process_stands_still(started: World, role: str) -> None:
    victim = SINK if role == "sink" else getattr(started, role)("keep")
    started.stalled[victim] = JVM
    started.run_for(3)
    metadata = {"name": "demo", "namespace": "apps"}
    page = status_page({"metadata": metadata, "status": started.status}, (), started.now_ms)
    assert not page.safe
    assert "SAFE" not in plain(*page.parts)
