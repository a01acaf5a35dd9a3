"""A broker that dies, or hangs, costs nothing but time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pyarrow as pa
import pytest

from tests.kafka.topics_in_use import Open, fill, source_of
from understudy.kafka.client import Connection
from understudy.kafka.sink import KafkaSink, SinkTopic
from understudy_lab.broker.process import Broker
from understudy_lab.broker.topics import committed

pytestmark = pytest.mark.broker
Make = Callable[..., str]


def test_a_source_reads_on_when_the_broker_is_back(broker: Broker, topic: Make, open_reader: Open) -> None:
    name = topic(3)
    readers = [open_reader(source_of(broker, name)) for _ in range(2)]
    fill(broker, name, range(300), partitions=3)
    readers[0].read_to(150)
    broker.kill()
    time.sleep(1)
    broker.start()
    fill(broker, name, range(300, 600), partitions=3)
    for reader in readers:
        reader.read_to(600)
        assert not reader.missing
    assert readers[0].tuples == readers[1].tuples
    assert len({place[:2] for place in readers[0].tuples.values()}) == 600


def test_a_source_reads_on_when_the_broker_answers_again(
    broker: Broker, topic: Make, open_reader: Open
) -> None:
    name = topic()
    reader = open_reader(source_of(broker, name))
    fill(broker, name, range(100))
    reader.read_to(50)
    broker.freeze()
    time.sleep(2)
    broker.thaw()
    fill(broker, name, range(100, 200))
    reader.read_to(200)
    assert [n for _, (_, _, n) in sorted(reader.tuples.items())] == list(range(200))


def test_a_sink_commits_each_tuple_once_across_kills_of_the_broker(broker: Broker, topic: Make) -> None:
    name = topic(2)
    sink = KafkaSink(SinkTopic(Connection(broker.address), name, f"understudy.{name}.sink"), 1)
    for start in range(0, 400, 100):
        sink.write(
            pa.table(
                {"_seq": pa.array(range(start, start + 100), pa.int64()), "n": range(start, start + 100)}
            )
        )
        if start % 200 == 0:
            broker.kill()
            back = threading.Timer(1, broker.start)
            back.start()
            sink.commit()
            back.join()
        else:
            sink.commit()
        assert sink.next == start + 100
    sink.close()
    assert sorted(int(seen.headers.removeprefix("_seq:")) for seen in committed(broker, name)) == list(
        range(400)
    )
