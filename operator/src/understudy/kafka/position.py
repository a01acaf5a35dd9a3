"""How far a sink has come: a record in a compacted topic of its own, written in the transaction of the tuples
that it counts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from understudy.kafka.client import CALL_SECONDS, Connection
from understudy.process.clock import steady_ms
from understudy.protocol.ids import Seq

KEY: Final = b"position"
VERSION: Final = 1
NEAR: Final = 1_000  # offsets from the end; the last position is nearly always there
TOPIC: Final = {
    "cleanup_policy": "compact",
    "segment_bytes": str(8 * 2**20),
    "min_cleanable_dirty_ratio": "0.1",
}


@dataclass(frozen=True, slots=True)
class Position:
    """`life` is that of the sink that wrote it: a sink that finds a later one has been replaced."""

    next: Seq = Seq(0)
    life: int = -1
    at_ms: int | None = None
    """When it was written, by the clock of the writer."""

    def to_bytes(self) -> bytes:
        return json.dumps({"v": VERSION, "next": self.next, "life": self.life}).encode()


def _position(message: Any) -> Position:
    found = json.loads(message.value())
    if found["v"] != VERSION:
        raise ValueError(f"the position was written by a later version, {found['v']}")
    return Position(Seq(found["next"]), found["life"], message.timestamp()[1])


def read_position(connection: Connection, topic: str) -> Position:
    """The last one that was committed. Raises KafkaException."""
    consumer = connection.consumer()
    try:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=CALL_SECONDS)
        near = max(low, high - NEAR)
        found = _last(consumer, topic, near)
        return found or (_last(consumer, topic, low) if near > low else None) or Position()
    finally:
        consumer.close()


def _last(consumer: Consumer, topic: str, start: int) -> Position | None:
    consumer.assign([TopicPartition(topic, 0, start)])
    found: Position | None = None
    deadline = steady_ms() + int(CALL_SECONDS * 1000)
    while steady_ms() < deadline:
        for message in consumer.consume(NEAR, 0.05):
            if (error := message.error()) is None:
                found = _position(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                return found
            else:
                raise KafkaException(error)
    raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"the position in {topic} was not read"))
