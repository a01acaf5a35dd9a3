"""Sends what waits in a spool, request by request, until it is acked or refused for good."""

from __future__ import annotations

import http.client
import json
import ssl
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from understudy.push.spool import Waiting

TIMEOUT: Final = 30.0
LONGEST_WAIT: Final = 5.0


class Refused(Exception):
    """The request will never be taken as it is. The text is a sentence."""


@dataclass(frozen=True, slots=True)
class Target:
    """`authority`: a file with the certificates that the server's is checked against; None: the system's."""

    url: str
    stream: str
    token: str | None = None
    authority: str | None = None


@dataclass(frozen=True, slots=True)
class Later:
    """The request is not acked. It is sent again after so many seconds, if the server says how many."""

    why: str
    seconds: float | None = None


class Sender:
    def __init__(self, target: Target, producer: str) -> None:
        self._target, self._producer = target, producer
        self._at = urlsplit(target.url)
        self._path = f"{self._at.path.rstrip('/')}/v1/streams/{target.stream}"
        self._connection: http.client.HTTPConnection | None = None

    def send(self, request: Waiting) -> Later | None:
        """None: it is acked. Raises Refused."""
        try:
            status, headers, said = self._exchange(request)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            return Later(f"{self._target.url} does not answer: {error}")
        if status == 200:
            return None
        why = str(said.get("why", f"status {status}"))
        if status in (408, 429) or status >= 500:
            return Later(why, _seconds(headers.get("Retry-After")))
        raise Refused(f"request {request.sequence} is refused: {why}")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _exchange(self, request: Waiting) -> tuple[int, http.client.HTTPMessage, dict[str, object]]:
        if self._connection is None:
            self._connection = self._connect()
        headers = {
            "Content-Type": "application/x-ndjson",
            "Understudy-Producer": self._producer,
            "Understudy-Sequence": str(request.sequence),
        }
        if self._target.token is not None:
            headers["Authorization"] = f"Bearer {self._target.token}"
        self._connection.request("POST", self._path, request.body, headers)
        answer = self._connection.getresponse()
        said = json.loads(answer.read() or b"{}")
        if answer.will_close:
            self.close()
        return answer.status, answer.headers, said if isinstance(said, dict) else {}

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._at.hostname or "", self._at.port
        if self._at.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=TIMEOUT)
        context = ssl.create_default_context(cafile=self._target.authority)
        return http.client.HTTPSConnection(host, port, timeout=TIMEOUT, context=context)


def _seconds(text: str | None) -> float | None:
    return min(float(text), LONGEST_WAIT) if text is not None and text.isdecimal() else None
