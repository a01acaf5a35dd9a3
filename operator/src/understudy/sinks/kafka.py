"""The sink kind `kafka`: `kafka.sink` as the sink process wants it (docs/kafka.md)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from understudy.kafka import sink as topics
from understudy.kafka.client import Connection
from understudy.kafka.security import security_of
from understudy.model.sinks import KafkaSink
from understudy.process.clock import now_ms
from understudy.protocol.ids import Seq
from understudy.sinks.port import Opening, Superseded, Writer


class KafkaWriter(Writer):
    """Waits for the broker however long it is away: then the stream waits, too."""

    def __init__(self, kafka: KafkaSink, opening: Opening) -> None:
        """Raises Superseded if a later life has begun, or NoSecret."""
        self.commit_ms = round(kafka.commit_interval.total_seconds() * 1000)
        with _superseding():
            self._sink = topics.KafkaSink(topic_of(kafka, opening), opening.life.number)
        wrote = self._sink.wrote_at_ms
        self.age_ms = max(0, now_ms() - wrote) if wrote is not None else None
        self.next = int(self._sink.next)

    def check(self) -> None:
        """Nothing to do: what is acked is committed, and the broker fences each commit."""

    def write(self, rows: pa.Table) -> None:
        with _superseding():
            self._sink.write(rows)

    def commit(self) -> None:
        with _superseding():
            self._sink.commit()
        self.next, self.lost = int(self._sink.next), self._sink.forgotten

    def skip(self, to: int) -> None:
        """At once: what is skipped must not be asked for again."""
        self._sink.skip(Seq(to))
        self.commit()

    def stop(self) -> None:
        self._sink.stop()

    def close(self) -> None:
        self._sink.close()


@contextmanager
def _superseding() -> Iterator[None]:
    try:
        yield
    except topics.Fenced as error:
        raise Superseded(str(error)) from error


def topic_of(kafka: KafkaSink, opening: Opening) -> topics.SinkTopic:
    """Raises NoSecret."""
    return topics.SinkTopic(
        Connection(kafka.bootstrap_servers, security_of(opening.secrets, kafka.secret)),
        kafka.topic,
        position_topic(opening.identity, opening.sink.name),
        kafka.key,
    )


def position_topic(identity: str, sink: str) -> str:
    return f"{identity}.sink.{sink}"
