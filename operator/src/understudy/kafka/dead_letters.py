"""Bad records, copied to a topic of their own, each once.

Which records are bad stands in the numbering log. A copy reads the log in its order and commits, in one Kafka
transaction, the records and how far it has read. The position names entries by their serial, so an entry that
does not count is not copied. Whoever leads a reader of the source runs it; a successor fences it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from understudy.kafka.client import CALL_SECONDS, Connection, ensure_topic
from understudy.kafka.position import KEY, TOPIC, Position, read_position
from understudy.process.clock import steady_ms
from understudy.protocol.ids import Seq
from understudy.protocol.numbering import Bad, Numbering, Taken, follow
from understudy.protocol.numbering_wire import from_bytes

log = structlog.get_logger()
BATCH: Final = 1_000


@dataclass(frozen=True, slots=True)
class DeadLetters:
    connection: Connection
    topic: str
    log: str
    """The numbering log of the source."""

    to: str
    position: str
    """The topic of the position; the transactional id has the same name."""


def copy_dead_letters(letters: DeadLetters, stopping: threading.Event) -> None:
    """Until asked to stop, or fenced. Raises KafkaException: then whoever leads has to call it again."""
    ensure_topic(letters.connection, letters.position, **TOPIC)
    producer = letters.connection.producer(transactional_id=letters.position)
    producer.init_transactions(CALL_SECONDS)
    done = read_position(
        letters.connection, letters.position
    ).next  # the serial of the first entry not copied
    consumer = letters.connection.consumer()
    try:
        at = TopicPartition(letters.log, 0)
        low, _ = consumer.get_watermark_offsets(at, timeout=CALL_SECONDS)
        consumer.assign([TopicPartition(letters.log, 0, low)])
        state: Numbering | None = None
        while not stopping.is_set():
            for message in consumer.consume(BATCH, 0.1):
                if message.error() is not None:
                    _raise_unless_end(message.error())
                    continue
                entry = from_bytes(message.value())
                counts = state is not None and state.fits(entry)
                state = follow(state, entry)
                if counts and isinstance(entry, Taken) and entry.bad and entry.serial >= done:
                    _copy(letters, producer, entry)
                    done = Seq(entry.serial + 1)
    finally:
        consumer.close()


def _copy(letters: DeadLetters, producer: Producer, entry: Taken) -> None:
    producer.begin_transaction()
    for bad, record in zip(entry.bad, _fetched(letters, entry.bad), strict=True):
        headers = (
            [*(record.headers() or ()), *_headers(letters.topic, bad)]
            if record
            else _headers(letters.topic, bad)
        )
        value, key = (record.value(), record.key()) if record else (None, None)
        producer.produce(letters.to, value, key, headers=headers)
    producer.produce(letters.position, Position(Seq(entry.serial + 1)).to_bytes(), KEY, partition=0)
    producer.commit_transaction(CALL_SECONDS)


def _headers(topic: str, bad: Bad) -> list[tuple[str, bytes]]:
    place = {"topic": topic, "partition": bad.partition, "offset": bad.offset, "why": bad.why}
    return [(f"understudy.{name}", str(value).encode()) for name, value in place.items()]


def _fetched(letters: DeadLetters, bad: Sequence[Bad]) -> Iterable[Any]:
    """The records; None for one that the topic no longer holds: its place and reason are copied."""
    consumer = letters.connection.consumer()
    try:
        for each in bad:
            yield _one(consumer, letters.topic, each)
    finally:
        consumer.close()


def _one(consumer: Consumer, topic: str, bad: Bad) -> Any:
    consumer.assign([TopicPartition(topic, bad.partition, bad.offset)])
    deadline = steady_ms() + int(CALL_SECONDS * 1000)
    while steady_ms() < deadline:
        message = consumer.poll(0.1)
        if message is None:
            continue
        if (error := message.error()) is None:
            return message if message.offset() == bad.offset else None
        if error.code() in (KafkaError._PARTITION_EOF, KafkaError._AUTO_OFFSET_RESET):
            return None
        raise KafkaException(error)
    raise KafkaException(
        KafkaError(KafkaError._TIMED_OUT, f"bad record {bad.partition}/{bad.offset} was not read")
    )


def _raise_unless_end(error: Any) -> None:
    if error.code() != KafkaError._PARTITION_EOF:
        raise KafkaException(error)
