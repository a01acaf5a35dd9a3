"""Runs the real command in a process of its own and finds whatever it leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

MARK = "UNDERSTUDY_TEST_MARK"


class Command:
    """`understudy WORDS…`. All that it starts inherits a mark in its environment."""

    def __init__(self, *words: object, cwd: Path, env: dict[str, str] | None = None) -> None:
        self._mark = uuid.uuid4().hex
        self.log = cwd / f"command-{self._mark[:6]}.log"
        self.out = cwd / f"command-{self._mark[:6]}.out"
        environment = {**os.environ, **(env or {}), MARK: self._mark}
        command = [sys.executable, "-m", "understudy.cli", *(str(word) for word in words)]
        with self.log.open("w") as log, self.out.open("w") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=log, cwd=cwd, env=environment)

    def wait(self, seconds: float = 400) -> int:
        return self.process.wait(seconds)

    def wait_for(self, words: str, seconds: float = 200) -> None:
        """Until it says so."""
        assert until(lambda: words in self.said() or self.process.poll() is not None, seconds), self.said()
        assert words in self.said(), self.said()

    def said(self) -> str:
        return self.log.read_text()

    def json(self) -> Any:
        return json.loads(self.out.read_text())

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def left_behind(self) -> list[str]:
        """The command lines of processes that carry the mark, the command itself apart."""
        wanted = f"{MARK}={self._mark}".encode()
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                marked = wanted in (entry / "environ").read_bytes().split(b"\0")
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if marked and int(entry.name) != self.process.pid and line:
                found.append(line)
        return found


def until(condition: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return condition()
