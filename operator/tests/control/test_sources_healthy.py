"""The condition SourcesHealthy: whether the sources from outside are read, and what of them was lost."""

from __future__ import annotations

from understudy.control.conditions import sources_healthy
from understudy.control.intents import Emit
from understudy.control.job_events import OF_SOURCES
from understudy.control.views import SubjobView
from understudy.model.job import StreamJob
from understudy.protocol.statuspage import Input, InstancePage, Loss

from .jobs import job
from .world import World

TOPIC = {"name": "ticks", "kafka": {"bootstrapServers": "k:9092", "topic": "t", "schema": "v bigint"}}


def events(world: World) -> list[tuple[str, str]]:
    """Reasons and sentences of the events about sources."""
    found = (intent for intent in world.history if isinstance(intent, Emit))
    return [(emit.reason, emit.why) for emit in found if emit.reason in OF_SOURCES.values()]


def said(*pages: InstancePage) -> tuple[str, str, str]:
    """Status, reason and sentence of a job with a subjob for each page."""
    found = job(sources=[TOPIC])
    (condition,) = sources_healthy(found, [_view(found, page) for page in pages])
    return str(condition.status), condition.reason, condition.message


def _view(found: StreamJob, page: InstancePage) -> SubjobView:
    return SubjobView(found.subjobs[0], None, (), {}, None, page, ())


def test_a_job_without_sources_from_outside_has_no_such_condition() -> None:
    assert sources_healthy(job(), []) == []


def test_a_watched_folder_that_stands_still_says_why() -> None:
    folder = {"name": "ticks", "files": {"path": "in", "schema": "v bigint", "watch": True}}
    page = InstancePage(inputs={"ticks": Input(5, 5, fault="in/b.csv: no header")})
    (condition,) = sources_healthy(job(sources=[folder]), [_view(job(sources=[folder]), page)])
    assert (condition.reason, condition.message) == ("NotRead", "ticks: in/b.csv: no header")


def test_sources_that_are_read_are_healthy() -> None:
    assert said(InstancePage(inputs={"ticks": Input(5, 9)}))[:2] == ("True", "Read")


def test_a_source_that_stands_still_says_why_once() -> None:
    page = InstancePage(inputs={"ticks": Input(5, 9, fault="t: partition 2, offset 7 can't be read: no")})
    assert said(page, page) == ("False", "NotRead", "ticks: t: partition 2, offset 7 can't be read: no")


def test_tuples_of_a_source_that_are_gone_are_named() -> None:
    page = InstancePage(inputs={"ticks": Input(9, 9)}, losses=(Loss("ticks", 2, 5), Loss("keep", 0, 3)))
    assert said(page) == (
        "False",
        "RecordsLost",
        "ticks: tuples 2 to 5 were gone before they were processed",
    )


def test_bad_records_are_counted_once_however_many_subjobs_read_the_source() -> None:
    page = InstancePage(inputs={"ticks": Input(9, 9, bad=3)})
    assert said(page, page)[2] == "records that could not be read became no tuples: 3 of ticks"


def test_a_source_that_stops_is_an_event_each_time_that_the_reason_changes() -> None:
    world = World(job(sources=[TOPIC])).run_for(30)
    for fault in ("t: offset 7 can't be read", "t: offset 9 can't be read"):
        world.inputs = {"ticks": {"position": 5, "available": 5, "fault": fault}}
        world.run_for(5)
    assert events(world) == [
        ("SourceNotRead", "ticks: t: offset 7 can't be read"),
        ("SourceNotRead", "ticks: t: offset 9 can't be read"),
    ]


def test_the_first_bad_record_is_an_event_and_those_after_it_are_counted_in_the_status() -> None:
    world = World(job(sources=[TOPIC])).run_for(30)
    for bad in (1, 2, 3):
        world.inputs = {"ticks": {"position": 5, "available": 5, "bad": bad}}
        world.run_for(5)
    assert events(world) == [("BadRecords", "records that could not be read became no tuples: 1 of ticks")]
    assert world.condition("SourcesHealthy")["message"].endswith("3 of ticks")
