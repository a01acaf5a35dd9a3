"""The rows of an output queue: in memory, then on disk, then backpressure.

The core says which tuples are held (`trim`) and which may be sent (`publish`); the store keeps the Arrow batches and
lets readers wait for more.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

MAX_ROWS_PER_READ = 65_536


@dataclass(slots=True)
class _Chunk:
    start: int
    rows: int
    size: int
    table: pa.Table | None
    path: Path | None = None

    @property
    def stop(self) -> int:
        return self.start + self.rows

    def load(self) -> pa.Table:
        if self.table is not None:
            return self.table
        assert self.path is not None
        with pa.memory_map(str(self.path)) as source:
            return pa.ipc.open_file(source).read_all()

    def spill(self, folder: Path) -> None:
        assert self.table is not None
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{self.start}.arrow"
        with pa.OSFile(str(self.path), "wb") as out, pa.ipc.new_file(out, self.table.schema) as writer:
            writer.write_table(self.table)
        self.table = None

    def drop(self) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a reader gets: rows (maybe none), how far event time has come, whether the stream is over."""

    rows: pa.Table
    progress: int | None
    ended: bool


class Store:
    """One output queue's rows. Sequence numbers are the core's; the store only checks that they follow each other."""

    def __init__(self, schema: pa.Schema, spill: Path, memory_limit: int, disk_limit: int) -> None:
        self.schema = schema
        self._spill = spill
        self._memory_limit = memory_limit
        self._disk_limit = disk_limit
        self._changed = threading.Condition()
        self.reset(0)

    def reset(self, at: int) -> None:
        """Empty, with the next tuple at `at`."""
        with self._changed:
            for chunk in getattr(self, "_chunks", ()):
                chunk.drop()
            self._chunks: deque[_Chunk] = deque()
            self._next = self._published = at
            self._memory = self._disk = 0
            self._ended = False
            self._progress: deque[tuple[int, int]] = deque()  # (position, event time valid once all before it is sent)
            self._sent_progress: int | None = None
            self._changed.notify_all()

    # --- the producer's side

    def rebase(self, at: int) -> None:
        """The sequencer went on from what consumers have: an empty store follows it."""
        if at != self._next and not self._chunks:
            self.reset(at)

    def append(self, rows: pa.Table, start: int, progress: int | None) -> None:
        with self._changed:
            if start != self._next:
                raise ValueError(f"rows start at {start}, expected {self._next}")
            if rows.num_rows:
                chunk = _Chunk(start, rows.num_rows, max(rows.nbytes, 1), rows)
                self._chunks.append(chunk)
                self._memory += chunk.size
                self._next = chunk.stop
            if progress is not None:
                self._progress.append((self._next, progress))
            self._spill_oldest()

    def _spill_oldest(self) -> None:
        for chunk in self._chunks:
            if self._memory <= self._memory_limit:
                return
            if chunk.table is not None:
                chunk.spill(self._spill)
                self._memory -= chunk.size
                self._disk += chunk.size

    def wait_for_room(self, timeout: float) -> bool:
        """Backpressure: False while the queue is full."""
        with self._changed:
            return self._changed.wait_for(lambda: self._disk < self._disk_limit, timeout)

    def publish(self, upto: int, ended: bool) -> None:
        with self._changed:
            self._published, self._ended = max(self._published, upto), ended
            while self._progress and self._progress[0][0] <= self._published:
                self._sent_progress = self._progress.popleft()[1]
            self._changed.notify_all()

    def trim(self, upto: int) -> None:
        with self._changed:
            while self._chunks and self._chunks[0].stop <= upto:
                chunk = self._chunks.popleft()
                if chunk.table is None:
                    self._disk -= chunk.size
                else:
                    self._memory -= chunk.size
                chunk.drop()
            self._changed.notify_all()

    # --- readers

    def wait(self, start: int, seen: int | None, timeout: float) -> Delivery:
        """What a reader at `start` that knows progress `seen` gets next; after the timeout possibly nothing new."""
        with self._changed:
            self._changed.wait_for(lambda: self._has_news(start, seen), timeout)
            rows = self._slice(start, min(self._published, start + MAX_ROWS_PER_READ))
            sent_all = start + rows.num_rows >= self._published
            progress = self._sent_progress if sent_all else None
            return Delivery(rows, progress, self._ended and sent_all)

    def _has_news(self, start: int, seen: int | None) -> bool:
        return self._published > start or self._ended or self._sent_progress != seen

    def rows(self, start: int, stop: int) -> pa.Table:
        """Held rows, published or not: for checkpoints."""
        with self._changed:
            return self._slice(start, stop)

    def _slice(self, start: int, stop: int) -> pa.Table:
        parts = [self._part(c, start, stop) for c in self._overlapping(start, stop)]
        return pa.concat_tables(parts) if parts else self.schema.empty_table()

    def _overlapping(self, start: int, stop: int) -> Iterator[_Chunk]:
        return (c for c in self._chunks if c.stop > start and c.start < stop)

    @staticmethod
    def _part(chunk: _Chunk, start: int, stop: int) -> pa.Table:
        first = max(start - chunk.start, 0)
        return chunk.load().slice(first, min(stop, chunk.stop) - chunk.start - first)

    @property
    def bytes(self) -> int:
        return self._memory + self._disk
