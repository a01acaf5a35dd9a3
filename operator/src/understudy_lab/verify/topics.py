"""Topics as a check sees them: the records that a job took, in the order in which it took them, and what its
sinks wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from understudy.kafka.client import CALL_SECONDS, Connection
from understudy.kafka.outbox import Missing, Rows
from understudy.kafka.security import security_of
from understudy.kafka.source import reread
from understudy.model.sinks import KafkaSink
from understudy.model.sources import KafkaSource
from understudy.sources.port import Opening
from understudy_lab.verify.rows import Row, Torn


class Elsewhere(NamedTuple):
    """Where a job keeps what is not in its folder."""

    identity: str
    secrets: Path


NOWHERE: Final = Elsewhere("", Path())


class Gone(ValueError):
    """The topic no longer has all records that the job took; the message says which."""


def taken_from(kafka: KafkaSource, opening: Opening) -> pa.Table:
    """All tuples that are numbered, read from the topic once more. Raises Gone."""
    from understudy.sources.kafka import rows_schema, topic_of

    tables = [rows_schema(topic_of(kafka, opening)).empty_table()]
    for found in reread(topic_of(kafka, opening)):
        match found:
            case Rows(table):
                tables.append(table)
            case Missing(gone, why):
                raise Gone(f"the tuples {gone.start} to {gone.stop} of {opening.source} can't be read: {why}")
    return pa.concat_tables(tables)


def written_to(kafka: KafkaSink, secrets: Path, since_ms: int) -> list[Row]:
    """The committed records since then, in the order of the header `_seq`: tuples of different partitions
    have no other order. Raises Torn if a partition has them in another order."""
    security = security_of(secrets, kafka.secret)
    consumer = Connection(kafka.bootstrap_servers, security).consumer()
    try:
        known = consumer.list_topics(kafka.topic, timeout=CALL_SECONDS).topics[kafka.topic].partitions
        rows = [
            row for partition in sorted(known) for row in _partition(consumer, kafka, partition, since_ms)
        ]
    finally:
        consumer.close()
    return sorted(rows, key=lambda row: int(row["_seq"]))


def _partition(consumer: Consumer, kafka: KafkaSink, partition: int, since_ms: int) -> list[dict[str, Any]]:
    (start,) = consumer.offsets_for_times([TopicPartition(kafka.topic, partition, since_ms)], CALL_SECONDS)
    if start.offset < 0:
        return []  # all records are older
    consumer.assign([start])
    rows = [_row(message) for message in _to_the_end(consumer)]
    for before, after in pairwise(rows):
        if after["_seq"] < before["_seq"]:
            raise Torn(f"partition {partition} has _seq {after['_seq']} after {before['_seq']}")
    return rows


def _to_the_end(consumer: Consumer) -> Iterator[Any]:
    while True:
        for message in consumer.consume(1_000, 0.1):
            if (error := message.error()) is None:
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:
                return
            else:
                raise KafkaException(error)


def _row(message: Any) -> dict[str, Any]:
    where = f"partition {message.partition()}, offset {message.offset()}"
    try:
        seq = int(dict(message.headers() or ())["_seq"])
        return {**json.loads(message.value()), "_seq": seq}
    except (KeyError, ValueError, TypeError) as error:
        raise Torn(f"the record at {where} is not a tuple of this sink: {error!r}") from error
