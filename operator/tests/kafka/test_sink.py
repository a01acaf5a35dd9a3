"""A topic as a sink, on a real broker, read by Kafka's own console consumer: each tuple once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pyarrow as pa
import pytest

from understudy.kafka.client import Connection
from understudy.kafka.position import KEY, Position
from understudy.kafka.sink import Fenced, KafkaSink, SinkTopic
from understudy.protocol.ids import Seq
from understudy_lab.broker.process import Broker
from understudy_lab.broker.topics import Seen, committed, console

pytestmark = pytest.mark.broker
Make = Callable[..., str]
Open = Callable[[str, int], KafkaSink]


@pytest.fixture
def opened(broker: Broker) -> Iterator[Open]:
    with ExitStack() as stack:

        def open_(topic: str, life: int) -> KafkaSink:
            target = SinkTopic(Connection(broker.address), topic, f"understudy.{topic}.sink", key="patient")
            sink = KafkaSink(target, life)
            stack.callback(sink.close)
            return sink

        yield open_


def tuples(start: int, stop: int) -> pa.Table:
    seqs = range(start, stop)
    return pa.table(
        {"_seq": pa.array(seqs, pa.int64()), "patient": [f"p{n % 5}" for n in seqs], "n": list(seqs)}
    )


def seen(records: list[Seen], count: int) -> None:
    """Tuples 0 to `count` once each, in stream order per key, with their place in the header."""
    values = [json.loads(record.value) for record in records]
    assert [record.headers for record in records] == [f"_seq:{value['n']}" for value in values]
    assert sorted(value["n"] for value in values) == list(range(count))
    for patient in {value["patient"] for value in values}:
        own = [value["n"] for value in values if value["patient"] == patient]
        assert own == sorted(own)
        assert {
            record.key for record, value in zip(records, values, strict=True) if value["patient"] == patient
        } == {patient}


def test_readers_of_committed_records_see_each_tuple_once(broker: Broker, topic: Make, opened: Open) -> None:
    name = topic(3)
    sink = opened(name, 1)
    for start in range(0, 1_000, 100):
        sink.write(tuples(start, start + 100))
        assert sink.next == start
        sink.commit()
        assert sink.next == start + 100
    seen(console(broker, name), 1_000)


def test_a_later_life_goes_on_where_the_commits_ended(broker: Broker, topic: Make, opened: Open) -> None:
    name = topic(3)
    first = opened(name, 1)
    first.write(tuples(0, 50))
    first.commit()
    first.write(tuples(50, 80))
    second = opened(name, 2)
    assert second.next == 50
    second.write(tuples(50, 90))
    second.commit()
    seen(committed(broker, name), 90)


def test_a_life_that_was_replaced_commits_nothing_more(broker: Broker, topic: Make, opened: Open) -> None:
    name = topic(2)
    first = opened(name, 1)
    first.write(tuples(0, 30))
    second = opened(name, 2)
    with pytest.raises(Fenced):
        first.commit()
    second.write(tuples(0, 20))
    second.commit()
    seen(committed(broker, name), 20)


def test_an_earlier_life_that_comes_late_gives_way(broker: Broker, topic: Make, opened: Open) -> None:
    name = topic()
    second = opened(name, 2)
    with pytest.raises(Fenced):
        opened(name, 1)
    second.write(tuples(0, 10))
    second.commit()
    seen(committed(broker, name), 10)


def test_a_life_that_was_fenced_by_mistake_goes_on(broker: Broker, topic: Make, opened: Open) -> None:
    """As by an earlier one that was stopped between its look at the position and its first call."""
    name = topic()
    sink = opened(name, 2)
    sink.write(tuples(0, 10))
    thief = Connection(broker.address).producer(transactional_id=f"understudy.{name}.sink")
    thief.init_transactions(30)
    sink.commit()
    sink.write(tuples(10, 20))
    sink.commit()
    seen(committed(broker, name), 20)


def test_a_commit_that_the_broker_has_forgotten_is_noticed(broker: Broker, topic: Make, opened: Open) -> None:
    name = topic(1)
    sink = opened(name, 1)
    for start in (0, 10):
        sink.write(tuples(start, start + 10))
        sink.commit()
    assert (sink.next, sink.forgotten) == (20, 0)
    position = f"understudy.{name}.sink"
    forger = Connection(broker.address).producer(transactional_id=position)
    forger.init_transactions(30)
    forger.begin_transaction()
    forger.produce(position, Position(Seq(15), 1).to_bytes(), KEY, partition=0)
    forger.commit_transaction(30)
    sink.write(tuples(20, 30))
    sink.commit()
    assert (sink.next, sink.forgotten) == (30, 5)


def test_what_is_skipped_counts_with_the_next_commit(broker: Broker, topic: Make, opened: Open) -> None:
    name = topic()
    sink = opened(name, 1)
    sink.write(tuples(0, 10))
    sink.skip(Seq(25))
    sink.commit()
    assert sink.next == 25
    assert opened(name, 2).next == 25


def test_a_sink_that_is_closed_holds_no_reader_up(broker: Broker, topic: Make, opened: Open) -> None:
    name = topic()
    sink = opened(name, 1)
    sink.write(tuples(0, 10))
    sink.commit()
    sink.write(tuples(10, 20))
    sink.close()
    seen(committed(broker, name), 10)
    opened(name, 2).close()
    seen(committed(broker, name), 10)
