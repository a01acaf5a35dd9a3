"""The API server, as little of it as is needed: JSON over HTTPS, one connection kept per thread.

The operator changes nothing by this directly, only its own Lease (`election`): all else goes through `writes`.

Unreachable       no answer, or none that can be trusted: try again
ApiError          refused: the message says why
├── Conflict      409: somebody was faster, or it exists
└── NotFound      404
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from understudy.process.ports import Unreachable

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TOKEN_SECONDS: Final = 30.0  # a projected token is replaced long before it ends; read it again so often
STALE: Final = (http.client.RemoteDisconnected, http.client.CannotSendRequest, BrokenPipeError, ConnectionResetError)

Json = dict[str, Any]
Body = Mapping[str, Any] | Sequence[Mapping[str, Any]]


class ApiError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Conflict(ApiError):
    pass


class NotFound(ApiError):
    pass


@dataclass(frozen=True, slots=True)
class Login:
    """Where the API server is and who we are."""

    server: str
    tls: ssl.SSLContext | None
    token: Callable[[], str | None]

    @classmethod
    def from_pod(cls, folder: Path = SERVICE_ACCOUNT) -> Login:
        tls = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        return cls(server_of_pod(), tls, TokenFile(folder / "token"))


def server_of_pod() -> str:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


class TokenFile:
    """Kubernetes replaces the file; so it is read again from time to time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_at = -TOKEN_SECONDS
        self._token: str | None = None

    def __call__(self) -> str | None:
        now = time.monotonic()
        if now - self._read_at >= TOKEN_SECONDS:
            self._token, self._read_at = self._path.read_text().strip(), now
        return self._token


def _nothing() -> None:
    pass


class Api:
    """Every method raises Unreachable if there is no answer in time."""

    def __init__(self, login: Login, timeout: float) -> None:
        self._login = login
        self._timeout = timeout
        self._place = urlsplit(login.server)
        self._local = threading.local()

    def get(self, path: str, **query: str) -> Json:
        return self.request("GET", f"{path}?{urlencode(query)}" if query else path)

    def find(self, path: str) -> Json | None:
        try:
            return self.get(path)
        except NotFound:
            return None

    def list(self, path: str, **query: str) -> list[Json]:
        """The newest state, not the API server's cache: a decision rests on it."""
        items: list[Json] = self.get(path, **query).get("items") or []
        return items

    # ---- one request

    def request(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        kind: str = "application/json",
        before: Callable[[], None] = _nothing,
    ) -> Json:
        """`before` is called on an open connection, right before the first byte is sent: what it raises ends it."""
        raw = json.dumps(body).encode() if body is not None else None
        headers = {"Accept": "application/json", "User-Agent": "understudy"}
        if raw is not None:
            headers["Content-Type"] = kind
        try:
            if token := self._login.token():
                headers["Authorization"] = f"Bearer {token}"
            status, text = self._send(method, self._place.path.rstrip("/") + path, raw, headers, before)
        except (OSError, http.client.HTTPException) as error:
            self._drop()
            raise Unreachable(f"{method} {path}: {type(error).__name__}: {error}") from error
        return _answer(method, path, status, text)

    def _send(
        self, method: str, path: str, raw: bytes | None, headers: dict[str, str], before: Callable[[], None]
    ) -> tuple[int, bytes]:
        """A kept connection may have been closed meanwhile: no failure, so it is tried once more on a new one."""
        kept = getattr(self._local, "connection", None)
        try:
            return self._exchange(kept or self._connect(), method, path, raw, headers, before)
        except STALE:
            self._drop()
            if kept is None:
                raise
            return self._exchange(self._connect(), method, path, raw, headers, before)

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        raw: bytes | None,
        headers: dict[str, str],
        before: Callable[[], None],
    ) -> tuple[int, bytes]:
        if connection.sock is None:
            connection.connect()
        before()
        connection.request(method, path, body=raw, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._place.hostname or "", self._place.port
        if self._place.scheme == "http":
            made = http.client.HTTPConnection(host, port, timeout=self._timeout)
        else:
            made = http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._login.tls)
        self._local.connection = made
        return made

    def _drop(self) -> None:
        connection = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is not None:
            connection.close()


def _answer(method: str, path: str, status: int, text: bytes) -> Json:
    if status in (429, 500, 502, 503, 504):
        raise Unreachable(f"{method} {path}: {status} {text[:200].decode(errors='replace')}")
    try:
        found = json.loads(text) if text else {}
    except ValueError as error:
        raise Unreachable(f"{method} {path}: {status}, not JSON") from error
    if status < 400:
        return found if isinstance(found, dict) else {}
    message = f"{method} {path}: {status} {found.get('message', '')}"
    raise {404: NotFound, 409: Conflict}.get(status, ApiError)(status, message)
