"""Bad records in a topic of their own, each once, with the reason."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from tests.kafka.topics_in_use import Open, fill, source_of
from understudy.kafka.client import Connection
from understudy.kafka.dead_letters import DeadLetters, copy_dead_letters
from understudy.model.sources import OnBadRecord
from understudy_lab.broker.process import Broker
from understudy_lab.broker.topics import Seen, committed

pytestmark = pytest.mark.broker


def test_each_bad_record_is_copied_once_by_whoever_leads(
    broker: Broker, topic: Callable[..., str], open_reader: Open
) -> None:
    name, to = topic(2), topic()
    readers = [open_reader(source_of(broker, name, on_bad=OnBadRecord.SKIP)) for _ in range(2)]
    letters = DeadLetters(
        Connection(broker.address), name, f"understudy.{name}", to, f"understudy.{name}.dead"
    )
    producer = Producer({"bootstrap.servers": broker.address})
    for n in range(6):
        fill(broker, name, [10 * n, 10 * n + 1], partitions=2)
        producer.produce(name, b"bad %d" % n, key=b"key", partition=n % 2, headers=[("own", b"1")])
        producer.flush()
        readers[0].read_to(2 * n + 2)
        if n % 2:
            copy_until(letters, lambda n=n: len(committed(broker, to)) >= n)  # type: ignore[misc]
    copy_until(letters, lambda: len(committed(broker, to)) >= 6)
    found = committed(broker, to)
    assert [seen.value for seen in found] == [f"bad {n}" for n in range(6)]
    assert all(says_why(seen, name) for seen in found)


def copy_until(letters: DeadLetters, done: Callable[[], bool]) -> None:
    """One life of the copy."""
    stopping = threading.Event()
    copying = threading.Thread(target=copy_dead_letters, args=(letters, stopping))
    copying.start()
    while not done() and copying.is_alive():
        stopping.wait(0.1)
    stopping.set()
    copying.join(30)


def says_why(seen: Seen, topic: str) -> bool:
    parts = ("own:1", f"understudy.topic:{topic}", "understudy.offset:", "understudy.why:JSON parse error")
    return seen.key == "key" and all(part in seen.headers for part in parts)
