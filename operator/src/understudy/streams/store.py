"""The rows of an output queue: in memory, then on disk, then backpressure.

The core says which tuples are held (`trim`) and which may be sent (`publish`); the store keeps the Arrow
batches and lets readers wait for more.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path

import pyarrow as pa

from understudy.streams.spill import on_disk

MAX_ROWS_PER_READ = 65_536
SHARE = 4  # a micro-batch should have at most this fraction of what a queue may hold
SOME_BYTES = 32  # assumed size of a text or similar value
MAX_BYTES_PER_READ = 32 << 20


@dataclass(frozen=True, slots=True)
class _Chunk:
    start: int
    stop: int
    rows: pa.Table
    size: int
    on_disk: bool = False


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a reader gets: rows (possibly none), how far event time has come, whether the stream has ended."""

    rows: pa.Table
    progress: int | None
    ended: bool


class Store:
    """The rows of one output queue. The core assigns the seqs; the store only checks that they are
    consecutive."""

    def __init__(self, schema: pa.Schema, spill: Path, memory_limit: int, disk_limit: int) -> None:
        self.schema = schema
        self._spill = spill
        self._memory_limit = memory_limit
        self.limit = memory_limit + disk_limit
        self.share = max(self.limit // (SHARE * _width(schema)), 1)
        """The most tuples that a micro-batch should make, or take from here: a consumer can release the
        tuples of one step only as a whole."""
        self._changed = threading.Condition()
        self.reset(0)

    def reset(self, at: int) -> None:
        """Empties the store; the next tuple is `at`."""
        with self._changed:
            self._chunks: list[_Chunk] = []  # those on disk come first
            self._next = self._published = at
            self._memory = self._disk = 0
            self._ended = self._full = False
            # (position, event time that is valid once everything before it is sent)
            self._progress: deque[tuple[int, int]] = deque()
            self._sent_progress: int | None = None
            self._changed.notify_all()

    # --- the producer's side

    def rebase(self, at: int) -> None:
        """The sequencer continues after what consumers have received: an empty store follows it."""
        if at != self._next and not self._chunks:
            self.reset(at)

    def append(self, rows: pa.Table, start: int, progress: int | None) -> None:
        with self._changed:
            if start != self._next:
                raise ValueError(f"rows start at {start}, expected {self._next}")
            if rows.num_rows:
                chunk = _Chunk(start, start + rows.num_rows, rows, max(rows.nbytes, 1))
                self._chunks.append(chunk)
                self._memory += chunk.size
                self._next = chunk.stop
            if progress is not None:
                self._progress.append((self._next, progress))
            if self._memory > self._memory_limit:
                self._spill_oldest()

    def _spill_oldest(self) -> None:
        """An eighth of the memory bound at a time: files are few, and no thread waits long for the disk."""
        first = next(n for n, chunk in enumerate(self._chunks) if not chunk.on_disk)
        last = first
        while self._memory > self._memory_limit * 7 // 8:
            self._memory -= self._chunks[last].size
            last += 1
        old = self._chunks[first:last]
        rows = on_disk(pa.concat_tables([chunk.rows for chunk in old]), self._spill)
        chunk = _Chunk(old[0].start, old[-1].stop, rows, sum(chunk.size for chunk in old), on_disk=True)
        self._chunks[first:last] = [chunk]
        self._disk += chunk.size

    def wait_for_room(self, size: int, timeout: float) -> bool:
        """Backpressure: False while so many more bytes do not fit. An empty queue takes any number."""
        with self._changed:
            room = self._changed.wait_for(
                lambda: not self._chunks or self.bytes + size <= self.limit, timeout
            )
            self._full = not room
            return room

    def publish(self, upto: int, ended: bool) -> None:
        with self._changed:
            self._published, self._ended = max(self._published, upto), ended
            while self._progress and self._progress[0][0] <= self._published:
                self._sent_progress = self._progress.popleft()[1]
            self._changed.notify_all()

    def trim(self, upto: int) -> None:
        with self._changed:
            gone = bisect_right(self._chunks, upto, key=lambda chunk: chunk.stop)
            for chunk in self._chunks[:gone]:
                if chunk.on_disk:
                    self._disk -= chunk.size
                else:
                    self._memory -= chunk.size
            del self._chunks[:gone]
            self._changed.notify_all()

    @property
    def published(self) -> int:
        """Tuples before this seq may be sent."""
        return self._published

    # --- readers

    def wait(self, start: int, seen: int | None, timeout: float) -> Delivery:
        """What a reader at `start` that knows progress `seen` gets next; after the timeout possibly nothing
        new."""
        with self._changed:
            self._changed.wait_for(lambda: self._has_news(start, seen), timeout)
            rows = self._slice(start, min(self._published, start + MAX_ROWS_PER_READ))
            rows = rows.slice(
                0, max(rows.num_rows * MAX_BYTES_PER_READ // max(rows.nbytes, MAX_BYTES_PER_READ), 1)
            )
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
        first = bisect_right(self._chunks, start, key=lambda chunk: chunk.stop)
        return takewhile(lambda chunk: chunk.start < stop, islice(self._chunks, first, None))

    @staticmethod
    def _part(chunk: _Chunk, start: int, stop: int) -> pa.Table:
        first = max(start - chunk.start, 0)
        return chunk.rows.slice(first, min(stop, chunk.stop) - chunk.start - first)

    @property
    def bytes(self) -> int:
        return self._memory + self._disk

    @property
    def bytes_on_disk(self) -> int:
        return self._disk

    @property
    def full(self) -> bool:
        """Whether a thread waits for room."""
        return self._full


def _width(schema: pa.Schema) -> int:
    """Approximate bytes of a row."""
    return sum(f.type.bit_width // 8 + 1 if pa.types.is_primitive(f.type) else SOME_BYTES for f in schema)
