"""What the watch of an instance sees of real processes and real queues. Spark alone is left out."""

from __future__ import annotations

import http.client
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
from understudy.process.http import StatusPage
from understudy.process.latencies import Latencies

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
        if (why := watcher.status()["why"]) is not None:
            return str(why)
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


def test_healthz_fails_exactly_as_long_as_the_engine_stands_still(running: InProcessJob) -> None:
    health = Health("first", "first-0", Latencies(list))
    page = StatusPage("127.0.0.1", 0, health.status, health.ready, health.trouble)
    health.context = running.instances["first-0"].context
    health.engine, inbox = watcher_of(running)
    try:
        assert watched(health.engine, 1) is None
        assert asked(page, "/healthz") == (200, "ok")
        why = watched(health.engine, 10)
        assert why is not None
        assert asked(page, "/healthz") == (503, why)
        assert asked(page, "/readyz")[0] == 503
        assert health.status()["state"] == "stalled"
        with inbox.waited_for():
            health.engine.look()
        assert asked(page, "/healthz") == (200, "ok")
        assert asked(page, "/readyz")[0] == 200
    finally:
        page.stop()


def asked(page: StatusPage, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(page.address, timeout=5)
    connection.request("GET", path)
    said = connection.getresponse()
    return said.status, said.read().decode()
