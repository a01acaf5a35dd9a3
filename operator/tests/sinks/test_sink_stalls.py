"""A sink whose disk stands still: a real disk that is frozen, a real sink process, and its status page."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.instance.in_process import CHAIN, InProcessJob, expected, patient, until
from tests.sinks.disks import Disk, disk, needs_disk

HA = "{mode: upstreamBackup}"
NAME = "sink-end"

pytestmark = [needs_disk, pytest.mark.timeout(180)]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path / "disk") as made:
        yield made


@pytest.fixture
def running(tmp_path: Path) -> Iterator[InProcessJob]:
    """Instances that send to the sink of the job, and to nobody else."""
    made = InProcessJob(HA, tmp_path)
    made.reader.stop()
    made.begin()
    yield made
    made.close()


@contextmanager
def sink(running: InProcessJob, made: Disk, life: int) -> Iterator[subprocess.Popen[bytes]]:
    surroundings = running.surroundings.folder
    file = surroundings.parent / "job.yaml"
    file.write_text(CHAIN.replace("HA", patient(HA)))
    own = [
        "sink",
        "--sink",
        "end",
        "--output",
        str(made.path / "out"),
        "--life",
        str(life),
        "--run-id",
        "test",
    ]
    common = ["--job", str(file), "--surroundings", f"local:{surroundings}"]
    process = subprocess.Popen([sys.executable, "-m", "understudy.cli", *own, *common])
    try:
        yield process
    finally:
        made.thaw_if_frozen()
        process.kill()
        process.wait(60)


def answer(running: InProcessJob, process: subprocess.Popen[bytes], path: str) -> tuple[int, str]:
    found = running.surroundings.announcement(NAME)
    if found is None or found.pid != process.pid:
        return 0, ""
    connection = http.client.HTTPConnection(found.status, timeout=5)
    connection.request("GET", path)
    said = connection.getresponse()
    return said.status, said.read().decode()


def page(running: InProcessJob, process: subprocess.Popen[bytes]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answer(running, process, "/status")[1] or "{}")
    return found


def written(made: Disk) -> list[dict[str, Any]]:
    paths = sorted((made.path / "out").glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def assert_whole(made: Disk) -> None:
    rows = written(made)
    assert [row["_seq"] for row in rows] == list(range(len(rows)))
    assert [row["n"] for row in rows] == expected(len(rows))


def stands_still(running: InProcessJob, process: subprocess.Popen[bytes]) -> bool:
    return page(running, process).get("state") == "stalled"


def test_a_sink_whose_disk_is_frozen_says_so_and_goes_on_when_the_disk_does(
    running: InProcessJob, made: Disk
) -> None:
    with sink(running, made, 1) as process:
        until(lambda: page(running, process).get("tuples", 0) > 40)
        assert answer(running, process, "/healthz") == (200, "ok")
        made.freeze()
        until(lambda: stands_still(running, process), 60)
        said = page(running, process)
        assert "did not end within 10 s" in said["stalled"]
        assert said["error"] is None
        assert answer(running, process, "/healthz") == (503, said["stalled"])
        assert answer(running, process, "/readyz")[0] == 503
        made.thaw()
        until(lambda: page(running, process)["state"] == "ready", 60)
        assert answer(running, process, "/healthz") == (200, "ok")
        until(lambda: page(running, process)["tuples"] > said["tuples"] + 40)
    assert_whole(made)


def test_a_sink_that_is_started_on_a_frozen_disk_says_so(running: InProcessJob, made: Disk) -> None:
    made.freeze()
    with sink(running, made, 1) as process:
        until(lambda: page(running, process).get("state") == "starting", 60)
        until(lambda: stands_still(running, process), 60)
        assert "taking the folder" in page(running, process)["stalled"]
        made.thaw()
        until(lambda: page(running, process).get("tuples", 0) > 40, 60)
    assert_whole(made)


def test_a_sink_that_is_killed_while_its_disk_hangs_is_continued_by_the_next(
    running: InProcessJob, made: Disk
) -> None:
    with sink(running, made, 1) as process:
        until(lambda: page(running, process).get("tuples", 0) > 40)
        made.freeze()
        until(lambda: stands_still(running, process), 60)
        process.kill()
        made.thaw()
        process.wait(60)
    with sink(running, made, 2) as process:
        had = len(written(made))
        until(lambda: page(running, process).get("tuples", 0) > had + 40, 60)
    assert_whole(made)
