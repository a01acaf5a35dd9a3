"""How this process speaks to Kafka: one set of settings for consumers, producers and admin calls."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

log = structlog.get_logger()
CALL_SECONDS: Final = 10.0
"""One request and its answer. Whoever calls tries again."""

EXISTS: Final = KafkaError.TOPIC_ALREADY_EXISTS


class _Quiet(logging.Handler):
    """What the client library says by itself: it reconnects, and says so on every attempt."""

    def emit(self, record: logging.LogRecord) -> None:
        log.debug("kafka client", said=record.getMessage())


_said = logging.Logger("kafka")
_said.addHandler(_Quiet())


@dataclass(frozen=True, slots=True)
class Connection:
    bootstrap_servers: str
    security: Mapping[str, str] = field(default_factory=dict)
    """Client properties out of a Secret, such as `security.protocol` and `sasl.mechanism`."""

    def consumer(self, **more: Any) -> Consumer:
        """Of committed records, of partitions that it is given: it joins no group and commits nothing."""
        return Consumer(self._settings(CONSUMER, more), logger=_said)

    def producer(self, **more: Any) -> Producer:
        return Producer(self._settings(PRODUCER, more), logger=_said)

    def admin(self) -> AdminClient:
        return AdminClient(self._settings({}, {}), logger=_said)

    def _settings(self, kind: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
        own = {key.replace("_", "."): value for key, value in more.items()}
        return {**COMMON, **kind, **self.security, "bootstrap.servers": self.bootstrap_servers, **own}


COMMON: Final[Mapping[str, Any]] = {
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 1_000,
    "socket.timeout.ms": 10_000,
    "topic.metadata.refresh.interval.ms": 10_000,
    "error_cb": lambda error: log.debug("kafka client", said=str(error)),
}
CONSUMER: Final[Mapping[str, Any]] = {
    "group.id": "understudy",  # the client wants one; it is not joined
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 20,  # after so long it says that there is nothing more
    "fetch.error.backoff.ms": 50,
    "queued.max.messages.kbytes": 16_384,
}
PRODUCER: Final[Mapping[str, Any]] = {
    "enable.idempotence": True,
    "acks": "all",
    "linger.ms": 0,
    "partitioner": "murmur2_random",  # as Java's producers, so that topics can be joined by key
}


def ensure_topic(connection: Connection, topic: str, **config: str) -> None:
    """A topic of the job's own, with one partition. Raises KafkaException."""
    settings = {key.replace("_", "."): value for key, value in config.items()}
    admin = connection.admin()
    wanted = NewTopic(topic, num_partitions=1, replication_factor=-1, config=settings)
    try:
        admin.create_topics([wanted])[topic].result(CALL_SECONDS)
    except KafkaException as error:
        if error.args[0].code() != EXISTS:
            raise
