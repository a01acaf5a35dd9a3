"""What tests put into topics, and what they see come out of a source."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from confluent_kafka import Producer

from understudy.kafka.client import Connection
from understudy.kafka.outbox import Delivery, Ended, Missing, Rows, SkipTo
from understudy.kafka.records import Reading
from understudy.kafka.source import KafkaSource
from understudy.kafka.topic import SourceTopic
from understudy_lab.broker.process import Broker

SCHEMA = pa.schema([("n", pa.int64())])
SECONDS = 60.0
Place = tuple[int, int, int]
"""Partition, offset, and the number in the record."""


def source_of(broker: Broker, topic: str, **more: Any) -> SourceTopic:
    reading = more.pop("reading", Reading(SCHEMA))
    return SourceTopic(Connection(broker.address), topic, f"understudy.{topic}", reading, **more)


def fill(broker: Broker, topic: str, numbers: Iterable[int], partitions: int = 1) -> None:
    """Number n goes to partition n modulo `partitions`."""
    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 5})
    for n in numbers:
        producer.produce(
            topic, b'{"n":%d}' % n, key=b"k%d" % n, partition=n % partitions, timestamp=1_000 + n
        )
        producer.poll(0)
    assert producer.flush(SECONDS) == 0


@dataclass
class Reader:
    """One instance that reads a source; what it was given."""

    source: KafkaSource
    tuples: dict[int, Place] = field(default_factory=dict)
    missing: list[Missing] = field(default_factory=list)
    skipped_to: int | None = None
    ended_at: int | None = None
    end_serial: int = 0
    next: int = 0

    @classmethod
    def of(cls, source: SourceTopic, start: int | None = 0) -> Reader:
        reader = cls(KafkaSource(source), next=start or 0)
        reader.source.begin(start)  # type: ignore[arg-type]
        return reader

    def poll(self) -> None:
        while (delivery := self.source.poll()) is not None:
            self._take(delivery)

    def _take(self, delivery: Delivery) -> None:
        match delivery:
            case Rows(table):
                self._follows(table["_seq"][0].as_py(), table.num_rows)
                self.tuples.update(places(table))
            case Missing(gone):
                self._follows(gone.start, len(gone))
                self.missing.append(delivery)
            case SkipTo(seq):
                self.skipped_to = self.next = seq
            case Ended(seq, serial):
                self.ended_at, self.end_serial = seq, serial

    def _follows(self, first: int, count: int) -> None:
        assert first == self.next, f"expected tuple {self.next}, got {first}"
        self.next += count

    def until(self, done: Callable[[], bool]) -> None:
        """Poll as the shell does, until it is so."""
        deadline = time.monotonic() + SECONDS
        while not done():
            assert time.monotonic() < deadline, f"at tuple {self.next}: {self.source.fault}"
            self.poll()
            time.sleep(0.002)

    def read_to(self, seq: int) -> None:
        self.until(lambda: self.next >= seq)


def places(table: pa.Table) -> dict[int, Place]:
    assert table.column_names == ["_seq", "_ts", "n", "_key", "_partition", "_offset", "_wm"]
    columns = [table[name].to_pylist() for name in ("_seq", "_partition", "_offset", "n")]
    return {seq: (partition, offset, n) for seq, partition, offset, n in zip(*columns, strict=True)}


Open = Callable[..., Reader]
"""Opens a reader of a source, which ends with the test."""
