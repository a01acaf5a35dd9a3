"""The tuples that a source has numbered and that some instance may still read: seq → partition and offset.

The list grows with every entry of the numbering log and is trimmed with the released seqs. A run costs 24
bytes, however many tuples it has.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from understudy.protocol.ids import Range, Seq
from understudy.protocol.numbering import LogEntry, Numbering, Offset, Recreated, Run, Taken
from understudy.protocol.selection import Micros


@dataclass(frozen=True, slots=True)
class Numbered:
    """A run together with the seq of its first tuple."""

    first: Seq
    run: Run

    @property
    def range(self) -> Range:
        return Range(self.first, Seq(self.first + len(self.run)))


class Chosen:
    """The runs from `start` on, stored as columns of numbers, because there can be a million runs."""

    def __init__(self, start: Seq, progress: Micros | None = None) -> None:
        self.start = self.next = start
        self.unreadable_before = Seq(0)
        """Tuples before this seq came from a topic that has been deleted."""

        self._firsts, self._partitions, self._offsets = array("q"), array("q"), array("q")
        self._first_progress = progress
        self._changes, self._progress = array("q"), array("q")

    def add(self, runs: Iterable[Run]) -> None:
        """Adds the next tuples. A run that directly continues the last one is merged with it."""
        for run in runs:
            if not self._continues_last(run):
                self._firsts.append(self.next)
                self._partitions.append(run.partition)
                self._offsets.append(run.start)
            self.next = Seq(self.next + len(run))

    def _continues_last(self, run: Run) -> bool:
        if not self._firsts or self._partitions[-1] != run.partition:
            return False
        return self._offsets[-1] + self.next - self._firsts[-1] == run.start

    def trim(self, released: Seq) -> None:
        """Drops the tuples before `released`, at most all of them."""
        self.start = Seq(max(self.start, min(released, self.next)))
        gone = self._at(self.start) if self.start < self.next else len(self._firsts)
        for column in (self._firsts, self._partitions, self._offsets):
            del column[:gone]
        self._first_progress = self.progress(self.start)
        changes = bisect_right(self._changes, self.start)
        del self._changes[:changes], self._progress[:changes]

    def reached(self, progress: Micros, since: Seq) -> None:
        """Notes how far event time has come with the tuple `since`. That is the last tuple of the entry that
        says so; or the next tuple, if the entry has none: a tuple that was delivered keeps its event time."""
        self._changes.append(since)
        self._progress.append(progress)

    def progress(self, seq: Seq) -> Micros | None:
        """How far event time has come with a tuple. A tuple is late by the time of the one before it."""
        place = bisect_right(self._changes, seq) - 1
        return self._progress[place] if place >= 0 else self._first_progress

    def changes(self, within: Range) -> Iterator[tuple[Seq, Micros]]:
        """The tuples with which event time advanced, and how far it came."""
        for place in range(bisect_left(self._changes, within.start), bisect_left(self._changes, within.stop)):
            yield Seq(self._changes[place]), self._progress[place]

    def _at(self, seq: Seq) -> int:
        """The index of the run that contains the tuple."""
        return bisect_right(self._firsts, seq) - 1

    def runs(self, wanted: Range) -> Iterator[Numbered]:
        """The runs that contain these tuples, in order. All tuples must be known."""
        if wanted.start < self.start or wanted.stop > self.next:
            raise ValueError(f"known are [{self.start}, {self.next}), wanted {wanted}")
        if len(wanted):
            for place in range(self._at(wanted.start), bisect_left(self._firsts, wanted.stop)):
                yield self._part(place, wanted)

    def _part(self, place: int, wanted: Range) -> Numbered:
        first = self._firsts[place]
        end = self._firsts[place + 1] if place + 1 < len(self._firsts) else self.next
        start, stop = max(first, wanted.start), min(end, wanted.stop)
        offset = self._offsets[place] - first
        return Numbered(
            Seq(start), Run(self._partitions[place], Offset(offset + start), Offset(offset + stop))
        )

    def begin_at(self, seq: Seq, numbering: Numbering) -> Mapping[int, Offset]:
        """The offset of each partition from which a reader that needs the tuples from `seq` on has to
        read."""
        begin = {partition: place.next for partition, place in numbering.places.items()}
        readable = Seq(max(seq, self.unreadable_before))
        for numbered in reversed(list(self.runs(Range(readable, self.next)))):
            begin[numbered.run.partition] = numbered.run.start
        return begin


@dataclass(slots=True)
class History:
    """What a reader keeps of the numbering log: the state after its last entry, and the tuples from some seq
    on."""

    numbering: Numbering
    chosen: Chosen

    @classmethod
    def beginning(cls, numbering: Numbering) -> History:
        return cls(numbering, Chosen(numbering.next, numbering.progress))

    def take(self, entry: LogEntry) -> bool:
        """Takes the next entry of the log. Returns whether the entry counts."""
        if not self.numbering.fits(entry):
            return False
        before, self.numbering = self.numbering, self.numbering.with_entry(entry)
        since = self.chosen.next
        match entry:
            case Taken():
                self.chosen.add(entry.runs)
                since = Seq(max(since, self.chosen.next - 1))
            case Recreated():
                self.chosen.unreadable_before = self.chosen.next
            case Numbering():
                pass
        if self.numbering.progress is not None and self.numbering.progress != before.progress:
            self.chosen.reached(self.numbering.progress, since)
        return True
