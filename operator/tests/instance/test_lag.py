"""What is said of a slow sink, beside what anybody can count: the producer's queue end and the lines of the
files."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.instance.in_process import CHAIN, InProcessJob, job_of, until
from tests.sinks.test_sink_lives import HA, spawn
from understudy.instance.instance_page import status_of
from understudy.modes.build import sink_consumer
from understudy.protocol.ids import Stream
from understudy.protocol.statuspage import InstancePage, Lag, from_bytes, to_bytes
from understudy.sinks.port import Life, Opening
from understudy.sinks.sink import SinkProcess
from understudy.sinks.writers import writer_of

BEHIND = 200  # tuples: about three seconds of this stream
SLACK = 30  # tuples that may be written, and not acked yet, or made between two looks


@pytest.fixture
def running(tmp_path: Path) -> Iterator[InProcessJob]:
    made = InProcessJob(HA, tmp_path)
    made.reader.stop()
    made.begin()
    yield made
    made.close()


def told(running: InProcessJob) -> Lag:
    """As the operator reads it from the status page of the producer."""
    page = from_bytes(to_bytes(status_of(running.instances["second-0"].context)))
    assert isinstance(page, InstancePage)
    lag = page.outputs["second"].consumers[sink_consumer("end")].lag
    assert lag is not None
    return lag


def counted(running: InProcessJob, output: Path) -> int:
    """As an outside observer sees it."""
    lines = sum(len(part.read_text().splitlines()) for part in sorted(output.glob("part-*.jsonl")))
    context = running.instances["second-0"].context
    with context.lock:
        return context.core.ledger.queues[Stream("second")].next - lines


def stopped_after_an_ack(running: InProcessJob, pid: int, output: Path) -> bool:
    """What is written and not acked, nobody but the files can tell."""
    os.kill(pid, signal.SIGSTOP)
    if told(running).tuples - counted(running, output) < SLACK:
        return True
    os.kill(pid, signal.SIGCONT)
    return False


def test_the_lag_of_a_stopped_sink_is_what_its_files_lack(running: InProcessJob, tmp_path: Path) -> None:
    output = tmp_path / "out"
    sink = spawn(tmp_path, 1)
    try:
        until(lambda: output.exists() and counted(running, output) < SLACK)
        until(lambda: stopped_after_an_ack(running, sink.pid, output))
        until(lambda: counted(running, output) > 0)
        began = time.monotonic()
        until(lambda: counted(running, output) > BEHIND and time.monotonic() > began + 3)
        least, lag, most = counted(running, output), told(running), counted(running, output)
        passed = time.monotonic() - began
        assert least <= lag.tuples <= most + SLACK
        assert passed / 2 <= lag.milliseconds / 1000 <= passed * 2
        os.kill(sink.pid, signal.SIGCONT)
        until(lambda: told(running).tuples < SLACK)
        assert counted(running, output) < BEHIND
    finally:
        os.kill(sink.pid, signal.SIGCONT)
        sink.terminate()
        sink.wait(30)


def test_the_page_of_a_sink_with_a_hung_write_shows_its_lag(running: InProcessJob, tmp_path: Path) -> None:
    output, job = tmp_path / "slow", job_of(CHAIN, HA)
    opening = Opening(job, job.sinks[0], output, Life("a", 1))
    sink = SinkProcess(opening, writer_of(opening), running.surroundings)
    writer = threading.Thread(target=sink.run, daemon=True)
    writer.start()
    until(lambda: sink.writer.next > 10)
    with sink._lock:
        until(lambda: sink.status().lag > BEHIND)
        lag, most = sink.status(), counted(running, output)
        assert most // 2 < lag.lag <= most
        assert lag.lag_ms > 0
    until(lambda: sink.status().lag < SLACK)
    sink.stop()
    writer.join(30)
