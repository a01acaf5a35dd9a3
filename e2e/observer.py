"""Watches the files of a sink from outside and notes when they grow, by the clock of the test."""

from __future__ import annotations

import subprocess
import threading
import time
from itertools import pairwise
from typing import Final

from kubectl import Job, until

LOOKS: Final = "while :; do cat /output/*.jsonl | wc -c; sleep 0.05; done"


class SinkObserver:
    """As a context manager. Its looks are made in the sink's pod, which has to outlive it."""

    def __init__(self, job: Job, sink: str) -> None:
        pod = ("exec", f"{job.name}-sink-{sink}", "--", "sh", "-c", LOOKS)
        self._command = ("kubectl", "--namespace", job.namespace.name, *pod)
        self.grew: list[float] = []

    def __enter__(self) -> SinkObserver:
        self._looks = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._note, daemon=True).start()
        until("the sink is seen to write", lambda: len(self.grew) > 1, 60)
        return self

    def __exit__(self, *_: object) -> None:
        self._looks.kill()
        self._looks.wait()

    def _note(self) -> None:
        assert self._looks.stdout is not None
        size = None
        for line in self._looks.stdout:
            if size is not None and int(line) > size:
                self.grew.append(time.monotonic())
            size = int(line)

    def longest_gap(self, since: float) -> float:
        """Seconds without a tuple that ended after this moment."""
        return max(later - earlier for earlier, later in pairwise(self.grew) if later > since)

    def assert_alike(self, said: float, since: float) -> None:
        seen = self.longest_gap(since)
        print(f"{said:.2f} s without output are told, {seen:.2f} s are seen")
        assert abs(said - seen) <= max(0.2, seen / 5)
