"""The choice itself: which of the fetched records a source takes next.

Records are taken in the order of their event time, as far as that is known without waiting for records that
do not exist yet. So a backlog of several partitions is read side by side: if one whole partition came first,
all records of the others would be late.

| a partition | while it lasts |
|---|---|
| has records that are being fetched | nothing is taken: they may be earlier |
| has been taken to its end | the others continue |
| is active, and its newest record is old | event time stays at that record |
| is idle, or has had no leader for as long | event time does not wait for it |
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from typing import Final

from understudy.protocol.numbering import Bad, Numbering, Offset, Removed, Run, Taken, later
from understudy.protocol.selection import Micros

MAX_PARTS: Final = 5_000  # of one entry, so that it stays far below Kafka's limit for a message


@dataclass(frozen=True, slots=True)
class Slice:
    """Fetched records of one partition with consecutive offsets, taken one after the other. `first` is the
    time of its first record, `latest` the greatest time in it."""

    partition: int
    start: Offset
    stop: Offset
    first: Micros | None
    latest: Micros | None

    def __len__(self) -> int:
        return self.stop - self.start


Fetched = Slice | Bad | Removed


@dataclass(frozen=True, slots=True)
class Partitions:
    """What is known of a topic at one moment. Queues are in the order of offsets."""

    fetched: Mapping[int, Sequence[Fetched]]
    awaited: Set[int] = frozenset()
    """Partitions with records that are not fetched yet."""

    active: Set[int] = frozenset()
    """Partitions that event time waits for."""


def propose(numbering: Numbering, at: Partitions, most: int) -> Taken | None:
    """The next entry, of at most `most` tuples; None if there is nothing to write."""
    parts = list(_within(most, _by_time(numbering, at)))
    runs = tuple(_joined(Run(p.partition, p.start, p.stop) for p in parts if isinstance(p, Slice)))
    bad = tuple(part for part in parts if isinstance(part, Bad))
    removed = tuple(part for part in parts if isinstance(part, Removed))
    times = _latest(numbering, parts)
    latest = {p: time for p, time in times.items() if time != numbering.place(p).latest}
    progress = _progress(numbering, {**_times(numbering), **times}, at.active)
    if not parts and progress == numbering.progress:
        return None
    return Taken(numbering.serial, runs, bad, removed, latest, progress)


def _by_time(numbering: Numbering, at: Partitions) -> Iterator[Fetched]:
    """The fetched parts in the order of time, up to the first partition that has run out of fetched records
    while more are being fetched."""
    queues = {p: iter(_untaken(numbering, queue)) for p, queue in at.fetched.items()}
    heads: list[tuple[float, int, Offset, Fetched]] = []
    for partition in sorted({*queues, *at.awaited}):
        if not _push(heads, queues.get(partition, iter(()))) and partition in at.awaited:
            return
    while heads:
        _, partition, _, part = heapq.heappop(heads)
        yield part
        if not _push(heads, queues[partition]) and partition in at.awaited:
            return


def _push(heads: list[tuple[float, int, Offset, Fetched]], queue: Iterator[Fetched]) -> bool:
    part = next(queue, None)
    if part is None:
        return False
    time = part.first if isinstance(part, Slice) else None
    heapq.heappush(heads, (time if time is not None else float("-inf"), part.partition, part.start, part))
    return True


def _untaken(numbering: Numbering, queue: Sequence[Fetched]) -> Iterator[Fetched]:
    for part in queue:
        start = max(part.start, numbering.place(part.partition).next)
        if start >= part.stop:
            continue
        match part:
            case Slice():
                yield Slice(part.partition, start, part.stop, part.first, part.latest)
            case Removed():
                yield Removed(part.partition, start, part.stop)
            case Bad():
                yield part


def _within(most: int, parts: Iterable[Fetched]) -> Iterator[Fetched]:
    left = most
    for part in islice(parts, MAX_PARTS):
        if not isinstance(part, Slice):
            yield part
        elif len(part) <= left:
            yield part
            left -= len(part)
        else:
            yield from (_cut(part, left),) if left else ()
            return


def _cut(part: Slice, count: int) -> Slice:
    """The first records of a slice. Only the time of the very first is known: event time must not run ahead
    of the others."""
    return Slice(part.partition, part.start, Offset(part.start + count), part.first, part.first)


def _joined(runs: Iterable[Run]) -> Iterator[Run]:
    """Merges runs that directly follow each other."""
    held: Run | None = None
    for run in runs:
        if held is not None and (held.partition, held.stop) == (run.partition, run.start):
            held = Run(run.partition, held.start, run.stop)
            continue
        if held is not None:
            yield held
        held = run
    if held is not None:
        yield held


def _times(numbering: Numbering) -> dict[int, Micros | None]:
    return {partition: place.latest for partition, place in numbering.places.items()}


def _latest(numbering: Numbering, parts: Sequence[Fetched]) -> dict[int, Micros]:
    times: dict[int, Micros] = {}
    for part in parts:
        if isinstance(part, Slice):
            time = later(times.get(part.partition, numbering.place(part.partition).latest), part.latest)
            if time is not None:
                times[part.partition] = time
    return times


def _progress(numbering: Numbering, times: Mapping[int, Micros | None], active: Set[int]) -> Micros | None:
    """The least time of the active partitions; if none is active, the greatest of all. It never decreases."""
    if active:
        known = [time for p in active if (time := times.get(p)) is not None]
        reached = min(known) if len(known) == len(active) else None
    else:
        reached = max((time for time in times.values() if time is not None), default=None)
    return later(numbering.progress, reached)
