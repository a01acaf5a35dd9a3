"""Small texts that outlive all pods of a job, such as acks with their savepoint tree: a compacted topic.

Each text is kept under a name and the epoch that wrote it; the one of the greatest epoch counts. The epoch is
part of the record's key, since compaction keeps the last record of a key: so a former primary's late write
can't push out what its successor wrote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from understudy.kafka.client import CALL_SECONDS, Connection, ensure_topic
from understudy.process.clock import steady_ms
from understudy.protocol.ids import Epoch

CONFIG: Final = {
    "cleanup_policy": "compact",
    "segment_bytes": str(8 * 2**20),
    "min_cleanable_dirty_ratio": "0.1",
}


class KeptTexts:
    """Both methods wait for the broker, and raise KafkaException."""

    def __init__(self, connection: Connection, topic: str) -> None:
        self._connection, self._topic = connection, topic
        ensure_topic(connection, topic, **CONFIG)
        self._producer = connection.producer(delivery_timeout_ms=int(CALL_SECONDS * 1000))
        self._written: Epoch | None = None

    def keep(self, name: str, text: str, epoch: Epoch) -> None:
        self._send(_key(name, epoch), text.encode())
        if self._written != epoch:  # those of earlier epochs are not needed any more
            for key, _ in self._records(name):
                if _epoch(key) < epoch:
                    self._send(key, None)
            self._written = epoch

    def kept(self, name: str) -> str | None:
        found = {_epoch(key): text for key, text in self._records(name)}
        texts = [text for _, text in sorted(found.items()) if text is not None]
        return texts[-1].decode() if texts else None

    def _send(self, key: bytes, value: bytes | None) -> None:
        failed: list[Any] = []
        self._producer.produce(
            self._topic,
            value,
            key,
            partition=0,
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )
        left = self._producer.flush(CALL_SECONDS)
        if failed or left:
            raise KafkaException(failed[0] if failed else KafkaError(KafkaError._TIMED_OUT))

    def _records(self, name: str) -> Iterator[tuple[bytes, bytes | None]]:
        """All that the topic holds under a name, in its order; None for what was removed."""
        consumer = self._connection.consumer()
        try:
            at = TopicPartition(self._topic, 0)
            low, _ = consumer.get_watermark_offsets(at, timeout=CALL_SECONDS)
            consumer.assign([TopicPartition(self._topic, 0, low)])
            deadline = steady_ms() + int(CALL_SECONDS * 1000)
            while steady_ms() < deadline:
                for message in consumer.consume(1_000, 0.05):
                    if (error := message.error()) is None:
                        if message.key().rpartition(b"/")[0] == name.encode():
                            yield message.key(), message.value()
                    elif error.code() == KafkaError._PARTITION_EOF:
                        return
                    else:
                        raise KafkaException(error)
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"{self._topic} was not read in time"))
        finally:
            consumer.close()


def _key(name: str, epoch: Epoch) -> bytes:
    return b"%b/%d" % (name.encode(), epoch)


def _epoch(key: bytes) -> int:
    return int(key.rpartition(b"/")[2])
