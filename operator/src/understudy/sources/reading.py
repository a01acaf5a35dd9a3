"""Sources that are read inside a subjob: no producer holds their tuples, but they can be read again. What
differs between the kinds is behind `port.py`.

The start of the job is a wall-clock time, because its processes share no other clock. But a process reads the
wall clock only once, when it starts, and continues with a monotonic clock. So a step of the wall clock
neither stops a stream for the length of the step, nor makes a burst of tuples that were not late. A process
that starts after a step follows the new time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from understudy.model.job import StreamJob, Subjob
from understudy.model.sources import Source
from understudy.process.clock import Anchor
from understudy.process.ports import Surroundings
from understudy.protocol.ids import Range, Seq, WallMillis
from understudy.sources.choices import KeptChoices
from understudy.sources.port import News, Opening, Reader
from understudy.sources.readers import reader_of


class Advance(Protocol):
    def __call__(self, source: str, news: News) -> None: ...


@dataclass(slots=True)
class _Reading:
    """A source that is being read. `start`: where to begin, until reading has begun."""

    reader: Reader
    start: Seq | None
    begun: bool = False
    held: News | None = None
    """What can't be taken yet: it skips tuples, and those before them are still being processed."""


class Sources:
    """The sources that one subjob reads. All calls are made under the shell's lock."""

    def __init__(self, readers: Mapping[str, Reader], computed: Collection[str] = ()) -> None:
        """`computed`: the sources without rows. They never wait for room."""
        self.advance: Advance
        self.has_room: Callable[[str], bool]
        self.is_through: Callable[[str], bool]
        self._readers, self._computed = readers, computed
        self._reading: dict[str, _Reading] = {}
        self._clock = Anchor.now()
        self.start_ms: WallMillis | None = None  # when the job's time begins; None: not known yet

    @classmethod
    def of(
        cls,
        job: StreamJob,
        subjob: Subjob,
        schemas: Mapping[str, pa.Schema],
        folder: Path,
        surroundings: Surroundings,
    ) -> Sources:
        """`folder`: the folder of relative paths."""
        read = [source for source in job.sources if source.name in subjob.inputs]
        identity, secrets = surroundings.identity(), surroundings.secrets()
        readers = {}
        for source in read:
            choices = KeptChoices(surroundings, _keeper(job, source), source.name)
            mine = subjob.name == _keeper(job, source)
            opening = Opening(source.name, schemas[source.name], folder, choices, identity, secrets, mine)
            readers[source.name] = reader_of(source.origin, opening)
        return cls(readers, {s.name for s in read if s.origin.computed})

    def begin(self, source: str, start: Seq | None) -> None:
        """Reads from `start` on; None: from what is newest when the job's time has begun."""
        self._reading[source] = _Reading(self._readers[source], start)

    def stop(self) -> None:
        self._reading.clear()
        for reader in self._readers.values():
            reader.close()

    def lead(self, leading: bool) -> None:
        """Whether this instance is the primary of its subjob."""
        for reader in self._readers.values():
            reader.lead(leading)

    def poll(self) -> None:
        if self.start_ms is None or self._clock.wall_now() < self.start_ms:
            return
        for source, reading in list(self._reading.items()):
            if source in self._computed or self.has_room(source):
                self._poll(source, reading, self._clock.wall_now() - self.start_ms)

    def _poll(self, source: str, reading: _Reading, elapsed_ms: int) -> None:
        news = reading.held or self._news(reading, elapsed_ms)
        if news is None:
            return
        if news.skipped is not None and not self.is_through(source):
            reading.held = news
            return
        reading.held = None
        if news.ended:
            del self._reading[source]
        self.advance(source, news)

    def _news(self, reading: _Reading, elapsed_ms: int) -> News | None:
        """None: the reader can't begin yet."""
        if reading.begun:
            return reading.reader.poll(elapsed_ms)
        first = reading.reader.begin(reading.start, elapsed_ms)
        if first is None:
            return None
        reading.begun = True
        news = reading.reader.poll(elapsed_ms)
        if not first or first == reading.start:
            return news
        return replace(news, skipped=Range(reading.start or Seq(0), first))

    @property
    def faults(self) -> dict[str, str]:
        """Source → why no tuples of it come."""
        found = {source: reading.reader.fault for source, reading in self._reading.items()}
        return {source: fault for source, fault in found.items() if fault is not None}

    def rows(self, source: str, wanted: Range) -> pa.Table | None:
        """A tail to restore with; None for a generator, because the inbox computes it, and for a source that
        is read from the tail's beginning instead."""
        return self._readers[source].rows(wanted)


def _keeper(job: StreamJob, source: Source) -> str:
    """The subjob with whose Lease the choices about the source are kept, and whose primary does what is done
    once for the source: the first subjob that reads it."""
    return next(subjob.name for subjob in job.subjobs if source.name in subjob.inputs)
