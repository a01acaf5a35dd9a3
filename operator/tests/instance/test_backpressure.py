"""A consumer that stays away: queues fill up to their bounds, the source waits, and nothing is lost. No
Spark."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from understudy.instance.outputs import IN_VAIN, ROOM_SECONDS
from understudy.protocol.ids import Stream

from .in_process import Bounds, InProcessJob, expected, until
from .test_hand_over import MODES

BOUNDS = Bounds(memory=1_000, disk=5_000, waiting=100)
SECONDS = 1.0


def watch(running: InProcessJob) -> bool:
    """Whether the source waits. Whatever anybody does meanwhile, no queue outgrows its bound."""
    first = running.instances[str(running.leader("first"))]
    source, end = first.status()["inputs"]["numbers"], time.monotonic() + SECONDS
    while time.monotonic() < end:
        pages = [instance.status() for instance in running.instances.values()]
        queues = [queue for page in pages for queue in page["outputs"].values()]
        assert all(queue["bytes"] <= BOUNDS.memory + BOUNDS.disk for queue in queues)
        time.sleep(0.05)
    later = first.status()
    stands_still = later["inputs"]["numbers"]["position"] == source["position"]
    time_goes_on = later["inputs"]["numbers"]["available"] > source["available"]
    return bool(later["outputs"]["first"]["full"] and stands_still and time_goes_on)


def lose_the_reader(running: InProcessJob) -> None:
    """Until everybody waits for room."""
    for name in ("first-1", "second-1"):
        running.add(name)
    running.begin()
    running.flows()
    running.reader.stop()
    until(lambda: watch(running), 60)


@pytest.mark.parametrize("ha", MODES.values(), ids=MODES)
def test_a_dead_reader_stops_the_source_and_gets_every_tuple_when_it_is_back(ha: str, tmp_path: Path) -> None:
    running = InProcessJob(ha, tmp_path, bounds=BOUNDS)
    try:
        lose_the_reader(running)
        running.read(running.reader.rows)
        running.flows(2 * BOUNDS.waiting)
        rows = list(running.reader.rows)
        assert rows == expected(len(rows))
    finally:
        running.close()


def test_the_time_of_a_micro_batch_is_the_engines_own_however_long_it_waits_for_room(tmp_path: Path) -> None:
    """Else a slow sink would make its producers' engine timeouts longer: they follow the median."""
    running = InProcessJob(MODES["passiveStandby"], tmp_path, bounds=BOUNDS)
    try:
        lose_the_reader(running)
        first = running.instances[str(running.leader("first"))]
        done, began = first.context.story.batch_count, time.monotonic()
        time.sleep(2)
        running.read(running.reader.rows)
        until(lambda: first.context.story.batch_count > done + 5)
        waited_ms = (time.monotonic() - began) * 1000
        assert max(first.context.story.batch_ms) < 1_000 < waited_ms
    finally:
        running.close()


@pytest.mark.parametrize("mode", ["upstreamBackup", "savepoint", "passiveStandby"])
def test_a_queue_that_holds_less_than_a_window_of_its_reader_is_overdrawn(mode: str, tmp_path: Path) -> None:
    """The reader can neither make nor release anything before it has more: to wait for room would be for
    ever. Unless it waits for a standby."""
    running = InProcessJob(MODES[mode], tmp_path, bounds=Bounds(memory=40, disk=40, waiting=100))
    try:
        running.add("first-1")
        running.begin()
        first = running.instances[str(running.leader("first"))]
        until(lambda: first.status()["outputs"]["first"]["full"])
        time.sleep(2 * IN_VAIN * ROOM_SECONDS)
        assert first.status()["outputs"]["first"]["bytes"] <= 80
        running.add("second-1")
        running.flows(2)
        rows = list(running.reader.rows)
        assert rows == expected(len(rows))
    finally:
        running.close()


def test_input_that_waits_to_be_processed_is_not_acked_as_received(tmp_path: Path) -> None:
    running = InProcessJob(MODES["passiveStandby"], tmp_path, bounds=BOUNDS)
    try:
        lose_the_reader(running)
        first, second = (running.instances[str(running.leader(subjob))] for subjob in ("first", "second"))

        def acked() -> bool:
            position: int = second.status()["inputs"]["first"]["position"]
            waits = second.context.core.ledger.received(Stream("first")) > position
            received: int = first.status()["outputs"]["first"]["consumers"]["second"]["received"]
            return waits and received == position

        until(acked)
    finally:
        running.close()
