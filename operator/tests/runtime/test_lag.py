"""What is said of a slow sink, beside what anybody can count: the producer's queue end and the lines of the files."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.test_sink_lives import HA, spawn
from tests.runtime.troupe import CHAIN, Troupe, job_of, until
from understudy.control.pages import InstancePage, Lag, read
from understudy.modes.build import sink_consumer
from understudy.protocol.ids import Stream
from understudy.runtime.fence import Life
from understudy.runtime.sink import SinkProcess

BEHIND = 200  # tuples: about three seconds of this stream
SLACK = 30  # tuples that may be written, and not acked yet, or made between two looks


@pytest.fixture
def troupe(tmp_path: Path) -> Iterator[Troupe]:
    made = Troupe(HA, tmp_path)
    made.reader.stop()
    made.begin()
    yield made
    made.close()


def told(troupe: Troupe) -> Lag:
    """As the operator reads it from the status page of the producer."""
    page = read(troupe.players["second-0"].status())
    assert isinstance(page, InstancePage)
    return page.outputs["second"].lags[sink_consumer("end")]


def counted(troupe: Troupe, output: Path) -> int:
    """As an outside observer sees it."""
    lines = sum(len(part.read_text().splitlines()) for part in sorted(output.glob("part-*.jsonl")))
    scene = troupe.players["second-0"].scene
    with scene.lock:
        return scene.core.ledger.queues[Stream("second")].next - lines


def stopped_after_an_ack(troupe: Troupe, pid: int, output: Path) -> bool:
    """What is written and not acked, nobody but the files can tell."""
    os.kill(pid, signal.SIGSTOP)
    if told(troupe).tuples - counted(troupe, output) < SLACK:
        return True
    os.kill(pid, signal.SIGCONT)
    return False


def test_the_lag_of_a_stopped_sink_is_what_its_files_lack(troupe: Troupe, tmp_path: Path) -> None:
    output = tmp_path / "out"
    sink = spawn(tmp_path, 1)
    try:
        until(lambda: output.exists() and counted(troupe, output) < SLACK)
        until(lambda: stopped_after_an_ack(troupe, sink.pid, output))
        until(lambda: counted(troupe, output) > 0)
        began = time.monotonic()
        until(lambda: counted(troupe, output) > BEHIND and time.monotonic() > began + 3)
        least, lag, most = counted(troupe, output), told(troupe), counted(troupe, output)
        passed = time.monotonic() - began
        assert least <= lag.tuples <= most + SLACK
        assert passed / 2 <= lag.milliseconds / 1000 <= passed * 2
        os.kill(sink.pid, signal.SIGCONT)
        until(lambda: told(troupe).tuples < SLACK)
        assert counted(troupe, output) < BEHIND
    finally:
        os.kill(sink.pid, signal.SIGCONT)
        sink.terminate()
        sink.wait(30)


def test_the_page_of_a_sink_whose_write_stands_still_tells_its_lag(troupe: Troupe, tmp_path: Path) -> None:
    output, job = tmp_path / "slow", job_of(CHAIN, HA)
    sink = SinkProcess(job, job.sinks[0], output, troupe.surroundings, Life("a", 1))
    running = threading.Thread(target=sink.run, daemon=True)
    running.start()
    until(lambda: sink.log.next > 10)
    with sink._lock:
        until(lambda: sink.status()["lag"] > BEHIND)
        lag, most = sink.status(), counted(troupe, output)
        assert most // 2 < lag["lag"] <= most
        assert lag["lagMs"] > 0
    until(lambda: sink.status()["lag"] < SLACK)
    sink.stop()
    running.join(30)
