"""The status port against clients that mean no good."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from understudy.process.http import CONNECTIONS, StatusServer
from understudy.protocol.statuspage import InstancePage, from_bytes


@pytest.fixture
def server() -> Iterator[StatusServer]:
    found = StatusServer("127.0.0.1", 0, InstancePage, lambda: True)
    yield found
    found.stop()


def connected(server: StatusServer) -> socket.socket:
    host, _, port = server.address.partition(":")
    return socket.create_connection((host, int(port)), 5)


def answer(server: StatusServer, path: str) -> bytes:
    connection = http.client.HTTPConnection(server.address, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().read()
    finally:
        connection.close()


def test_silent_connections_hold_a_bounded_number_of_threads_and_keep_nobody_from_asking(
    server: StatusServer,
) -> None:
    before = threading.active_count()
    with ExitStack() as stack:
        for _ in range(4 * CONNECTIONS):
            stack.enter_context(connected(server))
        assert answer(server, "/healthz") == b"ok"
        assert isinstance(from_bytes(answer(server, "/status")), InstancePage)
        assert threading.active_count() - before <= CONNECTIONS


def test_the_oldest_connection_is_closed_for_a_new_one(server: StatusServer) -> None:
    with ExitStack() as stack:
        oldest, *_ = [stack.enter_context(connected(server)) for _ in range(CONNECTIONS + 1)]
        assert oldest.recv(1) == b""


def test_a_kept_connection_answers_more_than_once(server: StatusServer) -> None:
    connection = http.client.HTTPConnection(server.address, timeout=5)
    for _ in range(2):
        connection.request("GET", "/readyz")
        assert connection.getresponse().read() == b"ready"
    connection.close()
