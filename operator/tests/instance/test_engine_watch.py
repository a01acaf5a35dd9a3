"""What the watch of an instance sees of real processes and real queues. Spark alone is left out."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from understudy.engine.inbox import Inbox
from understudy.engine.lane import InputKind, InputSpec
from understudy.instance.enginewatch import EngineWatcher, Probe
from understudy.instance.health import Health
from understudy.model.elements import elements_of
from understudy.process.http import StatusServer
from understudy.process.latencies import Latencies
from understudy.protocol.statuspage import State

from .in_process import PAYLOAD, RATE, InProcessJob

LOOK_SECONDS = 0.1
AT_WORK = (
    "import time; end = time.time() + 30\nwhile time.time() < end: sum(range(1_000_000)); time.sleep(0.02)"
)
ASLEEP = "import time; time.sleep(30)"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[InProcessJob]:
    made = InProcessJob("{mode: passiveStandby, engineTimeout: 2s}", tmp_path)
    yield made
    made.close()


def watcher_of(running: InProcessJob) -> tuple[EngineWatcher, Inbox]:
    """Of an engine whose JVM answers, and whose query has a micro-batch under way."""
    context = running.instances["first-0"].context
    (element,) = elements_of(context.subjob)
    source = InputSpec("numbers", InputKind.GENERATOR, PAYLOAD, RATE, (("n", "_seq"),), ordered=True)
    probe = Probe(lambda: None)
    probe.start()
    inbox = Inbox(element, [source])
    return EngineWatcher(context, {"first": inbox}, probe), inbox


def watched(watcher: EngineWatcher, seconds: float) -> str | None:
    """Why it was found to stand still within that time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        watcher.look()
        if (why := watcher.status().why) is not None:
            return why
        time.sleep(LOOK_SECONDS)
    return None


@pytest.mark.parametrize(("worker", "stalls"), [(AT_WORK, False), (ASLEEP, True)], ids=["at work", "asleep"])
def test_a_python_worker_that_was_just_started_counts_if_it_is_at_work(
    running: InProcessJob, worker: str, stalls: bool
) -> None:
    watcher, _ = watcher_of(running)
    watcher.look()
    started = subprocess.Popen([sys.executable, "-c", worker])
    try:
        why = watched(watcher, 4)
        assert (why is not None) is stalls, why
    finally:
        started.kill()
        started.wait()


def test_a_python_worker_that_is_stopped_is_noticed_though_there_is_nothing_to_do(
    running: InProcessJob,
) -> None:
    """That of a standby, for instance: without it, the standby could not take over."""
    watcher, inbox = watcher_of(running)
    worker = subprocess.Popen([sys.executable, "-c", ASLEEP])
    try:
        with inbox.waited_for():
            assert watched(watcher, 3) is None
            worker.send_signal(signal.SIGSTOP)
            why = watched(watcher, 10)
            assert f"(process {worker.pid}) has been stopped for " in str(why)
            worker.send_signal(signal.SIGCONT)
            time.sleep(LOOK_SECONDS)
            watcher.look()
            assert watcher.status().why is None
    finally:
        worker.kill()
        worker.wait()


def test_the_timeout_is_what_was_said_and_ten_times_as_long_while_a_cold_engine_warms_up(
    running: InProcessJob,
) -> None:
    running.begin()
    running.flows()
    watcher, _ = watcher_of(running)
    story = running.instances["first-0"].context.story
    for state, timeout in ((State.READY, 2_000), (State.WARMING_UP, 20_000), (State.READY, 2_000)):
        story.state = state
        assert watcher.status().timeout_ms == timeout


def test_healthz_fails_exactly_as_long_as_the_engine_stands_still(running: InProcessJob) -> None:
    health = Health("chain", "first", "first-0", Latencies(list))
    page = StatusServer("127.0.0.1", 0, health.status, health.ready, health.trouble)
    health.context = running.instances["first-0"].context
    health.engine, inbox = watcher_of(running)
    try:
        assert watched(health.engine, 1) is None
        assert asked(page, "/healthz") == (200, "ok")
        why = watched(health.engine, 10)
        assert why is not None
        assert asked(page, "/healthz") == (503, why)
        assert asked(page, "/readyz")[0] == 503
        assert health.status().state is State.STALLED
        with inbox.waited_for():
            health.engine.look()
        assert asked(page, "/healthz") == (200, "ok")
        assert asked(page, "/readyz")[0] == 200
    finally:
        page.stop()


def asked(page: StatusServer, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(page.address, timeout=5)
    connection.request("GET", path)
    said = connection.getresponse()
    return said.status, said.read().decode()
