"""Bad records in a topic of their own, each once, with the reason."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition

from tests.kafka.topics_in_use import Open, fill, source_of
from tests.local.command import Command
from understudy.kafka.dead_letters import Copying
from understudy.kafka.position import read_position
from understudy.kafka.topic import DeadLetters, SourceTopic
from understudy.model.sources import OnBadRecord
from understudy_lab.broker.process import Broker
from understudy_lab.broker.topics import Seen, admin, committed

pytestmark = pytest.mark.broker
Make = Callable[..., str]
SECONDS = 60.0
COUNT = 1_500
RATE = 150
LIMIT = COUNT - COUNT // 10
JOB = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: letters}
spec:
  sources:
    - name: numbers
      kafka:
        bootstrapServers: "BROKER"
        topic: FROM
        schema: "n bigint"
        limit: LIMIT
        onBadRecord: {deadLetter: DEAD}
  subjobs:
    - name: kept
      inputs: [numbers]
      operators: [{map: {select: {n: n}}}]
      ha: {mode: MODE}
  sinks:
    - {name: out, input: kept, files: {path: out/kept}}
"""


def test_each_bad_record_is_copied_once_by_the_instances_that_lead_in_turn(
    broker: Broker, topic: Make, open_reader: Open
) -> None:
    name, to = topic(2), topic()
    source, letters = skipping(broker, name), DeadLetters(to, f"understudy.{name}.dead")
    readers = [open_reader(source) for _ in range(2)]
    for n in range(6):
        fill(broker, name, [10 * n, 10 * n + 1], partitions=2)
        send(broker, name, b"bad %d" % n, n % 2)
        readers[0].read_to(2 * n + 2)
        if n % 2:
            with leading(source, letters):
                wait_until(lambda n=n: len(committed(broker, to)) >= n + 1)  # type: ignore[misc]
    found = committed(broker, to)
    assert [seen.value for seen in found] == [f"bad {n}" for n in range(6)]
    assert all(says_why(seen, name) for seen in found)


def test_two_instances_that_both_believe_to_lead_copy_each_bad_record_once(
    broker: Broker, topic: Make, open_reader: Open
) -> None:
    name, to = topic(2), topic()
    source, letters = skipping(broker, name), DeadLetters(to, f"understudy.{name}.dead")
    reader = open_reader(source)
    with leading(source, letters), leading(source, letters):
        for n in range(40):
            send(broker, name, b"bad %d" % n, n % 2)
            fill(broker, name, [n])
            reader.read_to(n + 1)
        wait_until(lambda: len(committed(broker, to)) >= 40)
    assert sorted(seen.value for seen in committed(broker, to)) == sorted(f"bad {n}" for n in range(40))


def test_the_place_and_the_reason_are_copied_of_a_bad_record_that_the_topic_no_longer_holds(
    broker: Broker, topic: Make, open_reader: Open
) -> None:
    name, to = topic(), topic()
    source, letters = skipping(broker, name), DeadLetters(to, f"understudy.{name}.dead")
    send(broker, name, b"bad", 0)
    fill(broker, name, [1, 2])
    open_reader(source).read_to(2)
    admin(broker).delete_records([TopicPartition(name, 0, 2)])[TopicPartition(name, 0, 2)].result(SECONDS)
    with leading(source, letters):
        wait_until(lambda: len(committed(broker, to)) >= 1)
    (found,) = committed(broker, to)
    assert found.value == "null"
    assert "understudy.offset:0" in found.headers


def test_an_instance_that_does_not_lead_learns_when_all_is_copied(
    broker: Broker, topic: Make, open_reader: Open
) -> None:
    name, to = topic(), topic()
    source = skipping(broker, name, limit=2)
    letters = DeadLetters(to, f"understudy.{name}.dead")
    fill(broker, name, [1])
    send(broker, name, b"bad", 0)
    fill(broker, name, [2])
    reader = open_reader(source)
    reader.until(lambda: reader.ended_at is not None)
    serial, other = reader.end_serial, Copying(source, letters)
    try:
        assert not other.has_copied(serial)
        with leading(source, letters):
            wait_until(lambda: other.has_copied(serial))
    finally:
        other.stop()
    assert [seen.value for seen in committed(broker, to)] == ["bad"]
    assert read_position(source.connection, letters.position).next >= serial


def test_a_topic_that_can_not_be_written_is_named_with_the_reason(broker: Broker, topic: Make) -> None:
    name = topic()
    source = skipping(broker, name)
    copying = Copying(source, DeadLetters("dead", "not/a/topic"))
    copying.lead(True)
    try:
        wait_until(lambda: copying.fault is not None)
    finally:
        copying.stop()
    assert copying.fault is None


def test_the_stream_ends_after_the_last_bad_record_is_copied(
    broker: Broker, topic: Make, tmp_path: Path
) -> None:
    run_job(broker, topic, tmp_path, "passiveStandby")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["passiveStandby", "activeStandby"])
def test_each_bad_record_is_copied_once_through_a_kill(
    broker: Broker, topic: Make, tmp_path: Path, mode: str
) -> None:
    run_job(broker, topic, tmp_path, mode, "--kill", "kept@5s")


def run_job(broker: Broker, topic: Make, folder: Path, mode: str, *more: str) -> None:
    """Every tenth record is bad. The last tuple is in their partition, so all bad records come before it."""
    name, dead = topic(2), topic()
    words = {"BROKER": broker.address, "FROM": name, "DEAD": dead, "LIMIT": str(LIMIT), "MODE": mode}
    text = JOB
    for word, instead in words.items():
        text = text.replace(word, instead)
    job = folder / "job.yaml"
    job.write_text(text)
    command = Command("run", job, *more, "--output", folder / "out", cwd=folder)
    command.wait_for("the streams begin")
    producer = Producer({"bootstrap.servers": broker.address})
    began = time.monotonic()
    for n in range(COUNT):
        value = b"bad %d" % n if n % 10 == 3 else b'{"n":%d}' % n
        producer.produce(name, value, key=b"key", partition=n % 2, headers=[("own", b"1")])
        producer.poll(0)
        time.sleep(max(0.0, began + n / RATE - time.monotonic()))
    producer.flush(SECONDS)
    assert command.wait() == 0, command.said()
    parts = sorted((folder / "out" / "sinks" / "out").glob("part-*.jsonl"))
    rows = [json.loads(line) for part in parts for line in part.open()]
    assert sorted(row["n"] for row in rows) == [n for n in range(COUNT) if n % 10 != 3]
    found = committed(broker, dead)
    assert sorted(int(seen.value.removeprefix("bad ")) for seen in found) == list(range(3, COUNT, 10))
    assert all(says_why(seen, name) for seen in found)


def skipping(broker: Broker, name: str, limit: int | None = None) -> SourceTopic:
    return source_of(broker, name, on_bad=OnBadRecord.SKIP, limit=limit)


def send(broker: Broker, topic: str, value: bytes, partition: int) -> None:
    producer = Producer({"bootstrap.servers": broker.address})
    producer.produce(topic, value, key=b"key", partition=partition, headers=[("own", b"1")])
    assert producer.flush(SECONDS) == 0


@contextmanager
def leading(source: SourceTopic, letters: DeadLetters) -> Iterator[Copying]:
    """One instance, while it leads."""
    copying = Copying(source, letters)
    copying.lead(True)
    try:
        yield copying
    finally:
        copying.stop()


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def says_why(seen: Seen, topic: str) -> bool:
    parts = ("own:1", f"understudy.topic:{topic}", "understudy.offset:", "understudy.why:JSON parse error")
    return seen.key == "key" and all(part in seen.headers for part in parts)
