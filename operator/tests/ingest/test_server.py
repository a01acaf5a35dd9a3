"""What the ingest process answers over HTTP."""

from __future__ import annotations

import json
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.ingesting import Ingest, logged
from understudy.push.sender import Later, Sender, Target
from understudy.push.spool import Spool

pytestmark = pytest.mark.timeout(300)
GOOD = {
    "Authorization": "Bearer letmein",
    "Content-Type": "application/x-ndjson",
    "Understudy-Producer": "device",
    "Understudy-Sequence": "1",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("ingest")
    (made / "secrets" / "ecg-push").mkdir(parents=True)
    (made / "secrets" / "ecg-push" / "token").write_text("letmein\n")
    return made


@pytest.fixture(scope="module")
def ingest(folder: Path) -> Iterator[Ingest]:
    found = Ingest(folder, "--secrets", str(folder / "secrets"), "--secret", "ecg-push").start()
    yield found
    assert found.stop() == 0


def post(
    ingest: Ingest,
    body: bytes = b'{"n": 1}\n',
    path: str = "/v1/streams/ecg",
    method: str = "POST",
    **other: Any,
) -> tuple[int, dict[str, Any], Any]:
    headers = {**GOOD, **{name.replace("_", "-"): value for name, value in other.items()}}
    url = f"http://127.0.0.1:{ingest.port}{path}"
    sent = urllib.request.Request(url, body, {k: v for k, v in headers.items() if v}, method=method)
    try:
        with urllib.request.urlopen(sent, timeout=60) as answer:
            return answer.status, json.loads(answer.read()), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read()), error.headers


def test_a_request_is_acked_once_it_is_in_the_log(ingest: Ingest, folder: Path) -> None:
    assert post(ingest)[:2] == (200, {"rows": 1, "repeated": False})
    assert logged(folder)[-1] == b'{"n": 1}'
    assert post(ingest)[:2] == (200, {"rows": 0, "repeated": True})


@pytest.mark.parametrize(
    ("status", "change"),
    [
        (401, {"Authorization": ""}),
        (401, {"Authorization": "Bearer letmei"}),
        (401, {"Authorization": "Basic letmein"}),
        (404, {"path": "/v1/streams/other"}),
        (405, {"method": "PUT"}),
        (415, {"Content_Type": "text/plain"}),
        (400, {"Understudy_Producer": ""}),
        (400, {"Understudy_Producer": "x" * 129}),
        (400, {"Understudy_Sequence": ""}),
        (400, {"Understudy_Sequence": "0"}),
        (400, {"Understudy_Sequence": "-1"}),
        (400, {"Understudy_Sequence": "9" * 19}),
        (400, {"body": b"no json", "Understudy_Producer": "bad"}),
        (409, {"Understudy_Producer": "new", "Understudy_Sequence": "7"}),
    ],
)
def test_what_can_not_be_taken_is_refused_with_a_reason(
    ingest: Ingest, folder: Path, status: int, change: dict[str, Any]
) -> None:
    before = logged(folder)
    found, said, _ = post(ingest, **change)
    assert found == status
    assert said["why"]
    assert logged(folder) == before


def test_a_body_that_is_too_long_is_refused_before_it_is_read(ingest: Ingest, folder: Path) -> None:
    before = logged(folder)
    with socket.create_connection(("127.0.0.1", ingest.port), 60) as connection:
        head = "".join(f"{k}: {v}\r\n" for k, v in {**GOOD, "Understudy-Producer": "big"}.items())
        request = f"POST /v1/streams/ecg HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n{head}\r\n"
        connection.sendall(request.encode())
        assert connection.recv(1000).startswith(b"HTTP/1.1 413")
    assert logged(folder) == before


def test_a_body_that_is_too_long_in_chunks_is_refused(ingest: Ingest, folder: Path) -> None:
    before = logged(folder)
    with socket.create_connection(("127.0.0.1", ingest.port), 60) as connection:
        head = "".join(f"{k}: {v}\r\n" for k, v in {**GOOD, "Understudy-Producer": "chunks"}.items())
        connection.sendall(
            f"POST /v1/streams/ecg HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n{head}\r\n".encode()
        )
        chunk = b'{"n": 1}\n' * 100_000
        answer = b""
        try:
            for _ in range(12):
                connection.sendall(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
            answer = connection.recv(1000)
        except OSError:
            pass
    assert answer.startswith(b"HTTP/1.1 413") or not answer
    assert logged(folder) == before


def test_a_full_log_asks_to_come_back_later(tmp_path: Path) -> None:
    ingest = Ingest(tmp_path, "--log-size", "1Mi").start()
    try:
        body = b'{"n": 1234567890}\n' * 70_000
        assert post(ingest, body)[0] == 200
        status, said, headers = post(ingest, Understudy_Sequence="2")
        assert (status, headers["Retry-After"]) == (429, "1")
        assert "bound" in said["why"]
    finally:
        assert ingest.stop() == 0


def test_tls_is_spoken_if_the_secret_has_a_certificate(tmp_path: Path) -> None:
    secret = tmp_path / "secrets" / "s"
    secret.mkdir(parents=True)
    (secret / "token").write_text("letmein")
    subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-days",
                "1",
                "-subj",
                "/CN=localhost",
            ),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(secret / "tls.key"), "-out", str(secret / "tls.crt")),
        ],
        check=True,
        capture_output=True,
    )
    ingest = Ingest(tmp_path, "--secrets", str(tmp_path / "secrets"), "--secret", "s").start()
    try:
        request = Spool(tmp_path / "spool").add(b'{"n": 1}\n', 9)
        url = f"https://127.0.0.1:{ingest.port}"
        trusting = Sender(Target(url, "ecg", "letmein", str(secret / "tls.crt")), "p")
        assert isinstance(Sender(Target(url, "ecg", "letmein"), "p").send(request), Later)
        assert trusting.send(request) is None
    finally:
        assert ingest.stop() == 0
    assert logged(tmp_path) == [b'{"n": 1}']
