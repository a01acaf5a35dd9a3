"""A sink whose disk does not answer a read at its start: real processes, and pipes in the place of files."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.instance.in_process import CHAIN, until
from understudy.local.surroundings import LocalSurroundings

NAME = "sink-end"


@dataclass(frozen=True, slots=True)
class Starting:
    """A sink that is being started on a folder."""

    at: LocalSurroundings
    pid: int

    def healthz(self) -> tuple[int, str]:
        found = self.at.announcement(NAME)
        if found is None or found.pid != self.pid:
            return 0, ""
        connection = http.client.HTTPConnection(found.status, timeout=5)
        connection.request("GET", "/healthz")
        said = connection.getresponse()
        return said.status, said.read().decode()


@contextmanager
def starting(folder: Path) -> Iterator[Starting]:
    (folder / "job.yaml").write_text(CHAIN.replace("HA", "{mode: amnesia}"))
    own = ["sink", "--sink", "end", "--output", str(folder / "out"), "--life", "1", "--run-id", "test"]
    common = ["--job", str(folder / "job.yaml"), "--surroundings", f"local:{folder / 'at'}"]
    process = subprocess.Popen([sys.executable, "-m", "understudy.cli", *own, *common])
    try:
        yield Starting(LocalSurroundings(folder / "at"), process.pid)
    finally:
        process.kill()
        process.wait(60)


def pipe(folder: Path, part: str) -> Path:
    """A file whose reader waits for ever."""
    (folder / "out").mkdir(parents=True, exist_ok=True)
    path = folder / "out" / part
    os.mkfifo(path)
    return path


@pytest.mark.timeout(180)
def test_a_read_that_hangs_at_the_start_of_a_sink_fails_its_healthz(tmp_path: Path) -> None:
    """When the last file is opened, when it is read, and when the end of the one before is."""
    opened, read, end = (tmp_path / name for name in ("opened", "read", "end"))
    pipe(opened, "part-00000.jsonl")
    writer = os.open(pipe(read, "part-00000.jsonl"), os.O_RDWR)  # it is open, and nothing ever comes
    pipe(end, "part-00000.jsonl")
    (end / "out" / "part-00001.jsonl").touch()
    with ExitStack() as stack:
        stack.callback(os.close, writer)
        sinks = [stack.enter_context(starting(folder)) for folder in (opened, read, end)]
        for sink, step in zip(sinks, ("opening", "reading", "reading the end of"), strict=True):
            until(lambda sink=sink: sink.healthz()[0] == 503)  # type: ignore[misc]
            assert sink.healthz()[1].startswith(f"{step} ")
            assert sink.healthz()[1].endswith("part-00000.jsonl did not end within 10 s")
