"""What the watch of an instance sees of real processes and real queues. Spark alone is left out."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from understudy.engine.inbox import Inbox
from understudy.engine.lane import InputKind, InputSpec
from understudy.instance.enginewatch import EngineWatcher, Probe
from understudy.model.elements import elements_of

from .in_process import PAYLOAD, RATE, InProcessJob

LOOK_SECONDS = 0.1
AT_WORK = "import time; end = time.time() + 30\nwhile time.time() < end: sum(range(1_000_000)); time.sleep(0.02)"
ASLEEP = "import time; time.sleep(30)"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[InProcessJob]:
    made = InProcessJob("{mode: passiveStandby, engineTimeout: 2s}", tmp_path)
    yield made
    made.close()


def watcher_of(running: InProcessJob) -> EngineWatcher:
    """Of an engine whose JVM answers, and whose query has a micro-batch under way."""
    context = running.instances["first-0"].context
    (element,) = elements_of(context.subjob)
    source = InputSpec("numbers", InputKind.GENERATOR, PAYLOAD, RATE, (("n", "_seq"),), ordered=True)
    probe = Probe(lambda: None)
    probe.start()
    return EngineWatcher(context, {"first": Inbox(element, [source])}, probe)


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
    watcher = watcher_of(running)
    watcher.look()
    started = subprocess.Popen([sys.executable, "-c", worker])
    try:
        why = watched(watcher, 4)
        assert (why is not None) is stalls, why
    finally:
        started.kill()
        started.wait()
