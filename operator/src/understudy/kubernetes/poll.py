"""Asks pods for their status pages, all at once and with a short time-out; the last answer of each is kept.

A pod's silence is counted from the first question that it did not answer, not from its last answer: it may
not have been asked for a while. A pod that answers with a page that is not understood is not silent: it is
alive, and nothing else is known of it.
"""

from __future__ import annotations

import http.client
import io
import socket
import threading
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import structlog

from understudy.control import names
from understudy.control.observed import Phase, Pod, Seen
from understudy.process.clock import now_ms, steady_ms
from understudy.protocol.ids import Millis
from understudy.protocol.statuspage import StatusPage, from_bytes
from understudy.protocol.versioned import NotUnderstood

log = structlog.get_logger()
TIMEOUT: Final = 1.0
AT_ONCE: Final = 32
LARGEST: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class _Answer:
    page: StatusPage
    at: Millis
    silent: bool = False

    def seen(self) -> Seen:
        """The age is counted on the steady clock: setting the wall clock makes no page older."""
        return Seen(self.page, now_ms() - (steady_ms() - self.at), self.silent)


class Poller:
    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="poll")
        self._seen: dict[str, _Answer] = {}
        self._nodes: dict[str, str] = {}  # of pods that are asked
        self._not_understood: dict[str, str] = {}  # pod → why
        self._lock = threading.Lock()

    def pages(self, pods: Iterable[Pod]) -> dict[str, Seen]:
        """Pod → its newest page. The page of a deleted pod is never used for another one."""
        known = tuple(pods)
        asked = [pod for pod in known if pod.ip and pod.phase is Phase.RUNNING]
        self._place(known, asked)
        for pod, page in zip(asked, self._threads.map(ask, asked), strict=True):
            with self._lock:
                self._note(pod, page)
        return {pod.name: self._seen[pod.uid].seen() for pod in known if pod.uid in self._seen}

    def elsewhere(self, pods: Iterable[Pod]) -> dict[str, tuple[Seen, ...]]:
        """Node → the newest pages of other polled pods there, without those given."""
        known, found = {pod.uid for pod in pods}, defaultdict[str, list[Seen]](list)
        with self._lock:
            for uid, node in self._nodes.items():
                if uid in self._seen and uid not in known:
                    found[node].append(self._seen[uid].seen())
        return {node: tuple(seen) for node, seen in found.items()}

    def _place(self, known: Iterable[Pod], asked: Iterable[Pod]) -> None:
        with self._lock:
            for pod in known:
                self._nodes.pop(pod.uid, None)
            self._nodes.update({pod.uid: pod.node for pod in asked if pod.node})

    def _note(self, pod: Pod, page: StatusPage | NotUnderstood | None) -> None:
        known = self._seen.get(pod.uid)
        match page:
            case NotUnderstood(why):
                self._seen.pop(pod.uid, None)
                if self._not_understood.get(pod.uid) != why:
                    log.error("status page not understood", pod=pod.name, why=why)
                self._not_understood[pod.uid] = why
            case None:
                if known is not None and not known.silent:
                    self._seen[pod.uid] = _Answer(known.page, steady_ms(), silent=True)
            case _:
                self._not_understood.pop(pod.uid, None)
                self._seen[pod.uid] = _Answer(page, steady_ms())

    def forget(self, pods: Iterable[Pod]) -> None:
        with self._lock:
            for pod in pods:
                self._seen.pop(pod.uid, None)
                self._nodes.pop(pod.uid, None)
                self._not_understood.pop(pod.uid, None)


def ask(pod: Pod) -> StatusPage | NotUnderstood | None:
    """None if it does not answer, or not wholly in time."""
    try:
        answer = http.client.HTTPResponse(_Received(_exchange(pod.ip or "")), method="GET")  # type: ignore[arg-type]
        answer.begin()
        return from_bytes(answer.read())
    except (OSError, http.client.HTTPException):
        return None


def _exchange(ip: str) -> bytes:
    """The whole answer. TIMEOUT is for all of it: a pod that sends byte by byte holds no thread for
    longer."""
    deadline, received = steady_ms() + TIMEOUT * 1000, bytearray()
    with socket.create_connection((ip, names.STATUS_PORT), TIMEOUT) as connection:
        connection.sendall(f"GET /status HTTP/1.0\r\nHost: {ip}\r\n\r\n".encode())
        while len(received) <= LARGEST:
            left = (deadline - steady_ms()) / 1000
            if left <= 0:
                raise TimeoutError
            connection.settimeout(left)
            part = connection.recv(65_536)
            if not part:
                return bytes(received)
            received += part
    raise OSError(f"the page is larger than {LARGEST} bytes")


class _Received:
    """What was received, as the socket that http.client reads."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._content)
