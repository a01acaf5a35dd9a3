"""Reads the status pages of the job's processes, each in a thread of its own, so that a slow one delays
nobody."""

from __future__ import annotations

import http.client
import threading
import time

from understudy.local.surroundings import LocalSurroundings
from understudy.protocol.statuspage import StatusPage, from_bytes
from understudy.protocol.versioned import NotUnderstood

INTERVAL_SECONDS = 0.25
TIMEOUT_SECONDS = 5.0


class PageReader(threading.Thread):
    """The newest page of one process. Keeps the last one after the process is gone."""

    def __init__(self, name: str, pid: int, surroundings: LocalSurroundings) -> None:
        super().__init__(name=f"page-{name}", daemon=True)
        self._process, self._pid = name, pid
        self._surroundings = surroundings
        self._stopping = threading.Event()
        self._page: StatusPage | None = None
        self._answered = time.monotonic()
        self.start()

    @property
    def page(self) -> StatusPage | None:
        """None before it answers."""
        return self._page

    @property
    def silent_ms(self) -> int:
        """How long ago it answered last."""
        return round((time.monotonic() - self._answered) * 1000)

    def run(self) -> None:
        connection: http.client.HTTPConnection | None = None
        while not self._stopping.is_set():
            connection = connection or self._connect()
            if connection is not None:
                try:
                    self._page = _get(connection)
                    self._answered = time.monotonic()
                except (OSError, http.client.HTTPException, ValueError):
                    connection.close()
                    connection = None
            self._stopping.wait(INTERVAL_SECONDS)

    def _connect(self) -> http.client.HTTPConnection | None:
        """Only to the process meant: an announcement of an earlier life names another pid."""
        found = self._surroundings.announcement(self._process)
        if found is None or found.pid != self._pid:
            return None
        return http.client.HTTPConnection(found.status, timeout=TIMEOUT_SECONDS)

    def close(self) -> None:
        self._stopping.set()


def _get(connection: http.client.HTTPConnection) -> StatusPage:
    connection.request("GET", "/status")
    found = from_bytes(connection.getresponse().read())
    if isinstance(found, NotUnderstood):
        raise ValueError(found.why)
    return found
