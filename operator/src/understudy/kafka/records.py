"""Records that were fetched and are not delivered yet, by partition: as columns, as pieces to propose, and as
the rows of a run."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.kafka.values import decode
from understudy.model.sources import Encoding
from understudy.protocol.interleaving import Fetched, Slice
from understudy.protocol.numbering import Bad, Offset, Run

Ints = npt.NDArray[np.int64]
STAMP: Final = pa.timestamp("us", "UTC")
OWN: Final = (("_key", pa.binary()), ("_partition", pa.int32()), ("_offset", pa.int64()))
PROGRESS: Final = "_wm"
"""How far event time has come with a tuple, by the numbering log."""
PIECE_ROWS: Final = 500
PIECE_MICROS: Final = 100_000
"""A piece spans at most about so much event time: no finer order is made between partitions."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How records become tuples."""

    schema: pa.Schema
    format: Encoding = Encoding.JSON
    event_time: str | None = None
    """The column; None: the record's own timestamp."""

    avro: str | None = None
    """The Avro schema of the values, if they are Avro."""

    @property
    def columns(self) -> pa.Schema:
        """Of the rows, without `_seq` and `_wm`."""
        return pa.schema([("_ts", STAMP), *self.schema, *OWN])

    def columns_of(self, messages: Sequence[Any]) -> tuple[pa.Table, list[tuple[int, str]]]:
        """The rows of the good messages, and the places of the bad ones with the reasons."""
        decoded = decode([message.value() for message in messages], self.format, self.schema, self.avro)
        bad = {unreadable.place for unreadable in decoded.bad}
        good = [m for place, m in enumerate(messages) if place not in bad] if bad else messages
        rows = decoded.rows
        own = [
            self._times(rows, good),
            *rows.columns,
            pa.array([message.key() for message in good], pa.binary()),
            pa.array([message.partition() for message in good], pa.int32()),
            pa.array([message.offset() for message in good], pa.int64()),
        ]
        return pa.table(own, schema=self.columns), [(b.place, b.why) for b in decoded.bad]

    def _times(self, rows: pa.Table, messages: Sequence[Any]) -> pa.Array:
        if self.event_time is not None:
            return rows[self.event_time].cast(STAMP)
        return pa.array([_micros(message) for message in messages], pa.int64()).cast(STAMP)


def _micros(message: Any) -> int | None:
    kind, millis = message.timestamp()
    return millis * 1000 if kind else None


class Partition:
    """Fetched records of one partition, in the order of offsets."""

    def __init__(self, number: int, start: Offset) -> None:
        self.number = number
        self.next = start
        """Records before this offset are here, or will never be: the next to come are not before it."""

        self.rows = 0
        self.unproposed: deque[Fetched] = deque()
        self._chunks: deque[tuple[Ints, pa.Table]] = deque()

    def add(self, rows: pa.Table, bad: Iterable[Bad]) -> None:
        """The next records; of this partition only."""
        offsets: Ints = rows["_offset"].to_numpy()
        pieces: list[Fetched] = [*_pieces(self.number, rows, offsets), *bad]
        self.unproposed.extend(sorted(pieces, key=lambda piece: piece.start))
        if rows.num_rows:
            self._chunks.append((offsets, rows))
            self.rows += rows.num_rows
        self.next = max([self.next, *(piece.stop for piece in pieces)])

    def taken(self, upto: Offset) -> None:
        """Records before this have been chosen, or given up."""
        while self.unproposed and self.unproposed[0].stop <= upto:
            self.unproposed.popleft()

    def take(self, run: Run) -> tuple[pa.Table | None, Run]:
        """The rows at the run's beginning that are here, and the rest of it. None: they are not here, and the
        returned rest is behind what is missing for ever; the same run: they are on their way."""
        self._drop(run.start)
        if not self._chunks:
            gone = min(max(self.next, run.start), run.stop)
            return None, Run(run.partition, Offset(gone), run.stop)
        offsets, rows = self._chunks[0]
        if offsets[0] > run.start:
            return None, Run(run.partition, Offset(min(int(offsets[0]), run.stop)), run.stop)
        count = _consecutive(offsets, run)
        return rows.slice(0, count), Run(run.partition, Offset(run.start + count), run.stop)

    def _drop(self, upto: Offset) -> None:
        while self._chunks and self._chunks[0][0][0] < upto:
            offsets, rows = self._chunks.popleft()
            gone = int(np.searchsorted(offsets, upto))
            self.rows -= gone
            if gone < len(offsets):
                self._chunks.appendleft((offsets[gone:], rows.slice(gone)))
                return

    def nothing_before(self, offset: Offset) -> None:
        """What is not here by now is not in the topic."""
        self.next = max(self.next, offset)


def _consecutive(offsets: Ints, run: Run) -> int:
    """How many records at the beginning have the offsets of the run, without a hole."""
    most = min(len(offsets), len(run))
    if offsets[most - 1] - offsets[0] == most - 1:
        return most
    return int(np.argmax(offsets[:most] - np.arange(most) != offsets[0]))


def _pieces(partition: int, rows: pa.Table, offsets: Ints) -> Iterator[Slice]:
    if not len(offsets):
        return
    known = rows["_ts"].cast(pa.int64())
    times: Ints = known.fill_null(np.iinfo(np.int64).min).to_numpy()
    spans = times // PIECE_MICROS
    cuts = np.flatnonzero((np.diff(offsets) != 1) | (np.diff(spans) != 0)) + 1
    for start, stop in _edges([0, *cuts.tolist(), len(offsets)]):
        first, latest = int(times[start]), int(times[start:stop].max())
        yield Slice(
            partition,
            Offset(int(offsets[start])),
            Offset(int(offsets[stop - 1]) + 1),
            first if first != np.iinfo(np.int64).min else None,
            latest if latest != np.iinfo(np.int64).min else None,
        )


def _edges(cuts: Sequence[int]) -> Iterator[tuple[int, int]]:
    for start, stop in pairwise(cuts):
        yield from pairwise([*range(start, stop, PIECE_ROWS), stop])


class Records:
    """All partitions of a topic that are read."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self.partitions: dict[int, Partition] = {}

    @property
    def rows(self) -> int:
        return sum(partition.rows for partition in self.partitions.values())

    def begin(self, number: int, start: Offset) -> Partition:
        self.partitions[number] = Partition(number, start)
        return self.partitions[number]

    def add(self, messages: Sequence[Any], keep_bad: bool) -> list[Bad]:
        """What was fetched, in the order of offsets in each partition. Returns those that can't be read;
        unless they are kept, the records behind them are left out."""
        rows, unreadable = self._reading.columns_of(messages)
        bad = [Bad(messages[at].partition(), Offset(messages[at].offset()), why) for at, why in unreadable]
        if bad and not keep_bad:
            first = {each.partition: each.offset for each in reversed(bad)}
            good = [m for m in messages if m.offset() < first.get(m.partition(), m.offset() + 1)]
            self._add(self._reading.columns_of(good)[0], [])
        else:
            self._add(rows, bad)
        return bad

    def _add(self, rows: pa.Table, bad: Sequence[Bad]) -> None:
        numbers: Ints = rows["_partition"].to_numpy()
        for number in sorted({*np.unique(numbers).tolist(), *(each.partition for each in bad)}):
            mine = numbers == number
            own = rows if mine.all() else rows.take(np.flatnonzero(mine))
            self.partitions[number].add(own, [each for each in bad if each.partition == number])

    def take(self, run: Run) -> tuple[pa.Table | None, Run]:
        found = self.partitions.get(run.partition)
        return found.take(run) if found is not None else (None, run)
