"""What a kind of sink implements. The protocol, which is the same for all kinds, is in `sink.py`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from understudy.model.job import StreamJob
from understudy.model.sinks import Sink
from understudy.sinks.disk import Disk


class Superseded(OSError):
    """A later life of the sink has begun: this one stops, and sends nothing more."""


@dataclass(frozen=True, slots=True)
class Life:
    """One life of a sink. A later life has a greater number; numbers of different runs can't be compared."""

    run: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Opening:
    """All that a writer is made from."""

    job: StreamJob
    sink: Sink
    output: Path
    """The folder for the writer's files; on Kubernetes, where the volume is mounted."""
    life: Life
    disk: Disk = field(default_factory=Disk)
    """Notified of every step that may hang."""
    identity: str = ""
    """The name of this job, and of no other job of the past: what it keeps elsewhere has names that begin
    so."""
    secrets: Path = field(default_factory=Path)
    """The folder of Secrets."""


class Writer(ABC):
    """Writes the tuples of one stream to the sink's target. To make a writer fences off all earlier lives;
    that raises Superseded if a later life has begun.

    `write`, `commit`, `skip` and `close` are never called at the same time. All but `close` may raise
    OSError, which ends the sink with its text, or Superseded. A writer that has raised is not used again.
    """

    commit_ms: int = 0
    """How long tuples may wait to be committed together. 0: each message is committed separately."""

    age_ms: int | None = None
    """How long before this life an earlier one wrote; None if there was none, or if it is not known."""

    lost: int = 0
    """Tuples that were durable and that the target has forgotten, as far as that is known."""

    next: int
    """All tuples before this seq are durable, including those of earlier lives. They are acked, and no
    producer holds them afterwards."""

    @abstractmethod
    def check(self) -> None:
        """Raises Superseded if a later life is known to have begun. Called before each ack, also during a
        `write`."""

    @abstractmethod
    def write(self, rows: pa.Table) -> None:
        """Writes the next tuples, in the order of `_seq`. They count, and `next` is after them, when they are
        durable: at once, or when `commit` returns."""

    @abstractmethod
    def commit(self) -> None:
        """Everything written is durable when this returns."""

    def skip(self, to: int) -> None:
        """The unwritten tuples before `to` were lost, or were given up by a renumbering. When this is called,
        no tuple waits for a commit."""
        self.next = max(self.next, to)

    def stop(self) -> None:  # noqa: B027
        """The sink is asked to end: a call that waits for a target that is away raises OSError. Called from
        any thread."""

    @abstractmethod
    def close(self) -> None:
        """The sink ends. Tuples that are not committed are dropped: they will be sent again."""
