"""The console's web server: the page, the newest view, and a stream of events with every view.

It listens on the loopback interface and answers only requests that name this machine as their host, so that
no web site can read it through a visitor's browser. It only reads: there is nothing to post.
"""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler
from importlib.resources import files
from typing import Any, Final

from understudy.console.board import Board
from understudy.process.http import SECONDS, BoundedServer

LOOPBACK: Final = "127.0.0.1"
HOSTS: Final = ("127.0.0.1", "localhost")
BEAT_SECONDS: Final = 2.0
"""A connection on which nothing can be sent any more is found so soon."""
RETRY_MS: Final = 1_000

PAGE: Final = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
    **{
        f"/{name}.js": (f"{name}.js", "text/javascript; charset=utf-8")
        for name in ("main", "dom", "network", "details", "incidents", "charts", "words")
    },
}
SAFE: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class ConsoleServer:
    def __init__(self, board: Board, port: int = 0) -> None:
        """Port 0: any free one."""
        self._board = board
        self._server = BoundedServer((LOOPBACK, port), _handler(board))
        self.port = int(self._server.server_address[1])
        self.url = f"http://{LOOPBACK}:{self.port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, name="console", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Connections send the newest view first."""
        self._board.close()
        self._server.shutdown()
        self._server.server_close()


def _handler(board: Board) -> type[BaseHTTPRequestHandler]:
    class Answer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = SECONDS

        def do_GET(self) -> None:
            if not self._from_here():
                return self._answer(421, b"the console answers to 127.0.0.1 and localhost only", "text/plain")
            match self.path.partition("?")[0]:
                case "/view":
                    self._answer(200 if board.newest() else 503, board.newest(), "application/json")
                case "/events":
                    self._events()
                case path if path in PAGE:
                    name, kind = PAGE[path]
                    self._answer(200, (files(__package__) / "page" / name).read_bytes(), kind)
                case _:
                    self._answer(404, b"try /", "text/plain")

        def _from_here(self) -> bool:
            return self.headers.get("Host", "").rpartition(":")[0] in HOSTS

        def _answer(self, code: int, body: bytes, kind: str) -> None:
            self._head(code, kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _head(self, code: int, kind: str) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            for name, value in SAFE.items():
                self.send_header(name, value)

        def _events(self) -> None:
            """Each view is one line of JSON, and so one event."""
            self.close_connection = True
            self._head(200, "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"retry: %d\n\n" % RETRY_MS)
            sent = 0
            while True:
                number, view = board.after(sent, BEAT_SECONDS)
                self.wfile.write(b"id: %d\ndata: %s\n\n" % (number, view) if number > sent else b": beat\n\n")
                sent = number
                if board.closed and board.after(sent, 0)[0] == sent:
                    return

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Answer
