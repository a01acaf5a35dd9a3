"""`GET /metrics` on the status server, over HTTP."""

from __future__ import annotations

import http.client
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from understudy.metrics.exposition import exposition
from understudy.process.http import StatusServer
from understudy.protocol.statuspage import Consumer, Input, Queue, StatusPage, from_bytes, to_bytes

from .pages import PRIMARY, SINK
from .reading import read


@pytest.fixture
def serve() -> Iterator[Callable[[StatusPage], StatusServer]]:
    servers: list[StatusServer] = []

    def begin(page: StatusPage) -> StatusServer:
        servers.append(StatusServer("127.0.0.1", 0, lambda: page, lambda: True))
        return servers[-1]

    yield begin
    for server in servers:
        server.stop()


def get(server: StatusServer, path: str) -> tuple[int, str, bytes]:
    connection = http.client.HTTPConnection(server.address, timeout=5)
    connection.request("GET", path)
    said = connection.getresponse()
    return said.status, said.getheader("Content-Type") or "", said.read()


@pytest.mark.parametrize("page", [PRIMARY, SINK])
def test_metrics_and_status_of_one_port_say_the_same(
    page: StatusPage, serve: Callable[[StatusPage], StatusServer]
) -> None:
    server = serve(page)
    status, kind, raw = get(server, "/metrics")
    assert (status, kind.partition(";")[0]) == (200, "text/plain")
    shown = from_bytes(get(server, "/status")[2])
    assert shown == page
    assert raw == exposition(shown)[0]
    assert read(raw.decode()).values


def test_another_path_is_not_found_and_the_answer_names_the_ones_that_exist(
    serve: Callable[[StatusPage], StatusServer],
) -> None:
    status, _, raw = get(serve(PRIMARY), "/metric")
    assert status == 404
    assert b"/metrics" in raw


def test_a_process_that_nobody_scrapes_does_not_load_the_library() -> None:
    program = "import sys, understudy.process.http as _; sys.exit('prometheus_client' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


INTERVAL_SECONDS = 15  # of a scrape, as most people set it


def test_scrapes_of_a_large_page_use_less_than_a_hundredth_of_a_processor() -> None:
    """Many times the streams of an ordinary subjob."""
    consumers = {f"consumer-{n}": Consumer(n, n, n, n) for n in range(20)}
    large = replace(
        PRIMARY,
        inputs={f"input-{n}": Input(n, n) for n in range(20)},
        outputs={f"stream-{n}": Queue(consumers=consumers) for n in range(20)},
    )
    assert cost(lambda: exposition(large)) / INTERVAL_SECONDS < 0.01
    assert cost(lambda: exposition(PRIMARY)) < 100 * cost(lambda: to_bytes(PRIMARY)), "beside /status"


def cost(work: Callable[[], object]) -> float:
    """Processor seconds of one call."""
    work()
    begun = time.process_time()
    for _ in range(20):
        work()
    return (time.process_time() - begun) / 20
