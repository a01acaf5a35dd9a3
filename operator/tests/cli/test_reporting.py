"""The plugin's report has the facts of a local run's, as far as the cluster knows them."""

from __future__ import annotations

from typing import Any

from understudy.cli.reporting import parts, report_of
from understudy.cli.terminal import plain

from ..control.jobs import job
from ..control.world import World


def report() -> dict[str, Any]:
    world = World(job()).run_for(30)
    world.kill(world.primary("keep"))
    world.run_for(60)
    body = {"metadata": {"name": "demo"}, "status": world.status}
    incidents = [
        {"metadata": {"creationTimestamp": i.created_ms}, "spec": i.spec, "status": i.status}
        for i in world.incidents.values()
    ]
    return report_of(body, incidents)


def test_it_has_the_parts_of_a_local_report() -> None:
    found = report()
    assert list(found) == ["job", "sinks", "incidents", "migrations", "subjobs"]
    assert found["subjobs"]["keep"]["mode"] == "passiveStandby"
    assert set(found["sinks"]["out"]) == {"tuples", "lag", "lagSeconds"}


def test_an_incident_is_shown_step_by_step_from_the_last_sign_of_life() -> None:
    (incident,) = report()["incidents"]
    assert incident["subjob"] == "keep"
    assert 0 <= incident["detectedMs"] <= incident["promotedMs"] <= incident["firstOutputMs"]
    assert incident["lost"] == 0


def test_an_incident_says_what_failed() -> None:
    world = World(job()).run_for(30)
    world.kill(world.standby("keep"))
    world.kill("demo-sink-out")
    world.run_for(30)
    incidents = [
        {"metadata": {"creationTimestamp": i.created_ms}, "spec": i.spec, "status": i.status}
        for i in world.incidents.values()
    ]
    found = report_of({"metadata": {"name": "demo"}, "status": world.status}, incidents)
    assert {(i["subjob"], i["role"], i["sink"]) for i in found["incidents"]} == {
        ("keep", "secondary", None),
        ("double", "sink", "out"),
    }
    assert "demo: 2 incidents" in plain(*parts(found))


def test_the_text_has_a_row_for_each_and_says_what_is_unknown() -> None:
    unknown = {"job": "demo", "subjobs": {}, "sinks": {"out": {}}, "incidents": [], "migrations": []}
    assert plain(*parts(unknown)).splitlines()[-1].split() == ["out", *"---"]
    text = plain(*parts(report()))
    assert text.startswith("demo: 1 incident\n")
    assert "passiveStandby" in text
