"""The log of a `push` source on its volume: segments of records, the newest of which grows.

| file | content |
|---|---|
| `SEQ.log` | a segment: a `State`, then the batches from this seq on |
| `_owner.json`, `.take-…` | which process owns the log, as for a sink (`sinks/fence.py`) |

A process that takes the log copies the whole records of the newest segment to a new file and renames it over
the old one. So an earlier process that wakes writes to a file without a name, and finds before its next ack
that it does not own the log any more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from understudy.ingest.records import Batch, Damaged, Last, State, records, to_bytes
from understudy.protocol.ids import Range, Seq
from understudy.sinks.fence import Fence, make, sync
from understudy.sinks.port import Life

SEGMENT_BYTES: Final = 64 << 20
MOST_PRODUCERS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Segment:
    first: Seq
    path: Path
    size: int


class Log:
    """Makes itself the owner of the folder. All methods may raise OSError, also Superseded, after which the
    log is not used again. `append` and `trim` are called from one thread at a time."""

    def __init__(self, folder: Path, life: Life, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._folder, self._segment_bytes = folder, segment_bytes
        make(folder)
        self._fence = Fence(folder, life)
        self._fence.take(fresh=not any(folder.glob("*.log")))
        self._segments = self._found()
        self._producers: dict[str, Last] = {}
        self.next = Seq(0)
        self._file = self._restore() if self._segments else self._begin_segment()

    @property
    def first(self) -> Seq:
        """The seq of the oldest tuple that is held."""
        return self._segments[0].first

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self._segments)

    def last_of(self, producer: str) -> Last | None:
        return self._producers.get(producer)

    def append(self, batches: list[Batch]) -> Seq:
        """The batches are on disk when this returns, and no other process owns the log. Returns the seq after
        their last tuple."""
        if self._segments[-1].size >= self._segment_bytes:
            self._file.close()
            self._file = self._begin_segment()
        raw = b"".join(map(to_bytes, batches))
        self._file.write(raw)
        self._file.flush()
        os.fdatasync(self._file.fileno())
        self._fence.check()
        newest = self._segments[-1]
        self._segments[-1] = Segment(newest.first, newest.path, newest.size + len(raw))
        for batch in batches:
            self._note(batch)
        return self.next

    def trim(self, upto: Seq) -> None:
        """Nobody needs the tuples before this. Removes the segments that have only such tuples."""
        while len(self._segments) > 1 and self._segments[1].first <= upto:
            self._fence.check()
            self._segments[0].path.unlink()
            del self._segments[0]
        sync(self._folder)

    def bodies(self, wanted: Range) -> Iterator[tuple[Seq, Batch]]:
        """The batches that have any of these tuples, each with the seq of its first tuple."""
        for n, segment in enumerate(self._segments):
            after = self._segments[n + 1].first if n + 1 < len(self._segments) else self.next
            if segment.first < wanted.stop and after > wanted.start:
                at = segment.first
                for batch in _batches(segment.path):
                    if at < wanted.stop and at + batch.rows > wanted.start:
                        yield at, batch
                    at = Seq(at + batch.rows)

    def close(self) -> None:
        self._file.close()

    def _note(self, batch: Batch) -> None:
        self.next = Seq(self.next + batch.rows)
        self._producers.pop(batch.producer, None)  # the newest come last
        self._producers[batch.producer] = Last(batch.sequence, batch.checksum)

    # --- segments

    def _found(self) -> list[Segment]:
        paths = sorted(self._folder.glob("*.log"))
        return [Segment(Seq(int(path.stem)), path, path.stat().st_size) for path in paths]

    def _restore(self) -> IO[bytes]:
        """Reads the newest segment, which begins with the state of all before it. Replaces it by a copy of
        its whole records, and returns that."""
        newest = self._segments[-1]
        raw = newest.path.read_bytes()
        whole = 0
        for end, record in records(raw):
            whole = end
            match record:
                case State(next=first, producers=producers):
                    self.next, self._producers = first, dict(producers)
                case Batch():
                    self._note(record)
        if not whole:
            raise Damaged(f"{newest.path} does not begin with a state")
        self._segments[-1] = Segment(newest.first, newest.path, whole)
        return self._put_in_place(newest.path, memoryview(raw)[:whole])

    def _begin_segment(self) -> IO[bytes]:
        """Puts a segment with nothing but a state into place. Producers that have been quiet for longest are
        forgotten, if there are too many."""
        self._producers = dict([*self._producers.items()][-MOST_PRODUCERS:])
        raw = to_bytes(State(self.next, self._producers))
        path = self._folder / f"{self.next:020}.log"
        self._segments.append(Segment(self.next, path, len(raw)))
        return self._put_in_place(path, raw)

    def _put_in_place(self, path: Path, raw: bytes | memoryview) -> IO[bytes]:
        """The new file, open for more. It is not opened by its name, which a later owner may have taken."""
        file = self._fence.stage(path.name)
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())
        self._fence.publish(path.name, path)
        self._fence.check()
        return file


def _batches(path: Path) -> Iterator[Batch]:
    for _, record in records(path.read_bytes()):
        if isinstance(record, Batch):
            yield record
