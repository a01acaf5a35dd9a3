"""What the kubelet is told of an instance that stands still: a real process, and a Java that hangs at its
start."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from understudy.local.surroundings import LocalSurroundings
from understudy.process.family import family, kill_all

from .in_process import CHAIN, until

HANGS = "#!/bin/sh\nexec sleep 600\n"
INSTANCE = """
import sys
from pathlib import Path
from understudy.instance.process import Place, SubjobProcess
from understudy.local.surroundings import LocalSurroundings
from understudy.model.load import load

folder = Path(sys.argv[1])
job = load((folder / "job.yaml").read_text())
place = Place("first-0", "127.0.0.1", 0, 0, folder / "scratch", folder)
at = LocalSurroundings(folder / "at")
sys.exit(SubjobProcess(job, job.subjob("first"), at, place, start_ms=2_000).run())
"""


@pytest.fixture
def starting(tmp_path: Path) -> Iterator[LocalSurroundings]:
    """An instance whose Spark never starts."""
    (tmp_path / "job.yaml").write_text(CHAIN.replace("HA", "{mode: amnesia}"))
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(HANGS)
    java.chmod(0o755)
    environment = {**os.environ, "JAVA_HOME": str(java.parents[1])}
    process = subprocess.Popen([sys.executable, "-c", INSTANCE, str(tmp_path)], env=environment)
    yield LocalSurroundings(tmp_path / "at")
    started = family(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    kill_all(started[1:])


def answer(at: LocalSurroundings, path: str) -> tuple[int, str]:
    found = at.announcement("first-0")
    if found is None:
        return 0, ""
    connection = http.client.HTTPConnection(found.status, timeout=5)
    connection.request("GET", path)
    said = connection.getresponse()
    return said.status, said.read().decode()


def page(at: LocalSurroundings) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answer(at, "/status")[1] or "{}")
    return found


def test_an_instance_whose_spark_does_not_start_in_time_is_to_be_restarted(
    starting: LocalSurroundings,
) -> None:
    until(lambda: answer(starting, "/healthz") == (200, "ok"))
    assert page(starting)["state"] == "starting"
    assert answer(starting, "/readyz")[0] == 503
    until(lambda: answer(starting, "/healthz") == (503, "Spark did not start within 2 s"))
