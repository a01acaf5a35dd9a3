"""Runs the plain PySpark script: starts it, watches its output, kills it, starts it again from its
checkpoint."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from understudy.local.environment import for_children
from understudy.local.processes import Child, Reaper
from understudy.process.clock import now_ms
from understudy_lab.bench import plain_pyspark

LOOK_SECONDS = 0.01
LIMIT_SECONDS = 300.0
TUNED = ("spark.sql.shuffle.partitions=2",)
"""What anyone would set on a small machine; Spark's default is 200."""


class Stuck(Exception):
    """The script does not do what it should; the message says what to look at."""


@dataclass(frozen=True, slots=True)
class Batch:
    rows: int
    ms: int
    ended_ms: float
    """Wall clock."""


class Plain:
    def __init__(self, query: str, folder: Path, arguments: Sequence[str], conf: Sequence[str]) -> None:
        self._folder = folder
        self._output = folder / "output"
        self._progress = folder / "progress.jsonl"
        settings = [word for setting in conf for word in ("--conf", setting)]
        self.checkpoint = folder / "checkpoint"
        places = ["--output", str(self._output), "--checkpoint", str(self.checkpoint)]
        script = [sys.executable, plain_pyspark.__file__, query]
        self._command = [*script, *arguments, *places, "--progress", str(self._progress), *settings]
        self._reaper = Reaper()
        self._child: Child | None = None
        shutil.rmtree(folder, ignore_errors=True)  # a checkpoint of an earlier run would be continued
        folder.mkdir(parents=True)

    def __enter__(self) -> Plain:
        return self

    def __exit__(self, *_: object) -> None:
        self._reaper.close()

    def start(self) -> None:
        self._child = Child("plain", self._command, self._folder / "plain.log", self._reaper, for_children())

    def kill(self) -> int:
        """Returns when, in milliseconds since 1970."""
        assert self._child is not None
        at = now_ms()
        self._child.kill()
        return at

    def files(self) -> set[str]:
        """Output files that hold something."""
        if not self._output.exists():
            return set()
        with os.scandir(self._output) as found:
            return {
                e.name for e in found if e.name.endswith(".json") and e.name[0] != "." and e.stat().st_size
            }

    def arrivals(self) -> list[int]:
        """When each output file that holds something was written, in order."""
        return sorted(round((self._output / name).stat().st_mtime * 1000) for name in self.files())

    def wait_for_output(self, known: set[str]) -> int:
        """When the first output appeared that was not known."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while not self.files() - known:
            self._check(deadline)
            time.sleep(LOOK_SECONDS)
        return now_ms()

    def wait_for_batches(self, count: int) -> list[Batch]:
        deadline = time.monotonic() + LIMIT_SECONDS
        while len(found := list(self.batches())) < count:
            self._check(deadline)
            time.sleep(0.2)
        return found

    def wait_for_end(self) -> list[Batch]:
        assert self._child is not None
        deadline = time.monotonic() + LIMIT_SECONDS
        while (code := self._child.exit_code()) is None:
            if time.monotonic() > deadline:
                self._check(deadline)
            time.sleep(0.2)
        if code:
            raise Stuck(f"plain PySpark ended with {code}; see {self._child.log}")
        return list(self.batches())

    def batches(self) -> Iterator[Batch]:
        if not self._progress.exists():
            return
        for line in self._progress.read_text().splitlines():
            found = json.loads(line)
            began = _millis(found["timestamp"])
            yield Batch(found["rows"], found["ms"], began + found["ms"])

    def _check(self, deadline: float) -> None:
        assert self._child is not None
        code = self._child.exit_code()
        if code is not None or time.monotonic() > deadline:
            raise Stuck(f"plain PySpark gives nothing (exit code {code}); see {self._child.log}")


def _millis(timestamp: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp() * 1000
