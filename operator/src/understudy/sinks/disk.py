"""The disk steps of a sink's threads. Each step is noted, so that another thread notices one that hangs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import structlog

from understudy.protocol.disk_watch import DiskWatch
from understudy.protocol.ids import Millis

log = structlog.get_logger()
LOOK_SECONDS = 0.2


class Disk:
    def __init__(self) -> None:
        self._steps: dict[int, str] = {}
        self._numbers = count()
        self._watch = DiskWatch()

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        number = next(self._numbers)
        self._steps[number] = what
        try:
            yield
        finally:
            del self._steps[number]

    @property
    def under_way(self) -> tuple[str, ...]:
        return tuple(self._steps.copy().values())

    @property
    def stalled(self) -> str | None:
        """Why the disk has stalled; None while it works."""
        return self._watch.stalled

    def watch(self) -> None:
        """Begins to watch, in a thread that does not use the disk."""
        threading.Thread(target=self._look_forever, name="disk-watch", daemon=True).start()

    def _look_forever(self) -> None:
        while True:
            before = self._watch.stalled
            self._watch = self._watch.look(Millis(time.monotonic_ns() // 1_000_000), dict(self._steps))
            if self._watch.stalled is not None and before is None:
                log.error("disk stalled", why=self._watch.stalled)
            elif self._watch.stalled is None and before is not None:
                log.warning("disk works again")
            time.sleep(LOOK_SECONDS)
