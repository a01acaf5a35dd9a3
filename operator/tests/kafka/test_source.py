"""A topic as a source, on a real broker: tuple n is the same for everybody, for ever."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.kafka.topics_in_use import Open, fill, places, source_of
from understudy.kafka.outbox import Rows
from understudy.model.sources import OnBadRecord, Starting
from understudy.protocol.ids import Range, Seq
from understudy_lab.broker.process import Broker
from understudy_lab.broker.topics import create

pytestmark = pytest.mark.broker
Make = Callable[..., str]


def test_each_record_is_one_tuple_and_partitions_keep_their_order(
    broker: Broker, topic: Make, open_reader: Open
) -> None:
    name = topic(3)
    fill(broker, name, range(3_000), partitions=3)
    reader = open_reader(source_of(broker, name))
    reader.read_to(3_000)
    assert sorted(n for _, _, n in reader.tuples.values()) == list(range(3_000))
    for partition in range(3):
        offsets = [offset for _, (p, offset, _) in sorted(reader.tuples.items()) if p == partition]
        assert offsets == list(range(1_000))


def test_several_instances_at_once_come_to_one_numbering(
    broker: Broker, topic: Make, open_reader: Open
) -> None:
    name = topic(4)
    readers = [open_reader(source_of(broker, name)) for _ in range(3)]
    for start in range(0, 2_000, 100):
        fill(broker, name, range(start, start + 100), partitions=4)
        for reader in readers:
            reader.poll()
    for reader in readers:
        reader.read_to(2_000)
    assert readers[0].tuples == readers[1].tuples == readers[2].tuples
    assert len({place[:2] for place in readers[0].tuples.values()}) == 2_000


def test_a_later_life_reads_the_same_tuples_from_where_it_wants(
    broker: Broker, topic: Make, open_reader: Open
) -> None:
    name = topic(3)
    source = source_of(broker, name)
    first = open_reader(source)
    fill(broker, name, range(1_000), partitions=3)
    first.read_to(1_000)
    first.source.close()
    fill(broker, name, range(1_000, 1_500), partitions=3)
    second = open_reader(source, start=400)
    second.read_to(1_500)
    assert {seq: place for seq, place in first.tuples.items() if seq >= 400} == {
        seq: place for seq, place in second.tuples.items() if seq < 1_000
    }


def test_rows_are_read_again(broker: Broker, topic: Make, open_reader: Open) -> None:
    name = topic(2)
    fill(broker, name, range(500), partitions=2)
    reader = open_reader(source_of(broker, name))
    reader.read_to(500)
    again = reader.source.rows(Range(Seq(123), Seq(321)))
    found = {
        seq: place for part in again if isinstance(part, Rows) for seq, place in places(part.table).items()
    }
    assert found == {seq: reader.tuples[seq] for seq in range(123, 321)}


def test_a_reader_of_the_newest_begins_behind_what_is_numbered(
    broker: Broker, topic: Make, open_reader: Open
) -> None:
    name = topic()
    fill(broker, name, range(100))
    first = open_reader(source_of(broker, name))
    first.read_to(100)
    second = open_reader(source_of(broker, name), start=None)
    second.until(lambda: second.skipped_to is not None)
    assert second.skipped_to == 100
    fill(broker, name, range(100, 110))
    second.read_to(110)
    assert min(second.tuples) == 100


def test_a_limit_ends_the_stream(broker: Broker, topic: Make, open_reader: Open) -> None:
    name = topic(2)
    fill(broker, name, range(100), partitions=2)
    reader = open_reader(source_of(broker, name, limit=60))
    reader.until(lambda: reader.ended_at is not None)
    assert (reader.ended_at, len(reader.tuples)) == (60, 60)


def test_starting_at_the_latest_is_settled_by_the_first_life(
    broker: Broker, topic: Make, open_reader: Open
) -> None:
    name = topic()
    source = source_of(broker, name, starting=Starting.LATEST)
    fill(broker, name, range(50))
    first = open_reader(source, start=None)
    first.until(lambda: first.skipped_to is not None)
    first.source.close()
    fill(broker, name, range(50, 60))
    second = open_reader(source)
    second.read_to(10)
    assert [n for _, _, n in second.tuples.values()] == list(range(50, 60))


def test_a_bad_record_stops_the_source_and_is_named(broker: Broker, topic: Make, open_reader: Open) -> None:
    name = topic()
    fill(broker, name, range(10))
    spoil(broker, name)
    fill(broker, name, range(10, 20))
    reader = open_reader(source_of(broker, name))
    reader.until(lambda: reader.source.fault is not None and reader.next == 10)
    assert reader.source.fault is not None
    assert "partition 0, offset 10 can't be read: " in reader.source.fault


def test_a_bad_record_is_skipped_and_takes_no_number(broker: Broker, topic: Make, open_reader: Open) -> None:
    name = topic()
    fill(broker, name, range(10))
    spoil(broker, name)
    fill(broker, name, range(10, 20))
    reader = open_reader(source_of(broker, name, on_bad=OnBadRecord.SKIP))
    reader.read_to(20)
    assert [n for _, _, n in reader.tuples.values()] == list(range(20))


def spoil(broker: Broker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.address})
    producer.produce(topic, b"no JSON")
    producer.flush(30)


def test_progress_is_committed_to_the_group(broker: Broker, topic: Make, open_reader: Open) -> None:
    name = topic(2)
    fill(broker, name, range(100), partitions=2)
    reader = open_reader(source_of(broker, name, group=f"{name}-lag"))
    reader.read_to(100)
    outside = Consumer({"bootstrap.servers": broker.address, "group.id": f"{name}-lag"})
    wanted = [TopicPartition(name, partition) for partition in (0, 1)]
    reader.until(lambda: [at.offset for at in outside.committed(wanted, timeout=30)] == [50, 50])
    outside.close()


def test_a_topic_that_does_not_exist_is_a_fault_until_it_does(
    broker: Broker, topic: Make, open_reader: Open
) -> None:
    name = f"{topic()}-later"
    reader = open_reader(source_of(broker, name))
    reader.until(lambda: "Unknown topic" in (reader.source.fault or ""))
    create(broker, name)
    fill(broker, name, range(10))
    reader.read_to(10)
    assert reader.source.fault is None


def test_an_entry_of_a_later_version_stops_the_reader(broker: Broker, topic: Make, open_reader: Open) -> None:
    name = topic()
    fill(broker, name, range(10))
    reader = open_reader(source_of(broker, name))
    reader.read_to(10)
    producer = Producer({"bootstrap.servers": broker.address})
    producer.produce(f"understudy.{name}", b'{"v":2}')
    producer.flush(30)
    reader.until(lambda: "has version 2" in (reader.source.fault or ""))
    fill(broker, name, range(10, 20))
    time.sleep(0.3)
    reader.poll()
    assert reader.next == 10
