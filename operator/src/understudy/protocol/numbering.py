"""Which record of a topic is tuple n of a source.

Kafka orders the records of one partition, but not those of different partitions. So the order in which a job
takes them is a choice, and an instance that reads the source again has to make the same choice. It is stored
in a log of the job's own, a topic with one partition. Any instance that reads the source may append to the
log; no writer is fenced:

| an entry in the log | counts |
|---|---|
| names the number of entries that count before it (`serial`), and continues where those ended | yes |
| anything else: another writer was faster, or the entry was sent twice | no, every reader ignores it |

All readers see the same entries in the same order, so all agree which entries count, and tuple n is a
function of n.

A reader can't begin with an entry that continues another one. So from time to time an entry contains the
whole state: the log begins with such an entry, and can be trimmed to any later one that counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NewType

from understudy.protocol.ids import Seq
from understudy.protocol.selection import Micros

Offset = NewType("Offset", int)
BEGINNING: Final = Offset(0)


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive tuples: the records of one partition with the offsets [start, stop), without gaps."""

    partition: int
    start: Offset
    stop: Offset

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Bad:
    """A record that could not be read. It becomes no tuple."""

    partition: int
    offset: Offset
    why: str

    @property
    def start(self) -> Offset:
        return self.offset

    @property
    def stop(self) -> Offset:
        return Offset(self.offset + 1)


@dataclass(frozen=True, slots=True)
class Removed:
    """Offsets that the topic no longer held when they were to be taken: a loss of at most so many records."""

    partition: int
    start: Offset
    stop: Offset


@dataclass(frozen=True, slots=True)
class Taken:
    """The next tuples, and what happened between them."""

    serial: int
    runs: tuple[Run, ...] = ()
    bad: tuple[Bad, ...] = ()
    removed: tuple[Removed, ...] = ()
    latest: Mapping[int, Micros] = field(default_factory=dict)
    """Partition → the greatest event time of its records so far, where this entry changes it."""

    progress: Micros | None = None
    """How far event time has come after this entry. Which partitions are idle depends on the clock, so this
    is a choice, too."""

    @property
    def count(self) -> int:
        return sum(map(len, self.runs))


@dataclass(frozen=True, slots=True)
class Recreated:
    """The topic was deleted and created again. Its records are taken from the beginning; records of the old
    topic that were not taken are lost."""

    serial: int
    topic: str


@dataclass(frozen=True, slots=True)
class Place:
    """The next offset of a partition, and the greatest event time taken from it."""

    next: Offset = BEGINNING
    latest: Micros | None = None


@dataclass(frozen=True, slots=True)
class Numbering:
    """The state after all entries so far. It is written into the log itself, as the first entry and from time
    to time."""

    topic: str
    """The topic's own id. A topic that is created again under the same name has another id."""

    places: Mapping[int, Place] = field(default_factory=dict)
    serial: int = 0
    next: Seq = Seq(0)
    progress: Micros | None = None

    def place(self, partition: int) -> Place:
        """The state of a partition. One that was added later begins with its first record."""
        return self.places.get(partition, Place())

    def fits(self, entry: LogEntry) -> bool:
        """Whether the entry counts after this state."""
        match entry:
            case Numbering():
                return entry == self
            case Taken():
                return entry.serial == self.serial and self._continues(entry)
            case Recreated():
                return entry.serial == self.serial and entry.topic != self.topic

    def _continues(self, entry: Taken) -> bool:
        """Whether the entry takes each partition in the order of its offsets, and none of them twice."""
        reached = {partition: place.next for partition, place in self.places.items()}
        for part in _in_order(entry):
            if not reached.get(part.partition, BEGINNING) <= part.start < part.stop:
                return False
            reached[part.partition] = part.stop
        runs = [(run.partition, run.start) for run in entry.runs]
        return sorted(runs, key=lambda run: run[0]) == sorted(runs)

    def with_entry(self, entry: LogEntry) -> Numbering:
        """The state after an entry that fits."""
        match entry:
            case Numbering():
                return self
            case Taken():
                return replace(
                    self,
                    serial=self.serial + 1,
                    next=Seq(self.next + entry.count),
                    places={**self.places, **self._moved(entry)},
                    progress=later(self.progress, entry.progress),
                )
            case Recreated():
                places = {
                    partition: Place(BEGINNING, place.latest) for partition, place in self.places.items()
                }
                return replace(self, serial=self.serial + 1, topic=entry.topic, places=places)

    def _moved(self, entry: Taken) -> dict[int, Place]:
        moved: dict[int, Place] = {}
        for part in _in_order(entry):
            moved[part.partition] = replace(self.place(part.partition), next=part.stop)
        for partition, latest in entry.latest.items():
            place = moved.get(partition, self.place(partition))
            moved[partition] = replace(place, latest=later(place.latest, latest))
        return moved


LogEntry = Numbering | Taken | Recreated


def follow(numbering: Numbering | None, entry: LogEntry) -> Numbering | None:
    """What a reader of the log knows after one more entry. It knows nothing before the first entry with a
    whole state."""
    if numbering is None:
        return entry if isinstance(entry, Numbering) else None
    return numbering.with_entry(entry) if numbering.fits(entry) else numbering


def later(one: Micros | None, other: Micros | None) -> Micros | None:
    return max((time for time in (one, other) if time is not None), default=None)


def _in_order(entry: Taken) -> Iterator[Run | Bad | Removed]:
    parts: list[Run | Bad | Removed] = [*entry.runs, *entry.bad, *entry.removed]
    return iter(sorted(parts, key=lambda part: (part.partition, part.start)))
