"""Topics made and looked into from outside: with the admin client, and with Kafka's own console consumer."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import Final

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
    """A record as Kafka's console consumer prints it."""

    partition: int
    headers: str
    key: str
    value: str


def console(broker: Broker, topic: str, quiet_ms: int = 3_000) -> list[Seen]:
    """All committed records of a topic, until none came for so long: read by a client that nobody here wrote."""
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
