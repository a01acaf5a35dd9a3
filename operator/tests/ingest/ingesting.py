"""The real command `understudy ingest` in a process of its own, and its log read without its code."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

SECONDS = 120.0


class Ingest:
    """Listens on the same port in every life."""

    def __init__(self, folder: Path, *words: str) -> None:
        self._folder, self._words = folder, words
        self._lives = 0
        self.port = 0

    def start(self) -> Ingest:
        self._lives += 1
        output = self._folder / f"ingest-{self._lives}.log"
        words = [
            *("--stream", "ecg", "--schema", "n bigint", "--log", str(self._folder / "log")),
            *("--port", str(self.port), "--life", str(self._lives), *self._words),
        ]
        with output.open("w") as said:
            command = [sys.executable, "-m", "understudy.cli", "ingest", *words]
            self.process = subprocess.Popen(command, stdout=said, stderr=said)
        deadline = time.monotonic() + SECONDS
        while not self.port or '"ready"' not in output.read_text():
            assert time.monotonic() < deadline, output.read_text()
            assert self.process.poll() is None, output.read_text()
            ready = [json.loads(line) for line in output.read_text().splitlines() if '"ready"' in line]
            self.port = int(ready[0]["address"].rpartition(":")[2]) if ready else self.port
            time.sleep(0.02)
        return self

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS)


def logged(folder: Path) -> list[bytes]:
    """Every line in the log of this folder, by what docs/push.md says about its bytes."""
    lines = list[bytes]()
    for path in sorted((folder / "log").glob("*.log")):
        raw, at = path.read_bytes(), 0
        while at < len(raw):
            length, checksum = struct.unpack_from("<II", raw, at)
            payload = raw[at + 8 : at + 8 + length]
            if len(payload) < length or zlib.crc32(payload) != checksum:
                break
            if payload[0] == 1:
                lines += payload[14 + payload[1] :].splitlines()
            at += 8 + length
    return lines


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
