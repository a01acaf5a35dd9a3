"""How far away the job's other processes are: the time of a TCP handshake with each of their status pages.

The operator places replacements by these latencies (CLEA). A handshake is one packet in each direction, every
few seconds; the least of the last few counts, because a busy machine only adds to it.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

EVERY_SECONDS: Final = 10.0
TIMEOUT: Final = 1.0
REMEMBERED: Final = 6


class Latencies:
    def __init__(self, neighbours: Callable[[], Iterable[str]]) -> None:
        self._neighbours = neighbours
        self._measured: dict[str, deque[float]] = {}
        threading.Thread(target=self._run, name="latencies", daemon=True).start()

    def figures(self) -> dict[str, float]:
        """Host → milliseconds."""
        return {host: round(min(times), 3) for host, times in dict(self._measured).items()}

    def _run(self) -> None:
        while True:
            self._round()
            time.sleep(EVERY_SECONDS)

    def _round(self) -> None:
        """Measures all once. An address that does not answer is dropped: its process is gone, or too far away
        to count on."""
        found: dict[str, deque[float]] = {}
        for address in self._neighbours():
            host = address.rpartition(":")[0]
            if (took := handshake(address)) is not None:
                found[host] = self._measured.get(host, deque(maxlen=REMEMBERED))
                found[host].append(took)
        self._measured = found


def handshake(address: str) -> float | None:
    """Milliseconds; None if no process answers."""
    host, _, port = address.rpartition(":")
    begun = time.perf_counter()
    try:
        with socket.create_connection((host, int(port)), TIMEOUT):
            return (time.perf_counter() - begun) * 1000
    except OSError:
        return None
