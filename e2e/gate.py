"""A gate between an operator and the API server: it sees each request, and may keep the answer to itself."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from kubectl import Json

UNCOUNTED = ("/events", "selfsubject")  # words for people, and questions
HEADERS = ("content-type", "accept")


@dataclass
class Gate:
    """Between one operator and `kubectl proxy` at this port."""

    upstream: int
    writes: list[str] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)

    def passes(self, method: str, path: str, body: bytes) -> bool:
        """Whether its sender may hear that this was done."""
        if method != "GET" and not any(word in path for word in UNCOUNTED):
            self.writes.append(f"{method} {path.partition('?')[0]}")
            self.wrote(self.writes[-1], body)
        return not self.closed.is_set()

    def wrote(self, write: str, body: bytes) -> None:
        """This write was done, and its sender does not know it yet."""

    @contextmanager
    def serving(self) -> Iterator[int]:
        gate = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle(self) -> None:
                with suppress(OSError, HTTPException):  # a killed operator says no goodbye
                    super().handle()

            def forward(self) -> None:
                if gate.closed.is_set():
                    self.close_connection = True
                    return
                body: bytes = self.rfile.read(int(self.headers.get("content-length") or 0))
                known = {name: value for name in HEADERS if (value := self.headers.get(name))}
                upstream = HTTPConnection("127.0.0.1", gate.upstream, timeout=120)
                upstream.request(self.command, self.path, body or None, known)
                answer = upstream.getresponse()
                if not gate.passes(self.command, self.path, body):
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers.get("content-type") or "application/json")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                while piece := answer.read1(1 << 16):
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def kubeconfig(port: int) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "gate", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "nobody", "user": {}}],
        "contexts": [{"name": "gate", "context": {"cluster": "gate", "user": "nobody"}}],
        "current-context": "gate",
    }
