"""Pages that come slowly, or never end: the operator waits for each no longer than its time-out."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from understudy.control import names
from understudy.control.observed import Phase, Pod
from understudy.kubernetes.poll import TIMEOUT, ask
from understudy.model.status import Role
from understudy.protocol.statuspage import InstancePage, to_bytes

HEAD = b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n"
IP = "127.0.0.91"
POD = Pod("demo-keep-0", "keep", Role.PRIMARY, Phase.RUNNING, 0, ip=IP, uid="u1")


@contextmanager
def answering(send: Callable[[socket.socket], None]) -> Iterator[None]:
    """A status port that sends so to its first client."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.recv(4096)
            send(connection)

    with socket.create_server((IP, names.STATUS_PORT)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield
        thread.join(10)


def test_a_page_that_drips_is_given_up_after_the_time_out() -> None:
    def drip(connection: socket.socket) -> None:
        for byte in HEAD % 1000 + b" " * 1000:
            connection.send(bytes([byte]))
            time.sleep(TIMEOUT / 20)

    with answering(drip):
        begun = time.monotonic()
        assert ask(POD) is None
        assert time.monotonic() - begun < 3 * TIMEOUT


def test_a_page_without_end_is_given_up() -> None:
    def flood(connection: socket.socket) -> None:
        while True:
            connection.send(b" " * 65_536)

    with answering(flood):
        assert ask(POD) is None


def test_a_page_that_is_cut_off_is_no_answer() -> None:
    page = to_bytes(InstancePage())
    with answering(lambda connection: connection.sendall(HEAD % len(page) + page[:-5])):
        assert ask(POD) is None


def test_a_whole_page_is_understood() -> None:
    page = to_bytes(InstancePage())
    with answering(lambda connection: connection.sendall(HEAD % len(page) + page)):
        assert isinstance(ask(POD), InstancePage)
