"""What is read, and what the broker says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, TopicCollection, TopicPartition

from understudy.kafka.client import CALL_SECONDS, Connection
from understudy.kafka.records import Reading
from understudy.model.sources import OnBadRecord, Starting
from understudy.protocol.ids import WallMillis
from understudy.protocol.numbering import Numbering, Offset, Place

IDLE_AFTER_MS: Final = 5_000


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Where bad records are copied to."""

    to: str
    position: str
    """The topic of the position; the transactional id has the same name."""


@dataclass(frozen=True, slots=True)
class SourceTopic:
    connection: Connection
    topic: str
    log: str
    """The topic of the numbering log."""

    reading: Reading
    starting: Starting | WallMillis = Starting.EARLIEST
    limit: int | None = None
    idle_after_ms: int = IDLE_AFTER_MS
    on_bad: OnBadRecord = OnBadRecord.FAIL
    group: str | None = None
    """Progress is committed there, so that lag tools see it. It is never read."""

    dead_letters: DeadLetters | None = None


@dataclass(frozen=True, slots=True)
class Described:
    id: str
    partitions: frozenset[int]


def described(found: Any) -> Described:
    """From the answer of the admin client."""
    return Described(str(found.topic_id), frozenset(partition.id for partition in found.partitions))


def describe(source: SourceTopic) -> Described:
    """Raises KafkaException, also if there is no such topic."""
    admin = source.connection.admin()
    wanted = TopicCollection([source.topic])
    answer = admin.describe_topics(wanted, request_timeout=CALL_SECONDS)[source.topic]
    return described(answer.result(CALL_SECONDS + 1))


def first_state(source: SourceTopic, consumer: Consumer, known: Described) -> Numbering:
    """Where a job begins that has taken nothing yet. Raises KafkaException."""
    starts = _starts(source, consumer, known)
    return Numbering(known.id, {partition: Place(offset) for partition, offset in starts.items()})


def _starts(source: SourceTopic, consumer: Consumer, known: Described) -> Mapping[int, Offset]:
    wanted = sorted(known.partitions)
    match source.starting:
        case Starting.EARLIEST:
            return {partition: Offset(watermarks(source, consumer, partition)[0]) for partition in wanted}
        case Starting.LATEST:
            return {partition: Offset(watermarks(source, consumer, partition)[1]) for partition in wanted}
        case moment:
            asked = [TopicPartition(source.topic, partition, int(moment)) for partition in wanted]
            found = consumer.offsets_for_times(asked, timeout=CALL_SECONDS)
            return {each.partition: _or_end(source, consumer, each) for each in found}


def _or_end(source: SourceTopic, consumer: Consumer, found: TopicPartition) -> Offset:
    if found.error is not None:
        raise KafkaException(found.error)
    if found.offset >= 0:
        return Offset(found.offset)
    return Offset(watermarks(source, consumer, found.partition)[1])  # all records are older


def watermarks(source: SourceTopic, consumer: Consumer, partition: int) -> tuple[int, int]:
    """The first offset that is still there, and the one after the last. Raises KafkaException."""
    low, high = consumer.get_watermark_offsets(TopicPartition(source.topic, partition), timeout=CALL_SECONDS)
    return low, high
