"""`bench push`: requests of one row a second into the real ingest process, acked after the sync."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

CONNECTIONS: Final = 32
TARGET: Final = 20_000
START_SECONDS: Final = 60.0
LINE: Final = b'{"patient": "p1", "mv": 0.93, "at": "2026-11-19T21:00:00Z"}\n'
SCHEMA: Final = "patient string, mv double, at timestamp"
TOKEN: Final = "a token of the usual length, 32 B"


@dataclass(frozen=True, slots=True)
class Pushed:
    requests: int
    seconds: float
    server_cpu: float
    client_cpu: float
    median_ms: float
    in_log: int

    @property
    def rate(self) -> float:
        return self.requests / self.seconds

    @property
    def ratio(self) -> float:
        return self.rate / TARGET

    @property
    def met(self) -> bool:
        """Also that every request is in the log once."""
        return self.rate >= TARGET and self.in_log == self.requests


def measure(folder: Path, requests: int) -> Pushed:
    """Starts and ends the ingest process. As many requests on each connection."""
    requests -= requests % CONNECTIONS
    secret = folder / "secrets" / "bench"
    secret.mkdir(parents=True)
    (secret / "token").write_text(TOKEN)
    said = folder / "ingest.log"
    words = ["--stream", "bench", "--schema", SCHEMA, "--log", str(folder / "log")]
    words += ["--secrets", str(folder / "secrets"), "--secret", "bench"]
    with said.open("w") as output:
        command = [sys.executable, "-m", "understudy.cli", "ingest", *words]
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        port = _port(said, process)
        before, own = _cpu(process.pid), time.process_time()
        began = time.monotonic()
        waits = asyncio.run(_push(port, requests))
        seconds = time.monotonic() - began
        spent = _cpu(process.pid) - before
        return Pushed(
            requests,
            seconds,
            spent,
            time.process_time() - own,
            1_000 * sorted(waits)[len(waits) // 2],
            asyncio.run(_in_log(port)),
        )
    finally:
        process.terminate()
        process.wait()


class _Producer(asyncio.Protocol):
    """One connection: sends a request, waits for its ack, sends the next."""

    def __init__(self, name: int, count: int) -> None:
        self._name, self._left, self._sequence = name, count, 0
        self._sent_at, self._received = 0.0, b""
        self.waits: list[float] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._received.endswith(b"}"):
            return
        if not self._received.startswith(b"HTTP/1.1 200"):
            self.done.set_exception(ValueError(self._received.decode()))
            return
        self._received = b""
        self.waits.append(time.monotonic() - self._sent_at)
        if self._left:
            self._send()
        else:
            self.done.set_result(None)

    def _send(self) -> None:
        self._left -= 1
        self._sequence += 1
        head = (
            "POST /v1/streams/bench HTTP/1.1\r\nHost: bench\r\nContent-Type: application/x-ndjson\r\n"
            f"Authorization: Bearer {TOKEN}\r\nUnderstudy-Producer: device-{self._name}\r\n"
            f"Understudy-Sequence: {self._sequence}\r\nContent-Length: {len(LINE)}\r\n\r\n"
        )
        self._sent_at = time.monotonic()
        self._transport.write(head.encode() + LINE)


async def _push(port: int, requests: int) -> list[float]:
    loop, each = asyncio.get_running_loop(), requests // CONNECTIONS
    producers = [_Producer(n, each) for n in range(CONNECTIONS)]
    for producer in producers:
        await loop.create_connection(partial(_same, producer), "127.0.0.1", port)
    await asyncio.gather(*(producer.done for producer in producers))
    return [wait for producer in producers for wait in producer.waits]


def _same(producer: _Producer) -> _Producer:
    return producer


async def _in_log(port: int) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return int(json.loads(answer.partition(b"\r\n\r\n")[2])["next"])


def _port(said: Path, process: subprocess.Popen[bytes]) -> int:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        for line in said.read_text().splitlines():
            if '"ready"' in line:
                return int(json.loads(line)["address"].rpartition(":")[2])
        time.sleep(0.05)
    raise TimeoutError(said.read_text())


def _cpu(pid: int) -> float:
    """Seconds of processor time."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
