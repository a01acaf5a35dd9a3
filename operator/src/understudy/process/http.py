"""`GET /status`, `/metrics`, `/healthz` and `/readyz` of a process.

`/metrics` is the status page as Prometheus reads it. Its library is loaded by the first scrape: a process
that nobody scrapes does not pay for it.

`/healthz` fails when the process can't do its work any more and only its kubelet may be able to notice it:
the answer is the reason.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from understudy.protocol.statuspage import StatusPage, to_bytes

CONNECTIONS: Final = 32
SECONDS: Final = 5.0
"""How long a connection may be silent."""


class BoundedServer(ThreadingHTTPServer):
    """Serves so many connections at once. One more closes the oldest: clients that say nothing keep nobody
    from asking, neither probes nor the operator."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: dict[int, socket.socket] = {}
        self._lock = threading.Lock()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            oldest = next(iter(self._open.values())) if len(self._open) >= CONNECTIONS else None
            if oldest is not None:
                self._forget(oldest)
            self._open[id(request)] = request
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(id(request), None)
        super().shutdown_request(request)

    def _forget(self, request: socket.socket) -> None:
        """Its thread finds the end of the stream, and closes it."""
        del self._open[id(request)]
        with suppress(OSError):
            request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that was closed, or silent for too long, is no error of this process."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class StatusServer:
    def __init__(
        self,
        host: str,
        port: int,
        status: Callable[[], StatusPage],
        ready: Callable[[], bool],
        trouble: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`trouble`: why the process should be restarted; None while it is healthy."""
        self._server = BoundedServer((host, port), _handler(status, ready, trouble))
        self.address = f"{host}:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, name="status-page", daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()


def _handler(
    status: Callable[[], StatusPage], ready: Callable[[], bool], trouble: Callable[[], str | None]
) -> type[BaseHTTPRequestHandler]:
    class Page(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = SECONDS

        def do_GET(self) -> None:
            match self.path:
                case "/status":
                    self._answer(200, to_bytes(status()))
                case "/metrics":
                    self._metrics()
                case "/healthz":
                    why = trouble()
                    self._answer(200 if why is None else 503, (why or "ok").encode())
                case "/readyz":
                    self._answer(200 if ready() else 503, b"ready" if ready() else b"not ready")
                case _:
                    self._answer(404, b"try /status, /metrics, /healthz or /readyz")

        def _metrics(self) -> None:
            from understudy.metrics.exposition import exposition

            self._answer(200, *exposition(status(), self.headers.get("Accept", "")))

        def _answer(self, code: int, body: bytes, kind: str | None = None) -> None:
            self.send_response(code)
            if kind is not None:
                self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Page
