"""A sink: pulls the last stream, writes each tuple once, acks what is on disk, goes on after a crash where it was.

The file is its own log: every line carries the tuple's `_seq`. At a start the last whole line tells where to go on; a
torn line behind it is cut off.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import structlog

from understudy.model.job import StreamJob
from understudy.model.sinks import Sink
from understudy.modes.build import sink_consumer
from understudy.protocol.duplicates import DuplicateFilter, Hole
from understudy.protocol.epochs import EpochGuard
from understudy.protocol.ids import Epoch, Range, Seq
from understudy.protocol.watermarks import Step
from understudy.runtime.latencies import Latencies
from understudy.runtime.ports import Surroundings, Unreachable
from understudy.runtime.reader import Asking, Handler, Incoming, StreamReader
from understudy.runtime.replicas import reading_of

log = structlog.get_logger()
ACK_SECONDS = 0.05
SILENCE_MS = 1_000
RETRY_SECONDS = 0.5
STOPPED = 143  # by SIGTERM, as a shell says it. Never 0: that means that everything is written


class LineLog:
    """Tuples as JSON lines in one file, durable before they are acked."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "part-00000.jsonl"
        self.next = self._recover()
        self._file: IO[bytes] = self.path.open("ab")

    def _recover(self) -> int:
        """The seq after the last whole line; whatever follows that line is cut off."""
        if not self.path.exists():
            return 0
        with self.path.open("rb+") as file:
            end, last = _last_line(file)
            file.truncate(end)
        return int(json.loads(last)["_seq"]) + 1 if last else 0

    def write(self, rows: pa.Table) -> None:
        lines = (json.dumps(as_json(row), separators=(",", ":"), allow_nan=False) for row in rows.to_pylist())
        self._file.write("".join(f"{line}\n" for line in lines).encode())
        self._file.flush()
        os.fdatasync(self._file.fileno())
        self.next += rows.num_rows


class ConsoleLog:
    """Tuples as JSON lines on standard output. Nothing is kept: after a crash it goes on at the newest tuple acked."""

    def __init__(self) -> None:
        self.next = 0

    def write(self, rows: pa.Table) -> None:
        for row in rows.to_pylist():
            print(json.dumps(as_json(row), separators=(",", ":")), flush=True)
        self.next += rows.num_rows


class SinkProcess(Handler):
    """Reads one stream into a log. Duplicates and fenced producers are dropped by the same rules as in a subjob."""

    def __init__(self, job: StreamJob, sink: Sink, output: Path, surroundings: Surroundings) -> None:
        self.job, self.sink = job, sink
        self.log: LineLog | ConsoleLog = ConsoleLog() if sink.files is None else LineLog(output)
        self._filter = DuplicateFilter(Seq(self.log.next))
        self._guard = EpochGuard()
        self.done = threading.Event()
        self._stop = threading.Event()
        self.error: str | None = None
        self.lost = 0
        self._surroundings = surroundings
        self._latencies = Latencies(surroundings.neighbours)
        self._mark: Step | None = None
        self._lock = threading.Lock()  # replicas of a producer are read at the same time
        asking = Asking(sink.input, sink_consumer(sink.name))
        self._reader = reading_of(job, asking, self, lambda: surroundings.addresses(sink.input), SILENCE_MS)

    def run(self) -> int:
        """Until the stream has ended (0), a write fails (1) or somebody asks to stop (STOPPED)."""
        self._reader.start()
        acked = None
        while not self.done.wait(ACK_SECONDS) and not self._stop.is_set() and not self.error:
            self._reader.watch()
            upto = self.log.next
            if upto != acked and self._reader.ack([(1, upto)]):
                acked = upto
        self._reader.ack([(1, self.log.next)])
        self._reader.stop()
        if self.done.is_set():
            self._note_end()
        if self.error:
            log.error("failed", error=self.error)
            return 1
        return 0 if self.done.is_set() else STOPPED

    def _note_end(self) -> None:
        """Before leaving: a producer that restarts would wait for this sink to say what it has."""
        while not self._stop.is_set():
            try:
                return self._surroundings.note_end(self.sink.input, self.sink.name, self.log.next)
            except Unreachable as error:
                log.warning("end not noted", error=str(error))
                self._stop.wait(RETRY_SECONDS)

    def stop(self) -> None:
        self._stop.set()

    def expected(self, stream: str) -> int:
        return self._filter.expected

    def mark(self, stream: str) -> Step | None:
        return self._mark

    def incoming(self, reader: StreamReader, message: Incoming) -> None:
        with self._lock:
            self._guard, admitted = self._guard.admit(Epoch(message.epoch))
            if not admitted:
                return
            try:
                self._write(message)
            except (OSError, ValueError) as error:
                self.error = f"sink {self.sink.name} cannot write: {error}"
        if message.end is not None and self.log.next >= message.end:
            self.done.set()

    def _write(self, message: Incoming) -> None:
        self._mark = message.mark or self._mark
        if not message.rows.num_rows:
            return
        first = message.rows["_seq"][0].as_py()
        arrived = Range(Seq(first), Seq(first + message.rows.num_rows))
        filter_, new = self._filter.accept(arrived)
        if isinstance(new, Hole):
            self._skip(new.missing)
            filter_, new = DuplicateFilter(arrived.stop), arrived
        if len(new):
            self.log.write(message.rows.slice(new.start - first))
        self._filter = filter_

    def resumes(self, reader: StreamReader, released: int, start: int) -> None:
        """What lies between `released` and what was expected was given up by a renumbering: it is not lost."""
        with self._lock:
            expected = self._filter.expected
            self._skip(Range(Seq(min(max(released, expected), max(start, expected))), Seq(max(start, expected))))
            self._filter = DuplicateFilter(Seq(max(start, expected)))

    def _skip(self, missing: Range) -> None:
        self.log.next = max(self.log.next, missing.stop)
        if len(missing):
            self.lost += len(missing)
            log.error("input lost", stream=self.sink.input, start=missing.start, stop=missing.stop)

    def status(self) -> dict[str, Any]:
        state = "failed" if self.error else "finished" if self.done.is_set() else "ready"
        return {
            "kind": "sink",
            "job": self.job.name,
            "sink": self.sink.name,
            "state": state,
            "error": self.error,
            "tuples": self.log.next,
            "next": self.log.next,
            "lost": self.lost,
            "ended": self.done.is_set(),
            "latencies": self._latencies.figures(),
        }


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
