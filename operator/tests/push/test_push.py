"""`understudy push`: no line is lost or repeated, whoever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.ingest.ingesting import SECONDS, Ingest, environment, logged
from understudy.push.lines import bodies_of_file
from understudy.push.sender import Refused
from understudy.push.spool import InUse, Spool

pytestmark = pytest.mark.timeout(600)


def push(folder: Path, port: int, *words: str, stdin: int | None = None) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "understudy.cli", "push", f"http://127.0.0.1:{port}", "ecg", *words]
    with (folder / "push.log").open("ab") as said:
        return subprocess.Popen(command, stdin=stdin, stderr=said, env=environment(folder))


def until(done: Callable[[], object], folder: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < deadline, (folder / "push.log").read_text()
        time.sleep(0.01)


def has(folder: Path, lines: int) -> bool:
    return len(logged(folder)) >= lines


def test_every_line_of_a_file_arrives_once_through_kills_of_both_sides(tmp_path: Path) -> None:
    lines = [b'{"n": %d}' % n for n in range(400_000)]
    (tmp_path / "lines").write_bytes(b"\n".join(lines))
    ingest = Ingest(tmp_path).start()
    kills = 0
    client = push(tmp_path, ingest.port, str(tmp_path / "lines"))
    for share in (0.02, 0.1, 0.3, 0.5, 0.7):
        until(partial(has, tmp_path, int(share * len(lines))), tmp_path)
        client.send_signal(signal.SIGKILL)
        client.wait()
        kills += 1
        client = push(tmp_path, ingest.port, str(tmp_path / "lines"))
        ingest.kill()
        ingest.start()
    assert client.wait(SECONDS) == 0, (tmp_path / "push.log").read_text()
    assert ingest.stop() == 0
    assert logged(tmp_path) == lines
    assert kills == 5


def test_lines_that_are_piped_wait_on_disk_while_the_job_is_away(tmp_path: Path) -> None:
    ingest = Ingest(tmp_path).start()
    ingest.kill()
    reading, writing = os.pipe()
    client = push(tmp_path, ingest.port, stdin=reading)
    os.write(writing, b'{"n": 1}\n{"n": 2}\n')
    spool = tmp_path / "state" / "understudy" / "push"
    until(lambda: [*spool.glob("ecg-*/[0-9]*.ndjson")], tmp_path)
    client.send_signal(signal.SIGKILL)
    client.wait()
    client = push(tmp_path, ingest.port, stdin=reading)
    os.close(reading)
    os.write(writing, b'{"n": 3}\n')
    os.close(writing)
    ingest.start()
    assert client.wait(SECONDS) == 0
    assert ingest.stop() == 0
    assert logged(tmp_path) == [b'{"n": 1}', b'{"n": 2}', b'{"n": 3}']


def test_a_line_that_is_refused_ends_the_command_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text('{"n": "one"}\n')
    ingest = Ingest(tmp_path).start()
    assert push(tmp_path, ingest.port, str(tmp_path / "lines")).wait(SECONDS) == 2
    assert "request 1 is refused" in (tmp_path / "push.log").read_text()
    assert ingest.stop() == 0


def test_two_processes_do_not_share_a_spool(tmp_path: Path) -> None:
    first = Spool(tmp_path)
    with pytest.raises(InUse):
        Spool(tmp_path)
    assert first.waiting == []


def test_a_request_keeps_its_sequence_and_an_acked_one_does_not_come_back(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    one, two = spool.add(b"1\n", 2), spool.add(b"2\n", 4)
    left = one.path.read_bytes()
    spool.acked(one)
    one.path.write_bytes(left)  # as if killed before it was removed
    two.path.with_name(f".{two.path.name}").write_bytes(b"3")  # as if killed before it was renamed
    producer = spool.producer
    spool.close()
    again = Spool(tmp_path)
    assert (again.producer, again.waiting, again.offset, again.size) == (producer, [two], 4, 2)
    assert again.add(b"3\n", 6).sequence == 3


def test_a_file_is_cut_into_whole_lines_from_any_offset(tmp_path: Path) -> None:
    lines = [b'{"n": %d}\n' % n for n in range(60_000)]
    path = tmp_path / "lines"
    path.write_bytes(b"".join(lines) + b"\n\nlast")
    found = [*bodies_of_file(path, 0)]
    assert b"".join(body for body, _ in found) == b"".join(lines) + b"last\n"
    for after, (_, offset) in enumerate(found, 1):
        rest = b"".join(body for body, _ in bodies_of_file(path, offset))
        assert rest == b"".join(body for body, _ in found[after:])


def test_a_file_that_became_shorter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("{}\n")
    with pytest.raises(Refused, match="shorter"):
        next(bodies_of_file(tmp_path / "lines", 100))
