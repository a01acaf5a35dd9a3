"""Pages of real instances and of a real sink, scraped over HTTP. Spark alone is left out."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.instance.in_process import InProcessJob
from tests.model.manifests import job, manifest
from tests.sinks.test_sink import message
from tests.streams.rows import rows
from understudy.instance.health import Health
from understudy.local.surroundings import LocalSurroundings
from understudy.process.http import StatusServer
from understudy.process.latencies import Latencies
from understudy.protocol.statuspage import InstancePage, StatusPage
from understudy.sinks.port import Life, Opening
from understudy.sinks.sink import SinkProcess
from understudy.sinks.writers import writer_of

from .reading import Scrape, read


@pytest.fixture
def running(tmp_path: Path) -> Iterator[InProcessJob]:
    made = InProcessJob("{mode: passiveStandby}", tmp_path)
    made.add("first-1")
    made.begin()
    made.flows()
    yield made
    made.close()


def page_of(running: InProcessJob, subjob: str, instance: str) -> InstancePage:
    health = Health(running.job.name, subjob, instance, Latencies(list))
    health.context = running.instances[instance].context
    return health.status()


def scraped(status: Callable[[], StatusPage]) -> Scrape:
    server = StatusServer("127.0.0.1", 0, status, lambda: True)
    try:
        connection = http.client.HTTPConnection(server.address, timeout=5)
        connection.request("GET", "/metrics")
        return read(connection.getresponse().read().decode())
    finally:
        server.stop()


def test_a_running_primary_and_its_standby_show_what_their_pages_say(running: InProcessJob) -> None:
    leader = running.leader("first")
    assert leader is not None
    (other,) = {"first-0", "first-1"} - {leader}
    primary, standby = page_of(running, "first", leader), page_of(running, "first", other)
    found, who = scraped(lambda: primary), {"subjob": "first", "pod": leader}
    assert found("understudy_leads", **who) == 1
    assert found("understudy_tuples_in_total", **who, input="numbers") == primary.inputs["numbers"].position
    queue = primary.outputs["first"]
    assert found("understudy_tuples_out_total", **who, stream="first") == queue.next > 0
    for name, consumer in queue.consumers.items():
        assert consumer.lag is not None
        shown = found("understudy_consumer_lag_tuples", **who, stream="first", consumer=name)
        assert shown == consumer.lag.tuples
    assert scraped(lambda: standby)("understudy_leads", subjob="first", pod=other) == 0


def test_a_process_whose_engine_has_not_started_is_scraped_under_its_name() -> None:
    health = Health("chain", "first", "first-0", Latencies(list))
    found = scraped(health.status)
    who = {"streamjob": "chain", "subjob": "first", "pod": "first-0"}
    assert found("understudy_instance_info", **who, state="starting") == 1
    assert found("understudy_engine_stalled") is None


def test_a_sink_that_has_lost_tuples_counts_them(tmp_path: Path) -> None:
    of = job(manifest())
    opening = Opening(of, of.sinks[0], tmp_path / "out", Life())
    sink = SinkProcess(opening, writer_of(opening), LocalSurroundings(tmp_path / "surroundings"))
    sink.incoming(sink._reader, message(rows(0, 5), 1))  # type: ignore[arg-type]
    sink.incoming(sink._reader, message(rows(7, 9), 1))  # type: ignore[arg-type]
    found, who = scraped(sink.status), {"streamjob": of.name, "sink": of.sinks[0].name}
    assert found("understudy_sink_tuples_written_total", **who) == sink.status().tuples == 9
    assert found("understudy_sink_tuples_lost_total", **who) == 2
