"""Topics made and looked into from outside: with the admin client, and with Kafka's own console consumer."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from understudy_lab.broker.process import QUICK, Broker

SECONDS: Final = 30.0


def create(broker: Broker, topic: str, partitions: int = 1, **config: str) -> None:
    """Topic settings as keywords, with `_` for the dots."""
    settings = {key.replace("_", "."): value for key, value in config.items()}
    wanted = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=settings)
    admin = _admin(broker)
    admin.create_topics([wanted])[topic].result(SECONDS)


def delete(broker: Broker, topic: str) -> None:
    admin = _admin(broker)
    admin.delete_topics([topic])[topic].result(SECONDS)


def _admin(broker: Broker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.address})


@dataclass(frozen=True, slots=True)
class Seen:
    """A record as an outsider sees it: as Kafka's console consumer prints it."""

    partition: int
    headers: str
    key: str
    value: str


def committed(broker: Broker, topic: str) -> list[Seen]:
    """All committed records of a topic, up to its present end. Open transactions hold it back."""
    admin, own = _admin(broker), {"group.id": "outside", "enable.partition.eof": True}
    partitions = admin.list_topics(topic, timeout=SECONDS).topics[topic].partitions
    consumer = Consumer({"bootstrap.servers": broker.address, "isolation.level": "read_committed", **own})
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
    found: list[Seen] = []
    open_ = set(partitions)
    while open_:
        for message in consumer.consume(1_000, 1.0):
            if message.error() is None:
                found.append(_as_printed(message))
            elif message.error().code() == KafkaError._PARTITION_EOF:
                open_.discard(message.partition())
    consumer.close()
    return found


def _as_printed(message: Any) -> Seen:
    headers = ",".join(f"{key}:{value.decode()}" for key, value in message.headers() or ())
    key, value = message.key() or b"null", message.value() or b"null"
    return Seen(message.partition(), headers or "NO_HEADERS", key.decode(), value.decode())


def console(broker: Broker, topic: str, quiet_ms: int = 10_000) -> list[Seen]:
    """The same until none came for so long, read by a client that nobody here wrote."""
    command = broker.java("org.apache.kafka.tools.consumer.ConsoleConsumer", *QUICK, "-Xmx128m")
    arguments = ["--bootstrap-server", broker.address, "--topic", topic, "--from-beginning"]
    arguments += ["--isolation-level", "read_committed", "--timeout-ms", str(quiet_ms)]
    shown = {"print.partition": "true", "print.headers": "true", "print.key": "true", "key.separator": "\t"}
    arguments += [part for key, value in shown.items() for part in ("--formatter-property", f"{key}={value}")]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    return [_seen(line) for line in done.stdout.splitlines() if line.startswith("Partition:")]


def _seen(line: str) -> Seen:
    partition, headers, key, value = line.split("\t", 3)
    return Seen(int(partition.removeprefix("Partition:")), headers, key, value)
