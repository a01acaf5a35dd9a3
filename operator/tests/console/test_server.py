"""The console's server over real sockets."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files

import pytest

from tests.console.runs import running
from understudy.cli.console import open_console
from understudy.console.board import Board
from understudy.console.look import view_of
from understudy.console.server import PAGE, ConsoleServer
from understudy.console.view import ConsoleView, from_bytes
from understudy.process.http import CONNECTIONS

VIEW = view_of(running())


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def server(board: Board) -> Iterator[ConsoleServer]:
    found = ConsoleServer(board)
    yield found
    found.stop()


def get(
    server: ConsoleServer, path: str, method: str = "GET", host: str | None = None
) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request(method, path, headers={"Host": host} if host else {})
    return connection.getresponse()


def events(response: http.client.HTTPResponse) -> Iterator[ConsoleView]:
    while line := response.readline():
        if line.startswith(b"data: "):
            found = from_bytes(line.removeprefix(b"data: "))
            assert isinstance(found, ConsoleView)
            yield found


def test_every_file_of_the_page_is_served_and_nothing_else(server: ConsoleServer) -> None:
    there = {entry.name for entry in (files("understudy.console") / "page").iterdir()}
    assert {name for name, _ in PAGE.values()} == there
    for path, (_, kind) in PAGE.items():
        answer = get(server, path)
        assert (answer.status, answer.headers["Content-Type"]) == (200, kind)
        assert answer.read()
    for path in ("/../server.py", "/page/main.js", "/%2e%2e/server.py", "/nothing"):
        assert get(server, path).status == 404


def test_only_the_servers_own_scripts_and_styles_may_run(server: ConsoleServer) -> None:
    policy = get(server, "/").headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    page = get(server, "/").read()
    assert b"//" not in page.replace(b"<!doctype html>", b"")  # nothing from elsewhere
    assert b"<style" not in page


def test_no_script_turns_a_string_into_markup() -> None:
    scripts = [e for e in (files("understudy.console") / "page").iterdir() if e.name.endswith(".js")]
    assert scripts
    for script in scripts:
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval("):
            assert way not in script.read_text(), script.name


def test_it_only_reads(server: ConsoleServer) -> None:
    for method in ("POST", "PUT", "DELETE"):
        assert get(server, "/view", method).status == 501


def test_a_web_site_that_names_this_machine_otherwise_is_refused(server: ConsoleServer) -> None:
    assert get(server, "/view", host=f"evil.example:{server.port}").status == 421
    assert get(server, "/events", host="127.0.0.1.evil.example:80").status == 421
    assert get(server, "/", host=f"localhost:{server.port}").status == 200


def test_before_the_first_view_there_is_none(server: ConsoleServer, board: Board) -> None:
    assert get(server, "/view").status == 503
    board.show(VIEW)
    assert json.loads(get(server, "/view").read())["job"] == "telemonitoring"


def test_a_new_view_comes_within_a_second(server: ConsoleServer, board: Board) -> None:
    board.show(VIEW)
    answer = get(server, "/events")
    assert answer.headers["Content-Type"] == "text/event-stream"
    views = events(answer)
    assert next(views) == VIEW
    later = replace(VIEW, now_ms=VIEW.now_ms + 250)
    began = time.monotonic()
    board.show(later)
    assert next(views) == later
    assert time.monotonic() - began < 1


def test_a_reader_that_was_away_gets_the_newest_view_first(server: ConsoleServer, board: Board) -> None:
    for ms in range(5):
        board.show(replace(VIEW, now_ms=ms))
    assert next(events(get(server, "/events"))).now_ms == 4


def test_the_last_view_is_sent_before_the_end(board: Board) -> None:
    server = ConsoleServer(board)
    board.show(VIEW)
    views = events(get(server, "/events"))
    assert next(views) == VIEW
    last = replace(VIEW, ended_ms=VIEW.now_ms)
    board.show(last)
    server.stop()
    assert list(views) == [last]


def test_many_readers_hold_a_bounded_number_of_threads(server: ConsoleServer, board: Board) -> None:
    board.show(VIEW)
    before = threading.active_count()
    readers = [get(server, "/events") for _ in range(CONNECTIONS + 8)]
    assert threading.active_count() - before <= CONNECTIONS + 8
    assert next(events(readers[-1])) == VIEW
    deadline = time.monotonic() + 10
    while threading.active_count() - before > CONNECTIONS and time.monotonic() < deadline:
        time.sleep(0.05)
    assert threading.active_count() - before <= CONNECTIONS


def test_a_port_that_is_taken_is_a_sentence(server: ConsoleServer) -> None:
    found = open_console(Board(), server.port)
    assert isinstance(found, str)
    assert f"can't listen on port {server.port}" in found
