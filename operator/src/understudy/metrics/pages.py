"""The metrics of an instance and of a sink: a function of its status page.

Labels: `streamjob`, `subjob` and `sink` are names from the manifest, `pod` is the instance. They are not
called `job` and `instance`, because Prometheus gives each series labels of these names.

What depends on the stream (positions, queues, lag) is on the page of a primary only: a standby repeats
what it has heard from its primary, and sums over pods would count it twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, assert_never

from understudy.metrics.family import Family, Sample, counter, families_in, gauge
from understudy.protocol.statuspage import InstancePage, Queue, SinkPage, StatusPage

_INSTANCE: Final = ("streamjob", "subjob", "pod")
_SINK: Final = ("streamjob", "sink")

# ---- the instance itself

INFO: Final = gauge(
    "understudy_instance_info",
    "1 for the role, the mode and the state that the instance has now.",
    *_INSTANCE,
    *("role", "mode", "state"),
)
LEADS: Final = gauge("understudy_leads", "1 if the instance is a primary, 0 if it is a standby.", *_INSTANCE)
EPOCH: Final = gauge("understudy_epoch", "The epoch of the subjob, as the instance knows it.", *_INSTANCE)
STANDBY_READY: Final = gauge(
    "understudy_standby_ready",
    "1 if a standby of this primary could take over now, as the primary sees it. The operator's view is "
    "understudy_protected.",
    *_INSTANCE,
)
OVERLOADED: Final = gauge(
    "understudy_overloaded", "1 if the machine of the instance can't carry its load.", *_INSTANCE
)

# ---- tuples in

TUPLES_IN: Final = counter(
    "understudy_tuples_in_total",
    "Tuples of an input that the subjob has processed: its position on the stream. Replicas count the same "
    "tuples twice.",
    *_INSTANCE,
    "input",
)
WAITING: Final = gauge(
    "understudy_input_waiting_tuples",
    "Tuples of an input that have arrived and are not processed yet. For a source this is its lag.",
    *_INSTANCE,
    "input",
)
BAD_RECORDS: Final = gauge(
    "understudy_source_bad_records",
    "Records of a source that could not be read and were skipped, by what its numbering still remembers.",
    *_INSTANCE,
    "input",
)
NOT_READ: Final = gauge(
    "understudy_source_not_read",
    "1 while an input is a source that can't be read, such as a topic whose broker is away, or whose bad "
    "records can't be copied.",
    *_INSTANCE,
    "input",
)
INPUT_LOST: Final = counter(
    "understudy_input_tuples_lost_total",
    "Input tuples that no instance will process, as this process noticed since it started. Over the life of "
    "a job, see understudy_tuples_lost_total.",
    *_INSTANCE,
)

# ---- tuples out

TUPLES_OUT: Final = counter(
    "understudy_tuples_out_total",
    "Tuples of an output stream that the subjob has produced: the next seq.",
    *_INSTANCE,
    "stream",
)
QUEUE_TUPLES: Final = gauge(
    "understudy_queue_tuples", "Tuples that an output queue holds.", *_INSTANCE, "stream"
)
QUEUE_BYTES: Final = gauge(
    "understudy_queue_bytes", "Bytes that an output queue holds, in memory and on disk.", *_INSTANCE, "stream"
)
QUEUE_DISK: Final = gauge(
    "understudy_queue_disk_bytes", "Bytes of an output queue that are on disk.", *_INSTANCE, "stream"
)
QUEUE_FULL: Final = gauge(
    "understudy_queue_full",
    "1 while a micro-batch waits because the output queue has no room.",
    *_INSTANCE,
    "stream",
)
CONSUMER_LAG: Final = gauge(
    "understudy_consumer_lag_tuples",
    "Tuples between a consumer's position and the end of the output queue. The producer measures it, so it "
    "grows while the consumer hangs.",
    *_INSTANCE,
    *("stream", "consumer"),
)
CONSUMER_AGE: Final = gauge(
    "understudy_consumer_lag_seconds",
    "How long the oldest tuple that a consumer has not taken has been in the output queue.",
    *_INSTANCE,
    *("stream", "consumer"),
)

# ---- state

CHECKPOINT_BYTES: Final = gauge(
    "understudy_checkpoint_bytes", "Size of the newest checkpoint that this standby holds.", *_INSTANCE
)
CHECKPOINT_TIME: Final = gauge(
    "understudy_checkpoint_timestamp_seconds",
    "When this primary shipped its newest checkpoint, in seconds since 1970.",
    *_INSTANCE,
)
CHECKPOINT_SENT: Final = counter(
    "understudy_checkpoint_sent_bytes_total",
    "Bytes of checkpoints that the instance has sent since it started.",
    *_INSTANCE,
)
ACKS_SENT: Final = counter(
    "understudy_ack_sent_bytes_total",
    "Bytes of acks that the instance has sent since it started.",
    *_INSTANCE,
)

# ---- the engine

BATCHES: Final = counter(
    "understudy_micro_batches_total", "Micro-batches that the instance has run since it started.", *_INSTANCE
)
BATCH_MEDIAN: Final = gauge(
    "understudy_micro_batch_median_seconds", "Median duration of the newest micro-batches.", *_INSTANCE
)
ENGINE_STALLED: Final = gauge(
    "understudy_engine_stalled", "1 while Spark in this process stands still.", *_INSTANCE
)
ENGINE_QUIET: Final = gauge(
    "understudy_engine_quiet_seconds", "How long the engine has given no sign of life.", *_INSTANCE
)
ENGINE_TIMEOUT: Final = gauge(
    "understudy_engine_timeout_seconds", "How long the engine may stand still.", *_INSTANCE
)

# ---- the last take-over

TAKEOVER_TIME: Final = gauge(
    "understudy_last_takeover_timestamp_seconds",
    "When this instance took over and became primary, in seconds since 1970. `planned`: true if the former "
    "primary handed over.",
    *_INSTANCE,
    "planned",
)
TAKEOVER_RECOVERY: Final = gauge(
    "understudy_last_takeover_recovery_seconds",
    "How long output stood still in the take-over by this instance.",
    *_INSTANCE,
    "planned",
)

# ---- a sink

SINK_INFO: Final = gauge("understudy_sink_info", "1 for the state that the sink has now.", *_SINK, "state")
SINK_TUPLES: Final = counter(
    "understudy_sink_tuples_written_total",
    "Tuples that the sink has written, over all its lives: the next seq.",
    *_SINK,
)
SINK_LOST: Final = counter(
    "understudy_sink_tuples_lost_total",
    "Tuples of its stream that the sink could not get, since its process started.",
    *_SINK,
)
SINK_LAG: Final = gauge(
    "understudy_sink_lag_tuples",
    "Tuples that the sink has not written yet, as it heard last from its producer. A sink that hangs hears "
    "nothing: use understudy_consumer_lag_tuples for alerts.",
    *_SINK,
)
SINK_AGE: Final = gauge(
    "understudy_sink_lag_seconds",
    "How long the oldest of these tuples has waited, as the sink heard last from its producer.",
    *_SINK,
)
SINK_QUIET: Final = gauge(
    "understudy_sink_quiet_seconds", "How long ago the newest tuple came. Absent until one has come.", *_SINK
)
SINK_STALLED: Final = gauge("understudy_sink_stalled", "1 while the disk of the sink stands still.", *_SINK)

PAGE_FAMILIES: Final[tuple[Family, ...]] = families_in(globals())


def samples_of(page: StatusPage) -> tuple[Sample, ...]:
    match page:
        case InstancePage():
            return tuple(_of_instance(page))
        case SinkPage():
            return tuple(_of_sink(page))
        case _:
            assert_never(page)


def _of_instance(page: InstancePage) -> Iterator[Sample]:
    who = (page.job, page.subjob, page.instance)
    yield INFO.at(1, *who, page.role or "", page.mode or "", page.state)
    yield LEADS.at(page.leads, *who)
    yield EPOCH.at(page.epoch, *who)
    yield OVERLOADED.at(page.overload is not None, *who)
    yield INPUT_LOST.at(page.lost, *who)
    yield CHECKPOINT_SENT.at(page.sent.checkpoint_bytes, *who)
    yield ACKS_SENT.at(page.sent.ack_bytes, *who)
    yield BATCHES.at(page.batches.count, *who)
    if page.batches.median_ms is not None:
        yield BATCH_MEDIAN.at(page.batches.median_ms / 1000, *who)
    yield from _of_checkpoint(page, who)
    yield from _of_engine(page, who)
    yield from _of_takeover(page, who)
    if page.leads:
        yield from _of_primary(page, who)


def _of_primary(page: InstancePage, who: tuple[str, str, str]) -> Iterator[Sample]:
    yield STANDBY_READY.at(page.protected, *who)
    for stream, at in page.inputs.items():
        yield TUPLES_IN.at(at.position, *who, stream)
        yield WAITING.at(at.waiting, *who, stream)
        yield NOT_READ.at(at.fault is not None, *who, stream)
        yield BAD_RECORDS.at(at.bad, *who, stream)
    for stream, queue in page.outputs.items():
        yield from _of_queue(queue, (*who, stream))


def _of_queue(queue: Queue, where: tuple[str, str, str, str]) -> Iterator[Sample]:
    yield TUPLES_OUT.at(queue.next, *where)
    yield QUEUE_TUPLES.at(queue.next - queue.trimmed, *where)
    yield QUEUE_BYTES.at(queue.bytes, *where)
    yield QUEUE_DISK.at(queue.on_disk, *where)
    yield QUEUE_FULL.at(queue.full, *where)
    for name, consumer in queue.consumers.items():
        if consumer.lag is not None:
            yield CONSUMER_LAG.at(consumer.lag.tuples, *where, name)
            yield CONSUMER_AGE.at(consumer.lag.milliseconds / 1000, *where, name)


def _of_checkpoint(page: InstancePage, who: tuple[str, str, str]) -> Iterator[Sample]:
    kept = page.checkpoint
    if kept is not None and kept.bytes is not None:
        yield CHECKPOINT_BYTES.at(kept.bytes, *who)
    if kept is not None and kept.at_ms is not None:
        yield CHECKPOINT_TIME.at(kept.at_ms / 1000, *who)


def _of_engine(page: InstancePage, who: tuple[str, str, str]) -> Iterator[Sample]:
    if page.engine is not None:
        yield ENGINE_STALLED.at(page.stalled is not None, *who)
        yield ENGINE_QUIET.at(page.engine.quiet_ms / 1000, *who)
        yield ENGINE_TIMEOUT.at(page.engine.timeout_ms / 1000, *who)


def _of_takeover(page: InstancePage, who: tuple[str, str, str]) -> Iterator[Sample]:
    taken = page.take_over
    if taken is None:
        return
    planned = "true" if taken.planned else "false"
    if taken.promoted is not None:
        yield TAKEOVER_TIME.at(taken.promoted / 1000, *who, planned)
    if taken.recovery_seconds is not None:
        yield TAKEOVER_RECOVERY.at(taken.recovery_seconds, *who, planned)


def _of_sink(page: SinkPage) -> Iterator[Sample]:
    who = (page.job, page.sink)
    yield SINK_INFO.at(1, *who, page.state)
    yield SINK_TUPLES.at(page.tuples, *who)
    yield SINK_LOST.at(page.lost, *who)
    yield SINK_LAG.at(page.lag, *who)
    yield SINK_AGE.at(page.lag_ms / 1000, *who)
    yield SINK_STALLED.at(page.stalled is not None, *who)
    if page.quiet_ms is not None:
        yield SINK_QUIET.at(page.quiet_ms / 1000, *who)
