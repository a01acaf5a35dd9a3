"""The page of `kubectl understudy status` answers one question first: is it safe now?"""

from __future__ import annotations

from typing import Any

import pytest

from understudy.cli.pages import AWAY_MS, incident_table, status_page
from understudy.cli.terminal import Part, plain
from understudy.control.job_status import OLDEST_MS
from understudy.control.times import millis
from understudy.kubernetes.reconcile import CALMEST_SECONDS
from understudy.model.refusal import Refusal

from ..control.jobs import job
from ..control.world import World


def parts_of(world: World) -> tuple[tuple[Part, ...], bool]:
    body = {"metadata": {"name": "demo", "namespace": "apps"}, "status": world.status}
    incidents = [
        {"metadata": {"creationTimestamp": i.created_ms}, "spec": i.spec, "status": i.status}
        for i in world.incidents.values()
    ]
    page = status_page(body, incidents, world.now_ms)
    return page.parts, page.safe


def page_of(world: World) -> tuple[str, bool]:
    parts, safe = parts_of(world)
    return plain(*parts), safe


def test_a_job_with_all_its_standbys_is_safe() -> None:
    text, safe = page_of(World(job()).run_for(30))
    assert safe
    assert text.startswith("apps/demo: SAFE. Every standby is ready to take over.")
    assert "demo-keep-0 on n" in text
    assert "no volume: the files die with the pod" in text


def test_the_text_of_a_late_sink_says_by_how_much_and_for_how_long() -> None:
    text, _ = page_of(World(job(), behind={"out": (40_000, 3_200)}).run_for(40))
    assert "40,000 tuples, 3.2 s" in text


def test_a_job_that_lost_a_standby_is_at_risk_and_says_where() -> None:
    world = World(job()).run_for(30)
    world.kill(world.standby("keep"))
    world.run_for(2)
    text, safe = page_of(world)
    assert not safe
    assert "AT RISK. Output flows, but no standby" in text
    assert "keep" in text.splitlines()[0]


def test_a_job_that_starts_is_not_ready() -> None:
    text, safe = page_of(World(job()).run_for(3))
    assert not safe
    assert "NOT READY. The stream has not started yet" in text


def test_a_refused_job_says_why() -> None:
    text, safe = page_of(World((Refusal("X", "spec", "spec.sources: nothing is called tocks"),)).run_for(1))
    assert not safe
    assert text == "apps/demo: REFUSED. spec.sources: nothing is called tocks"


def test_a_refused_edit_is_mentioned_while_the_job_is_safe() -> None:
    world = World(job()).run_for(30)
    world.edit((Refusal("X", "spec", "spec.sources: nothing is called tocks"),)).run_for(2)
    text, safe = page_of(world)
    assert safe
    assert "The newest edit was refused: spec.sources: nothing is called tocks" in text


def test_a_failover_is_shown_with_its_figures() -> None:
    world = World(job()).run_for(30)
    world.kill(world.primary("keep"))
    world.run_for(30)
    text, safe = page_of(world)
    assert safe
    assert "demo-keep-0 → demo-keep-1" in text
    assert "0.70 s" in text


def test_a_lost_standby_and_a_lost_sink_are_named_as_such() -> None:
    world = World(job()).run_for(30)
    lost = world.standby("keep")
    world.kill(lost)
    world.kill("demo-sink-out")
    world.run_for(30)
    text, _ = page_of(world)
    assert f"{lost} (secondary)" in text
    assert "demo-sink-out (sink)" in text
    assert "→" not in text


def test_a_job_that_was_not_observed_yet_is_not_called_safe() -> None:
    body: dict[str, Any] = {"metadata": {"name": "demo", "namespace": "apps"}}
    page = status_page(body, [], 0)
    assert not page.safe
    assert "is it running?" in plain(*page.parts)


def test_a_status_is_never_so_old_while_the_operator_works_that_it_is_doubted() -> None:
    """However many jobs there are: the first look after its limit writes it."""
    assert OLDEST_MS + 1_000 * CALMEST_SECONDS < AWAY_MS


@pytest.mark.parametrize(("old_ms", "is_known"), [(120_000, True), (179_000, True), (180_000, False)])
def test_a_status_that_the_operator_does_not_confirm_any_more_is_not_called_safe(
    old_ms: int, is_known: bool
) -> None:
    world = World(job()).run_for(30)
    measured = millis(world.status["measuredAt"])
    assert measured is not None
    body = {"metadata": {"name": "demo", "namespace": "apps"}, "status": world.status}
    page = status_page(body, [], measured + old_ms)
    assert page.safe is is_known
    assert ("SAFE" in plain(*page.parts)) is is_known
    assert ("has not looked at it for 180 s" in plain(*page.parts)) is not is_known


def test_a_job_that_has_completed_stays_so_without_an_operator() -> None:
    status = {"phase": "Completed", "measuredAt": "2026-11-18T10:00:00Z", "conditions": [{"type": "Ready"}]}
    metadata = {"name": "demo", "namespace": "apps"}
    now = millis("2026-11-19T10:00:00Z")
    assert now is not None
    assert status_page({"metadata": metadata, "status": status}, [], now).safe


def test_no_incidents_is_a_sentence() -> None:
    assert incident_table([]) == "No incidents."
