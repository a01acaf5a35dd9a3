"""What happens to a topic while a job reads it: nothing is numbered twice, and no loss is silent."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from confluent_kafka import OFFSET_END, Producer, TopicPartition
from confluent_kafka.cimpl import NewPartitions

from tests.kafka.topics_in_use import Open, Reader, fill, source_of
from understudy.kafka.numbering_log import STATE_EVERY
from understudy.kafka.outbox import Missing, Rows
from understudy.protocol.ids import Range, Seq
from understudy_lab.broker import topics
from understudy_lab.broker.process import Broker

pytestmark = pytest.mark.broker
Make = Callable[..., str]


def numbers(reader: Reader) -> list[int]:
    return [n for _, (_, _, n) in sorted(reader.tuples.items())]


def remove(broker: Broker, topic: str, upto: int) -> None:
    """As retention does. OFFSET_END: everything."""
    at = TopicPartition(topic, 0, upto)
    topics.admin(broker).delete_records([at])[at].result(30)


def test_aborted_records_and_the_holes_of_transactions_take_no_number(
    broker: Broker, topic: Make, open_reader: Open
) -> None:
    name = topic(2)
    producer = Producer({"bootstrap.servers": broker.address, "transactional.id": name})
    producer.init_transactions()
    for n in range(30):
        producer.begin_transaction()
        for partition in (0, 1):
            producer.produce(name, b'{"n":%d}' % n, partition=partition)
        producer.commit_transaction() if n % 3 else producer.abort_transaction()
    reader = open_reader(source_of(broker, name))
    reader.read_to(40)
    expected = [n for n in range(30) if n % 3]
    for partition in (0, 1):
        assert [n for _, (p, _, n) in sorted(reader.tuples.items()) if p == partition] == expected
    later = open_reader(source_of(broker, name), start=7)
    later.read_to(40)
    assert later.tuples.items() <= reader.tuples.items()


def test_records_of_an_open_transaction_come_when_it_is_committed(
    broker: Broker, topic: Make, open_reader: Open
) -> None:
    name = topic(2)
    producer = Producer({"bootstrap.servers": broker.address, "transactional.id": name})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(name, b'{"n":0}', partition=0)
    producer.flush()
    fill(broker, name, [1, 3], partitions=2)  # of the other partition: it is not held back for ever
    reader = open_reader(source_of(broker, name))
    reader.read_to(2)
    producer.commit_transaction()
    reader.read_to(3)
    assert numbers(reader) == [1, 3, 0]


def test_a_partition_that_is_added_is_taken_up(broker: Broker, topic: Make, open_reader: Open) -> None:
    name = topic()
    fill(broker, name, range(10))
    reader = open_reader(source_of(broker, name))
    reader.read_to(10)
    topics.admin(broker).create_partitions([NewPartitions(name, 3)])[name].result(30)
    time.sleep(1)
    fill(broker, name, range(10, 40), partitions=3)
    reader.read_to(40)
    assert sorted(numbers(reader)) == list(range(40))


def test_records_that_are_removed_before_they_are_taken_are_a_loss_in_the_log(
    broker: Broker, topic: Make, open_reader: Open
) -> None:
    name = topic()
    fill(broker, name, range(10))
    first = open_reader(source_of(broker, name))
    first.read_to(10)
    first.source.close()
    fill(broker, name, range(10, 30))
    remove(broker, name, 25)
    for reader in (
        open_reader(source_of(broker, name), start=10),
        open_reader(source_of(broker, name), start=10),
    ):
        reader.read_to(15)
        assert numbers(reader) == list(range(25, 30))


def test_records_that_are_removed_and_needed_again_are_missing_by_their_seq(
    broker: Broker, topic: Make, open_reader: Open
) -> None:
    name = topic()
    fill(broker, name, range(20))
    first = open_reader(source_of(broker, name))
    first.read_to(20)
    remove(broker, name, 12)
    second = open_reader(source_of(broker, name), start=5)
    second.read_to(20)
    assert [missing.range for missing in second.missing] == [Range(Seq(5), Seq(12))]
    assert second.tuples.items() == {seq: place for seq, place in first.tuples.items() if seq >= 12}.items()
    again = first.source.rows(Range(Seq(8), Seq(14)))
    assert [part.range if isinstance(part, Missing) else part.table.num_rows for part in again] == [
        Range(Seq(8), Seq(12)),
        2,
    ]


def test_all_records_may_be_removed(broker: Broker, topic: Make, open_reader: Open) -> None:
    name = topic()
    fill(broker, name, range(20))
    first = open_reader(source_of(broker, name))
    first.read_to(20)
    remove(broker, name, OFFSET_END)
    second = open_reader(source_of(broker, name))
    second.read_to(20)
    assert [missing.range for missing in second.missing] == [Range(Seq(0), Seq(20))]
    fill(broker, name, range(20, 25))
    second.read_to(25)
    assert numbers(second) == list(range(20, 25))


def test_records_that_compaction_removes_are_missing_by_their_seq(
    broker: Broker, topic: Make, open_reader: Open
) -> None:
    name = topic(
        cleanup_policy="compact",
        segment_bytes=str(2**20),
        min_cleanable_dirty_ratio="0.01",
        max_compaction_lag_ms="1000",
    )
    producer = Producer({"bootstrap.servers": broker.address})
    padding = b" " * 50_000
    for n in range(60):
        producer.produce(name, b'{"n":%d}' % n + padding, key=b"k%d" % (n % 7))
    producer.flush()
    first = open_reader(source_of(broker, name))
    first.read_to(60)
    deadline = time.monotonic() + 60
    while len(topics.committed(broker, name)) == 60:
        assert time.monotonic() < deadline, "the broker did not compact"
        producer.produce(name, b'{"n":60}' + padding, key=b"another")
        producer.flush()
        time.sleep(1)
    left = {
        n
        for n, _ in (
            (int(seen.value[5 : seen.value.index("}")]), 0) for seen in topics.committed(broker, name)
        )
    }
    second = open_reader(source_of(broker, name))
    second.read_to(60)
    assert second.missing
    gone = {
        seq for missing in second.missing for seq in range(missing.range.start, min(60, missing.range.stop))
    }
    assert gone.isdisjoint(second.tuples)
    assert gone >= set(range(60)) - left
    assert {s: p for s, p in second.tuples.items() if s < 60}.items() <= first.tuples.items()


def test_a_topic_that_is_made_again_is_read_from_its_beginning(
    broker: Broker, topic: Make, open_reader: Open
) -> None:
    name = topic(2)
    fill(broker, name, range(20), partitions=2)
    reader = open_reader(source_of(broker, name))
    reader.read_to(20)
    topics.delete(broker, name)
    reader.until(lambda: reader.source.fault is not None)
    topics.create(broker, name, 2)
    fill(broker, name, range(100, 106), partitions=2)
    reader.read_to(26)
    assert sorted(numbers(reader)[20:]) == list(range(100, 106))
    assert not reader.missing
    assert reader.source.fault is None
    later = open_reader(source_of(broker, name))
    later.read_to(26)
    assert [missing.range for missing in later.missing] == [Range(Seq(0), Seq(20))]
    assert later.tuples.items() == {seq: p for seq, p in reader.tuples.items() if seq >= 20}.items()


def test_the_log_is_trimmed_to_a_state_when_the_topic_has_no_record_before_it(
    broker: Broker, topic: Make, open_reader: Open
) -> None:
    name = topic()
    reader = open_reader(source_of(broker, name))
    count = 0
    while count < 2 * STATE_EVERY + 10:
        fill(broker, name, [count])
        count += 1
        reader.read_to(count)
    log = f"understudy.{name}"
    whole = len(topics.committed(broker, log))
    reader.source.release(Seq(count - 5))
    topics.admin(broker).delete_records([TopicPartition(name, 0, count - 5)])
    deadline = time.monotonic() + 30
    while (left := len(topics.committed(broker, log))) == whole:
        assert time.monotonic() < deadline
        reader.poll()
    assert left < STATE_EVERY
    later = open_reader(source_of(broker, name), start=count - 5)
    later.read_to(count)
    assert later.tuples.items() <= reader.tuples.items()
    too_late = open_reader(source_of(broker, name))
    too_late.read_to(count)
    assert too_late.missing[0].range.start == 0
    assert sum(len(missing.range) for missing in too_late.missing) == count - 5
    assert sorted(too_late.tuples) == list(range(count - 5, count))
    assert all(isinstance(part, Rows) for part in later.source.rows(Range(Seq(count - 5), Seq(count))))
