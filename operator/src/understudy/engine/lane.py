"""The tuples of one input, from the first that the state still needs to the last that has arrived."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from understudy.protocol.merge import greatest_of
from understudy.protocol.selection import UNKNOWN, Micros, Times

TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
WIRE: Final = pa.schema([("_seq", pa.int64()), ("_ts", TIMESTAMP)])
PROGRESS: Final = "_wm"
"""How far event time has come with a tuple, if its source says so: a source that knows that more is to come
may hold event time back. Otherwise it is the greatest event time so far."""
ORIGIN: Final[Micros] = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
MAX_CHUNKS: Final = 64


class InputKind(StrEnum):
    GENERATOR = "generator"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class InputSpec:
    """One input of an element. `schema` holds the payload columns; those of a generator are computed in the
    consumer's plan."""

    name: str
    kind: InputKind
    schema: pa.Schema
    rate: int | float | None = None
    """For a generator: tuples per second."""
    fields: tuple[tuple[str, str], ...] = ()
    """For a generator: column and expression."""
    ordered: bool = False
    """Whether the stream's event times never decrease."""


def generated_times(rate: int | float, start: int, stop: int) -> Times:
    """Event times of a generator's tuples: exact microseconds where the rate is a whole number."""
    seqs: Times = np.arange(start, stop, dtype=np.int64)
    if float(rate).is_integer() and stop < 9_000_000_000_000:
        return ORIGIN + seqs * 1_000_000 // int(rate)
    offsets: Times = np.floor(seqs * 1e6 / float(rate)).astype(np.int64)
    return ORIGIN + offsets


def to_micros(times: pa.Array | pa.ChunkedArray) -> Times:
    if isinstance(times, pa.ChunkedArray):
        times = times.combine_chunks()
    whole = times.cast(TIMESTAMP).cast(pa.int64())
    return np.asarray(pc.fill_null(whole, UNKNOWN).to_numpy(zero_copy_only=False), np.int64)


def to_timestamps(times: Times) -> pa.Array:
    return pa.array(times, pa.int64(), mask=times == UNKNOWN).cast(TIMESTAMP)


class Lane(ABC):
    """Tuples `[start, stop)` of one input are held."""

    start: int = 0
    stop: int = 0
    end: int | None = None
    """The end of the stream, once it is known."""

    @property
    def complete(self) -> bool:
        return self.end is not None and self.stop >= self.end

    @abstractmethod
    def begin(self, seq: int, before: Micros) -> None:
        """Starts over at `seq`; `before` is the greatest event time before it."""

    @abstractmethod
    def times(self, start: int, stop: int) -> Times: ...

    @abstractmethod
    def greatest(self, start: int, stop: int) -> Times:
        """For each tuple the greatest event time on the stream up to and including it."""

    @abstractmethod
    def before(self, seq: int) -> Micros:
        """The greatest event time on the stream before `seq`, which is held or equals `stop`."""

    @abstractmethod
    def rows(self, start: int, stop: int) -> pa.Table:
        """`_seq`, `_ts` and the payload columns."""

    @abstractmethod
    def forget(self, upto: int) -> None: ...

    @property
    @abstractmethod
    def progress(self) -> Micros: ...


class GeneratorLane(Lane):
    """Tuple n is a function of n, so only the end of the due tuples is kept."""

    def __init__(self, rate: int | float) -> None:
        self._rate = rate

    def begin(self, seq: int, before: Micros) -> None:
        self.start = self.stop = seq

    def advance(self, upto: int) -> None:
        self.stop = max(self.stop, upto)

    def times(self, start: int, stop: int) -> Times:
        return generated_times(self._rate, start, stop)

    greatest = times

    def before(self, seq: int) -> Micros:
        return int(self.times(seq - 1, seq)[0]) if seq > 0 else UNKNOWN

    def rows(self, start: int, stop: int) -> pa.Table:
        seqs = np.arange(start, stop, dtype=np.int64)
        return pa.Table.from_arrays([pa.array(seqs), to_timestamps(self.times(start, stop))], schema=WIRE)

    def forget(self, upto: int) -> None:
        self.start = min(max(self.start, upto), self.stop)

    @property
    def progress(self) -> Micros:
        return int(self.times(self.stop, self.stop + 1)[0])


@dataclass(frozen=True, slots=True)
class _Chunk:
    start: int
    rows: pa.Table
    times: Times
    greatest: Times

    @property
    def stop(self) -> int:
        return self.start + len(self.times)


class StoredLane(Lane):
    """Tuples that arrived from outside, as Arrow chunks with their running greatest event time."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = pa.schema([*WIRE, *schema])
        self.begin(0, UNKNOWN)

    def begin(self, seq: int, before: Micros) -> None:
        self._chunks: list[_Chunk] = []
        self._before = before
        self._progress = UNKNOWN
        self.start = self.stop = seq

    def append(self, rows: pa.Table) -> None:
        if not rows.num_rows:
            return
        first = rows["_seq"][0].as_py()
        if first != self.stop or rows["_seq"][-1].as_py() != first + rows.num_rows - 1:
            raise ValueError(f"rows from {first} on, expected consecutive ones from {self.stop}")
        times = to_micros(rows["_ts"])
        if PROGRESS in rows.column_names:
            greatest = to_micros(rows[PROGRESS])
        else:
            greatest = greatest_of(times, self.before(self.stop))
        rows = rows.select(self._schema.names).cast(self._schema)
        self._chunks.append(_Chunk(first, rows, times, greatest))
        self.stop += rows.num_rows

    def learn(self, progress: Micros) -> None:
        self._progress = max(self._progress, progress)

    @property
    def progress(self) -> Micros:
        return max(self._progress, self.before(self.stop))

    def times(self, start: int, stop: int) -> Times:
        return _joined([c.times[a:b] for c, a, b in self._slices(start, stop)])

    def greatest(self, start: int, stop: int) -> Times:
        return _joined([c.greatest[a:b] for c, a, b in self._slices(start, stop)])

    def before(self, seq: int) -> Micros:
        if seq <= self.start:
            return self._before
        return int(self.greatest(seq - 1, seq)[0])

    def rows(self, start: int, stop: int) -> pa.Table:
        parts = [c.rows.slice(a, b - a) for c, a, b in self._slices(start, stop)]
        return pa.concat_tables(parts) if parts else self._schema.empty_table()

    def _slices(self, start: int, stop: int) -> Iterable[tuple[_Chunk, int, int]]:
        if stop <= start:
            return
        first = bisect_right(self._chunks, start, key=lambda c: c.stop)
        for chunk in self._chunks[first:]:
            if chunk.start >= stop:
                return
            yield chunk, max(start - chunk.start, 0), min(stop, chunk.stop) - chunk.start

    def forget(self, upto: int) -> None:
        upto = min(max(self.start, upto), self.stop)
        self._before = self.before(upto)
        self._chunks = [c for c in self._chunks if c.stop > upto]
        self.start = upto
        if len(self._chunks) > MAX_CHUNKS:
            self._compact()

    def _compact(self) -> None:
        span = self.start, self.stop
        rows = self.rows(*span).combine_chunks()
        self._chunks = [_Chunk(self.start, rows, self.times(*span), self.greatest(*span))]


def _joined(parts: list[Times]) -> Times:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def lane_of(spec: InputSpec) -> GeneratorLane | StoredLane:
    if spec.kind is InputKind.GENERATOR:
        assert spec.rate is not None
        return GeneratorLane(spec.rate)
    return StoredLane(spec.schema)
