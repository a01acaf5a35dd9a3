"""Where a sink puts its tuples: each a line of JSON, in a file or on standard output.

The file is its own log: every line carries the tuple's `_seq`. At a start the last whole line tells where to go on; a
torn line behind it is cut off. Each line is written at its place, never simply behind what is there: if a life that was
superseded is stopped just before it writes, and writes then, it is the same bytes (as long as a seq names one tuple),
or it is behind the end and cut off.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from understudy.runtime.fence import Fence, Life


class LineLog:
    """Tuples as JSON lines in one file, durable before they are acked."""

    def __init__(self, folder: Path, life: Life) -> None:
        """Raises Superseded if a later life has the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "part-00000.jsonl"
        self._fence = Fence(folder, life)
        self._fence.take()
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        self.next, self._end = self._recover()

    def _recover(self) -> tuple[int, int]:
        """The seq after the last whole line, and where that ends; whatever follows it is cut off."""
        with os.fdopen(os.dup(self._file), "rb") as file:
            end, last = _last_line(file)
        os.ftruncate(self._file, end)
        return int(json.loads(last)["_seq"]) + 1 if last else 0, end

    def check(self) -> None:
        """Raises Superseded."""
        self._fence.check()

    def write(self, rows: pa.Table) -> None:
        """Raises Superseded; nothing of these rows counts then."""
        lines = (json.dumps(as_json(row), separators=(",", ":"), allow_nan=False) for row in rows.to_pylist())
        text = "".join(f"{line}\n" for line in lines).encode()
        self._fence.check()
        self._settle()
        _write_at(self._file, text, self._end)
        os.fdatasync(self._file)
        self._fence.check()
        self.next, self._end = self.next + rows.num_rows, self._end + len(text)

    def _settle(self) -> None:
        """The file ends where this life left it: what is behind that was written too late by one before."""
        found = os.fstat(self._file).st_size
        if found < self._end:
            raise OSError(f"{self.path} has {found} bytes, and {self._end} were written")
        if found > self._end:
            os.ftruncate(self._file, self._end)


class ConsoleLog:
    """Tuples as JSON lines on standard output. Nothing is kept: after a crash it goes on at the newest tuple acked."""

    def __init__(self) -> None:
        self.next = 0

    def check(self) -> None:
        """Nobody else writes to this process's output."""

    def write(self, rows: pa.Table) -> None:
        for row in rows.to_pylist():
            print(json.dumps(as_json(row), separators=(",", ":")), flush=True)
        self.next += rows.num_rows


def as_json(row: dict[str, Any]) -> dict[str, Any]:
    """A tuple as JSON: its columns and `_seq`; times in ISO 8601; NaN and infinities as strings (JSON has none)."""
    return {k: _value(v) for k, v in row.items() if k != "_ts"}


def _value(value: Any) -> Any:
    match value:
        case float() if value != value or value in (float("inf"), float("-inf")):
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [_value(v) for v in value]
        case dict():
            return {k: _value(v) for k, v in value.items()}
        case bytes():
            return value.hex()
        case _ if hasattr(value, "isoformat"):
            return value.isoformat().replace("+00:00", "Z")
        case _:
            return str(value)


def _write_at(file: int, text: bytes, at: int) -> None:
    while text:
        done = os.pwrite(file, text, at)
        text, at = text[done:], at + done


def _last_line(file: IO[bytes]) -> tuple[int, bytes]:
    """Where the last whole line ends, and that line."""
    size = file.seek(0, os.SEEK_END)
    tail = b""
    at = size
    while at > 0 and tail.count(b"\n") < 2:
        step = min(65_536, at)
        at -= step
        file.seek(at)
        tail = file.read(step) + tail
    whole = tail[: tail.rfind(b"\n") + 1]
    return size - len(tail) + len(whole), whole.rstrip(b"\n").rpartition(b"\n")[2]
