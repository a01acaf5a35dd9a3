"""What the console shows, without a browser."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.console.runs import COST, FAULT, running, telemonitoring, with_page, without
from tests.local.jobs import job
from understudy.console.look import counts_of, sinks_behind, view_of
from understudy.console.seen import JobSeen
from understudy.console.view import (
    ConsoleView,
    Edge,
    Node,
    Part,
    Safety,
    from_bytes,
    to_bytes,
    to_json,
)
from understudy.protocol.statuspage import Input, State


def node(view: ConsoleView, name: str) -> Node:
    return next(n for n in view.nodes if n.name == name)


def edge(view: ConsoleView, source: str, target: str) -> Edge:
    return next(e for e in view.edges if (e.source, e.target) == (source, target))


def test_a_job_whose_standbys_are_ready_is_safe() -> None:
    found = view_of(running()).verdict
    assert (found.safety, found.why) == (Safety.SAFE, "every standby is ready to take over")


@pytest.mark.parametrize(
    ("seen", "safety", "why"),
    [
        (
            with_page(running(), "beats-1", protected=False),
            Safety.AT_RISK,
            "output flows, but no standby is ready to take over beats",
        ),
        (without(running(), "beats-1"), Safety.DOWN, "no primary serves beats"),
        (without(running(), "sink-alerts"), Safety.DOWN, "sink alerts is not running"),
        (
            with_page(running(), "correlate-0", state=State.STALLED, error="its JVM is stopped"),
            Safety.DOWN,
            "no primary serves correlate: its JVM is stopped",
        ),
        (
            with_page(running(), "pressures-0", inputs={"pressure": Input(fault="no such topic")}),
            Safety.AT_RISK,
            "output flows, but pressure is not read: no such topic",
        ),
        (
            replace(without(running(), "beats-1"), started_ms=None),
            Safety.STARTING,
            "6 processes are ready, waiting for beats-0, beats-1",
        ),
    ],
    ids=["unprotected", "no primary", "no sink", "stalled", "source", "starting"],
)
def test_the_verdict_is_the_worst_of_its_parts_and_says_why(seen: JobSeen, safety: Safety, why: str) -> None:
    found = view_of(seen).verdict
    assert (found.safety, found.why) == (safety, why)


def test_one_that_is_down_hides_no_other_that_is_down_but_those_at_risk() -> None:
    seen = with_page(without(running(), "beats-1", "sink-alerts"), "pressures-0", protected=False)
    assert view_of(seen).verdict.why == "no primary serves beats; sink alerts is not running"


def test_a_subjob_shows_its_mode_guarantee_and_what_a_failure_now_would_cost() -> None:
    keeping = node(view_of(running()), "beats").keeping
    assert keeping is not None
    assert (keeping.mode, keeping.guarantee, keeping.cost) == ("passiveStandby", "precise", COST)
    assert keeping.protected


def test_the_mode_shown_is_the_one_in_force_not_the_one_asked_for() -> None:
    keeping = node(view_of(with_page(running(), "beats-1", mode="activeStandby")), "beats").keeping
    assert keeping is not None
    assert keeping.mode == "activeStandby"


def test_a_subjob_shows_its_processes_with_what_each_is_to_it() -> None:
    shown = {p.name: (p.part, p.state, p.serves) for p in node(view_of(running()), "beats").processes}
    assert shown == {
        "beats-0": (Part.GONE, "gone", False),
        "beats-1": (Part.PRIMARY, "ready", True),
        "beats-2": (Part.STANDBY, "ready", True),
    }


def test_an_edge_shows_the_rate_and_by_how_much_its_reader_is_behind() -> None:
    view = view_of(running())
    between = edge(view, "subjob/beats", "subjob/correlate")
    assert (between.rate, between.tuples, between.lag_tuples, between.lag_ms) == (980.4, 39_190, 3, 120)
    last = edge(view, "subjob/correlate", "sink/alerts")
    assert (last.rate, last.lag_tuples, last.lag_ms) == (54.0, 3, 120)


def test_the_lag_at_a_source_is_what_has_arrived_and_is_not_processed() -> None:
    assert edge(view_of(running()), "source/ecg", "subjob/beats").lag_tuples == 4


def test_an_edge_whose_reader_has_no_primary_says_nothing() -> None:
    found = edge(view_of(without(running(), "beats-1")), "source/ecg", "subjob/beats")
    assert (found.tuples, found.lag_tuples) == (None, None)


def test_an_incident_has_its_steps_in_the_order_of_time_and_the_sinks_behind_it() -> None:
    (incident,) = view_of(running()).incidents
    assert [(s.name, s.after_ms) for s in incident.steps] == [
        *(("detected", 12), ("promoted", 31), ("state restored", 95), ("first output", 310)),
        *(("caught up", 480), ("protected again", 14_000)),
    ]
    assert (incident.at_ms, incident.recovery_ms, incident.replayed) == (FAULT, 402, 40)
    (series,) = incident.sinks
    assert (series.sink, series.begin_ms) == ("alerts", FAULT - 2_000)
    at_the_fault = (FAULT - series.begin_ms) // series.width_ms
    assert series.counts[at_the_fault + 1] == 0
    assert series.counts[at_the_fault - 5] > 0


def test_the_newest_incident_comes_first_and_at_most_twenty_are_shown() -> None:
    (one,) = running().incidents
    many = tuple(replace(one, at_ms=FAULT + n) for n in range(30))
    shown = view_of(replace(running(), incidents=many)).incidents
    assert [i.at_ms - FAULT for i in shown] == list(range(29, 9, -1))


def test_only_the_sinks_that_a_subjobs_tuples_come_to_are_behind_it() -> None:
    assert sinks_behind(telemonitoring(), "pressures") == ["alerts"]
    assert sinks_behind(job(), "strong") == ["alerts"]


def test_rates_are_made_from_what_each_reader_has_taken() -> None:
    counts = counts_of(running())
    assert counts["ecg", "beats"] == 19_960
    assert counts["correlate", "sink/alerts"] == running().arrivals["alerts"][-1].tuples


def test_a_view_says_the_same_after_it_was_sent() -> None:
    view = view_of(running())
    assert from_bytes(to_bytes(view)) == view
    assert to_json(view)["version"] == "1.0"
