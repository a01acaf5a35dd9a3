"""Whole jobs between topics, in processes that are killed. What comes out is read by a plain client, and
compared with what plain Python makes of the records that went in."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from fastavro import parse_schema, schemaless_writer

from tests.local.command import Command
from understudy_lab.broker import topics
from understudy_lab.broker.process import Broker

pytestmark = pytest.mark.broker
Make = Callable[..., str]
PARTITIONS = 3
COUNT = 4_000
RATE = 250
TO_FILES = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: topics}
spec:
  sources:
    - name: numbers
      kafka: {bootstrapServers: "BROKER", topic: FROM, schema: "n bigint, name string", limit: COUNT}
  subjobs:
    - name: kept
      inputs: [numbers]
      operators:
        - filter: {where: "n % 3 != 0"}
        - map: {select: {n: n, doubled: n * 2, name: name, partition: _partition, offset: _offset}}
      ha: {mode: MODE}
  sinks:
    - {name: out, input: kept, SINK}
"""
AVRO = {
    "type": "record",
    "name": "Sale",
    "fields": [
        {"name": "n", "type": "long"},
        {"name": "order", "type": ["null", "string"]},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
OF_AVRO = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: sales}
spec:
  sources:
    - name: sales
      kafka:
        bootstrapServers: "BROKER"
        topic: FROM
        format: avro
        eventTime: at
        limit: 20
        onBadRecord: skip
        schema: 'SCHEMA'
  subjobs:
    - name: kept
      inputs: [sales]
      operators: [{map: {select: {n: n, order: "`order`", cents: cast(price * 100 as bigint)}}}]
      ha: {mode: amnesia}
  sinks:
    - {name: out, input: kept, files: {path: out/kept}}
"""
BAD_TOO = 1_500
READINGS = BAD_TOO - BAD_TOO // 100
EXAMPLE = Path(__file__).parents[3] / "examples" / "kafka.yaml"
FILES = "files: {path: out/kept}"
TOPIC = 'kafka: {bootstrapServers: "BROKER", topic: TO, key: name}'
MODES = ("activeStandby", "replicaBackup", "upstreamBackup", "savepoint", "amnesia", "passiveStandby")


def manifest(folder: Path, text: str, broker: Broker, **words: str) -> Path:
    for word, value in {**words, "BROKER": broker.address, "COUNT": str(COUNT)}.items():
        text = text.replace(word, value)
    path = folder / "job.yaml"
    path.write_text(text)
    return path


@contextmanager
def produced(broker: Broker, topic: str) -> Iterator[None]:
    """COUNT records while the body runs, RATE a second; key and partition by the number."""
    stop = threading.Event()
    thread = threading.Thread(target=_produce, args=(broker, topic, stop))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _produce(broker: Broker, topic: str, stop: threading.Event) -> None:
    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 5, "enable.idempotence": True})
    began = time.monotonic()
    for n in range(COUNT):
        value = json.dumps({"n": n, "name": f"k{n % 7}"}).encode()
        producer.produce(topic, value, key=b"k%d" % (n % 7), partition=n % PARTITIONS)
        producer.poll(0)
        if stop.wait(max(0.0, began + n / RATE - time.monotonic())):
            break
    producer.flush(60)


def expected() -> list[dict[str, Any]]:
    """What the filter and the map make of the records, in the order of their numbers."""
    return [
        {
            "n": n,
            "doubled": 2 * n,
            "name": f"k{n % 7}",
            "partition": n % PARTITIONS,
            "offset": n // PARTITIONS,
        }
        for n in range(COUNT)
        if n % 3 != 0
    ]


def assert_exact(rows: list[dict[str, Any]], seqs: list[int]) -> None:
    assert seqs == list(range(len(seqs)))
    assert sorted(rows, key=lambda row: int(row["n"])) == expected()
    for key in {row["name"] for row in rows}:
        for partition in range(PARTITIONS):
            mine = [row["offset"] for row in rows if (row["partition"], row["name"]) == (partition, key)]
            assert mine == sorted(mine)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for part in sorted(folder.glob("part-*.jsonl")) for line in part.open()]


def test_a_topic_is_read_into_files_each_record_once_through_a_kill(
    broker: Broker, topic: Make, tmp_path: Path
) -> None:
    name = topic(PARTITIONS)
    job = manifest(tmp_path, TO_FILES, broker, FROM=name, MODE="passiveStandby", SINK=FILES)
    command = Command("run", job, "--kill", "kept@6s", "--output", tmp_path / "out", cwd=tmp_path)
    command.wait_for("the streams begin")
    with produced(broker, name):
        code = command.wait()
    rows = lines(tmp_path / "out" / "sinks" / "out")
    assert code == 0, command.said()
    seqs = [row.pop("_seq") for row in rows]
    assert_exact(rows, seqs)


def test_a_topic_of_avro_is_read_into_files(broker: Broker, topic: Make, tmp_path: Path) -> None:
    name = topic(1)
    job = manifest(tmp_path, OF_AVRO, broker, FROM=name, SCHEMA=json.dumps(AVRO))
    command = Command("run", job, "--output", tmp_path / "out", cwd=tmp_path)
    command.wait_for("the streams begin")
    producer, schema = Producer({"bootstrap.servers": broker.address}), parse_schema(AVRO)
    for n in range(20):
        value = io.BytesIO()
        at = datetime(2026, 11, 18, 0, 0, n, tzinfo=UTC)
        schemaless_writer(
            value, schema, {"n": n, "order": None if n % 2 else "x", "price": Decimal(n), "at": at}
        )
        producer.produce(name, value.getvalue())
        producer.produce(name, b"\0\0\0\0\1" + value.getvalue())
    producer.flush(60)
    assert command.wait() == 0, command.said()
    rows = [(row["n"], row["order"], row["cents"]) for row in lines(tmp_path / "out" / "sinks" / "out")]
    assert rows == [(n, None if n % 2 else "x", 100 * n) for n in range(20)]


def test_the_example_finds_each_high_pulse_once_through_a_kill(
    broker: Broker, topic: Make, tmp_path: Path
) -> None:
    vitals, alerts = topic(1), topic(2)
    words = {
        "localhost:9092": broker.address,
        "topic: vitals\n": f"topic: {vitals}\n        limit: {READINGS}\n",
        "topic: alerts\n": f"topic: {alerts}\n",
    }
    job = manifest(tmp_path, EXAMPLE.read_text(), broker, **words)
    command = Command("run", job, "--kill", "high@5s", "--output", tmp_path / "out", cwd=tmp_path)
    command.wait_for("the streams begin")
    producer = Producer({"bootstrap.servers": broker.address})
    for n, (patient, pulse, at) in enumerate(readings()):
        value = {"patient": patient, "pulse": pulse, "at": at.isoformat().replace("+00:00", "Z")}
        producer.produce(vitals, json.dumps(value).encode() if n % 100 != 7 else b"{torn", partition=0)
        producer.poll(0.01)
    producer.flush(60)
    assert command.wait() == 0, command.said()
    found = [json.loads(record.value) for record in topics.committed(broker, alerts)]
    assert sorted(found, key=lambda alert: (alert["window_end"], alert["patient"])) == high_pulses()


def readings() -> list[tuple[str, int, datetime]]:
    """A reading of each of five patients every second, in the order of time. Some records are torn."""
    began = datetime(2026, 11, 18, tzinfo=UTC)
    return [(f"p{n % 5}", 60 + n * 37 % 80, began + timedelta(milliseconds=200 * n)) for n in range(BAD_TOO)]


def high_pulses() -> list[dict[str, Any]]:
    """By the readings that are not torn. A window is there once a reading came a second after its end."""
    good = [reading for n, reading in enumerate(readings()) if n % 100 != 7]
    latest = good[-1][2] - timedelta(seconds=1)
    found: dict[tuple[datetime, str], list[int]] = {}
    for patient, pulse, at in good:
        start = at.replace(second=at.second // 10 * 10, microsecond=0)
        if pulse > 120 and start + timedelta(seconds=10) <= latest:
            found.setdefault((start, patient), []).append(pulse)
    return [
        {
            "patient": patient,
            "window_start": start.isoformat().replace("+00:00", "Z"),
            "window_end": (start + timedelta(seconds=10)).isoformat().replace("+00:00", "Z"),
            "readings": len(pulses),
            "highest": max(pulses),
        }
        for (start, patient), pulses in sorted(found.items())
    ]


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_from_topic_to_topic_each_record_comes_out_once_through_a_kill(
    broker: Broker, topic: Make, tmp_path: Path, mode: str
) -> None:
    from_, to = topic(PARTITIONS), topic(2)
    job = manifest(tmp_path, TO_FILES, broker, SINK=TOPIC, FROM=from_, TO=to, MODE=mode)
    command = Command("run", job, "--kill", "kept@6s", "--output", tmp_path / "out", cwd=tmp_path)
    command.wait_for("the streams begin")
    with produced(broker, from_):
        code = command.wait()
    assert code == 0, command.said()
    records = topics.committed(broker, to)
    seqs = sorted(int(record.headers.removeprefix("_seq:")) for record in records)
    rows = [json.loads(record.value) for record in records]
    if mode == "amnesia":
        assert_no_more_than_lost(rows, seqs)
    else:
        assert_exact(rows, seqs)
    for record, row in zip(records, rows, strict=True):
        assert record.key == row["name"]
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["sinks"]["out"]["tuples"] == len(rows)
    assert report["incidents"]


@pytest.mark.slow
def test_a_broker_that_restarts_costs_nothing_but_time(broker: Broker, topic: Make, tmp_path: Path) -> None:
    from_, to = topic(PARTITIONS), topic(2)
    words = {"SINK": TOPIC, "FROM": from_, "TO": to, "MODE": "passiveStandby"}
    command = Command(
        "run", manifest(tmp_path, TO_FILES, broker, **words), "--output", tmp_path / "out", cwd=tmp_path
    )
    command.wait_for("the streams begin")
    with produced(broker, from_):
        time.sleep(6)
        broker.stop()
        time.sleep(3)
        broker.start()
        code = command.wait()
    assert code == 0, command.said()
    records = topics.committed(broker, to)
    seqs = sorted(int(record.headers.removeprefix("_seq:")) for record in records)
    assert_exact([json.loads(record.value) for record in records], seqs)


def assert_no_more_than_lost(rows: list[dict[str, Any]], seqs: list[int]) -> None:
    """Amnesia may lose records around the kill, and repeats none."""
    assert seqs == list(range(len(seqs)))
    came = {row["n"]: row for row in rows}
    assert len(came) == len(rows)
    assert all(row in expected() for row in rows[:50])
    assert len(rows) > COUNT // 3
