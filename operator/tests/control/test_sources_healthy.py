"""The condition SourcesHealthy: whether the sources from outside are read, and what of them was lost."""

from __future__ import annotations

from understudy.control.conditions import sources_healthy
from understudy.control.views import SubjobView
from understudy.protocol.statuspage import Input, InstancePage, Loss

from .jobs import job

TOPIC = {"name": "ticks", "kafka": {"bootstrapServers": "k:9092", "topic": "t", "schema": "v bigint"}}


def said(*pages: InstancePage) -> tuple[str, str, str]:
    """Status, reason and sentence of a job with a subjob for each page."""
    found = job(sources=[TOPIC])
    views = [SubjobView(found.subjobs[0], None, (), {}, None, page, ()) for page in pages]
    (condition,) = sources_healthy(found, views)
    return str(condition.status), condition.reason, condition.message


def test_a_job_without_sources_from_outside_has_no_such_condition() -> None:
    assert sources_healthy(job(), []) == []


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
    assert said(page, page)[2] == "records that could not be read were skipped: 3 of ticks"
