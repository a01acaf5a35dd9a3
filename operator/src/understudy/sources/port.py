"""What a kind of source implements. The part that all kinds share is in `reading.py`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from understudy.protocol.ids import Range, Seq
from understudy.sources.choices import Choices, OwnChoices


@dataclass(frozen=True, slots=True)
class Opening:
    """All that a reader is made from."""

    source: str
    """The source's name."""
    schema: pa.Schema
    """The payload columns, without `_seq` and `_ts`."""
    folder: Path = field(default_factory=Path)
    """The folder of relative paths."""
    choices: Choices = field(default_factory=OwnChoices)
    """What all readers of the source have to agree on."""
    identity: str = ""
    """The name of this job, and of no other job of the past: what it keeps elsewhere has names that begin
    so."""
    secrets: Path = field(default_factory=Path)
    """The folder of Secrets."""
    keeper: bool = True
    """Whether the primary of this subjob does what has to be done once for all readers of the source."""


@dataclass(frozen=True, slots=True)
class News:
    """What is new since the last look."""

    upto: Seq
    """The seq after the last tuple so far."""
    rows: pa.Table | None = None
    """`_seq`, `_ts` and the payload, directly following the rows before; None if consumers compute them."""
    ended: bool = False
    """The stream has no tuples from `upto` on."""
    skipped: Range | None = None
    """Tuples that can't be read any more, or are older than the newest that were asked for. `upto` is after
    them."""
    waiting: int = 0
    """How many tuples are known to follow."""
    bad: int = 0
    """How many records could not be read and became no tuples, as far as that is known."""


class Reader(ABC):
    """Reads one source for one subjob. All calls come one at a time, under the instance's lock: none may wait
    for a network. A reader that has to wait does so in a thread of its own."""

    @abstractmethod
    def begin(self, start: Seq | None, elapsed_ms: int) -> Seq | None:
        """Reads tuples from `start` on; None: from the newest on. Returns where the reader begins: after
        `start` if the tuples in between can't be read any more, which are reported as lost. None: that is not
        known yet, and `begin` is called again. A reader that knows only later what is gone says it in the
        news of `poll`. May also be called again later, with another start."""

    @abstractmethod
    def poll(self, elapsed_ms: int) -> News:
        """`elapsed_ms`: since the start of the job. Called every few milliseconds between `begin` and the end
        of the stream. A reader of rows is called only while there is room for more."""

    @abstractmethod
    def rows(self, wanted: Range) -> pa.Table | None:
        """Tuples that were returned before, in this life or in an earlier one, to restore a state. None if
        consumers compute them, or if it would take a while: then reading begins with them."""

    def lead(self, leading: bool) -> None:
        """Whether this instance is the primary of its subjob. Called every few milliseconds, also when
        nothing has changed, and when no source is read."""
        return None

    @property
    def fault(self) -> str | None:
        """Why nothing comes, or why the primary can't do its part, in a sentence; None while all is well."""
        return None

    @abstractmethod
    def close(self) -> None:
        """The instance gives up its role. `begin` may follow."""
