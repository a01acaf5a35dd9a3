"""A metric says what the status page says."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings

from tests.protocol.drawing import drawn
from understudy.metrics.exposition import exposition
from understudy.metrics.family import Kind
from understudy.metrics.pages import PAGE_FAMILIES, samples_of
from understudy.protocol.statuspage import InstancePage, SinkPage, StatusPage

from .pages import PRIMARY, SINK, STANDBY
from .reading import scraped

WHO = {"streamjob": "two", "subjob": "beats", "pod": "two-beats-1"}


@settings(max_examples=60, deadline=None)
@given(drawn(StatusPage))
def test_every_page_is_an_exposition_that_can_be_read(page: StatusPage) -> None:
    scraped(page)


def test_a_figure_of_a_primary_is_the_one_of_its_page() -> None:
    found, queue = scraped(PRIMARY), PRIMARY.outputs["beats"]
    state = {"role": "primary", "mode": "passiveStandby", "state": "ready"}
    assert found("understudy_instance_info", **WHO, **state) == 1
    assert found("understudy_leads", **WHO) == 1
    assert found("understudy_epoch", **WHO) == PRIMARY.epoch
    assert found("understudy_standby_ready", **WHO) == 1
    assert found("understudy_overloaded", **WHO) == 0
    for name, at in PRIMARY.inputs.items():
        assert found("understudy_tuples_in_total", **WHO, input=name) == at.position
        assert found("understudy_input_waiting_tuples", **WHO, input=name) == at.waiting
    assert found("understudy_input_tuples_lost_total", **WHO) == PRIMARY.lost == 60
    assert found("understudy_tuples_out_total", **WHO, stream="beats") == queue.next
    assert found("understudy_queue_tuples", **WHO, stream="beats") == queue.next - queue.trimmed == 33
    assert found("understudy_queue_bytes", **WHO, stream="beats") == queue.bytes
    assert found("understudy_queue_disk_bytes", **WHO, stream="beats") == queue.on_disk
    assert found("understudy_queue_full", **WHO, stream="beats") == 1
    assert found("understudy_checkpoint_timestamp_seconds", **WHO) == 1_760_000_000.5
    assert found("understudy_checkpoint_sent_bytes_total", **WHO) == PRIMARY.sent.checkpoint_bytes
    assert found("understudy_ack_sent_bytes_total", **WHO) == PRIMARY.sent.ack_bytes
    assert found("understudy_micro_batches_total", **WHO) == PRIMARY.batches.count
    assert found("understudy_micro_batch_median_seconds", **WHO) == 0.096
    assert found("understudy_engine_stalled", **WHO) == 0
    assert found("understudy_engine_quiet_seconds", **WHO) == 0.04
    assert found("understudy_engine_timeout_seconds", **WHO) == 3
    assert found("understudy_last_takeover_timestamp_seconds", **WHO, planned="false") == 1_760_000_000
    assert found("understudy_last_takeover_recovery_seconds", **WHO, planned="false") == 0.31


def test_each_consumer_of_a_queue_has_its_lag() -> None:
    found = scraped(PRIMARY)
    for name, tuples, seconds in (("sink/alerts", 3, 0.24), ("correlate", 0, 0)):
        assert found("understudy_consumer_lag_tuples", **WHO, stream="beats", consumer=name) == tuples
        assert found("understudy_consumer_lag_seconds", **WHO, stream="beats", consumer=name) == seconds


def test_a_standby_repeats_no_figure_of_its_primary() -> None:
    found, who = scraped(STANDBY), {**WHO, "pod": "two-beats-2"}
    of_streams = ("tuples_in", "tuples_out", "input_waiting", "queue", "consumer", "standby_ready")
    assert not [name for name in found.names if name.removeprefix("understudy_").startswith(of_streams)]
    assert found("understudy_leads", **who) == 0
    assert found("understudy_engine_stalled", **who) == 1
    assert found("understudy_engine_quiet_seconds", **who) == 3.1
    assert found("understudy_overloaded", **who) == 1
    assert found("understudy_checkpoint_bytes", **who) == 9_000


def test_a_figure_of_a_sink_is_the_one_of_its_page() -> None:
    found, who = scraped(SINK), {"streamjob": "two", "sink": "alerts"}
    assert found("understudy_sink_info", **who, state="stalled") == 1
    assert found("understudy_sink_tuples_written_total", **who) == SINK.tuples
    assert found("understudy_sink_tuples_lost_total", **who) == SINK.lost
    assert found("understudy_sink_lag_tuples", **who) == SINK.lag
    assert found("understudy_sink_lag_seconds", **who) == 1.2
    assert found("understudy_sink_quiet_seconds", **who) == 0.012
    assert found("understudy_sink_stalled", **who) == 1


def test_what_a_page_does_not_know_is_absent_and_not_zero() -> None:
    young = scraped(InstancePage(job="two", subjob="beats", instance="two-beats-1")).names
    unknown = ("engine", "checkpoint_bytes", "checkpoint_timestamp", "micro_batch_median", "last_takeover")
    assert not [name for name in young if name.removeprefix("understudy_").startswith(unknown)]
    assert scraped(replace(PRIMARY, engine=None))("understudy_engine_stalled") is None
    assert scraped(SinkPage(job="two", sink="alerts"))("understudy_sink_quiet_seconds") is None


def test_every_family_comes_from_some_page_and_has_a_conventional_name_and_a_sentence() -> None:
    families = [s.family for page in (PRIMARY, STANDBY, SINK) for s in samples_of(page)]
    assert set(families) == set(PAGE_FAMILIES)
    for family in PAGE_FAMILIES:
        assert family.name.startswith("understudy_")
        assert family.name.endswith("_total") == (family.kind is Kind.COUNTER)
        assert family.help.endswith(".")


def test_type_and_help_reach_the_reader() -> None:
    found = scraped(PRIMARY)
    assert found.kinds["understudy_tuples_in"] == "counter"
    assert found.kinds["understudy_queue_bytes"] == "gauge"
    assert found.helps["understudy_queue_full"].startswith("1 while a micro-batch waits")


def test_a_reader_that_asks_for_openmetrics_gets_it() -> None:
    raw, kind = exposition(PRIMARY, "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert kind.startswith("application/openmetrics-text")
    assert raw.endswith(b"# EOF\n")
