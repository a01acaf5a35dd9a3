"""Between the thread that reads a topic and the shell: what can be taken, in the order of seqs."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from understudy.protocol.ids import Range, Seq

FULL_ROWS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Rows:
    """Consecutive tuples."""

    table: pa.Table


@dataclass(frozen=True, slots=True)
class Missing:
    """Tuples that can't be read again: their records are gone."""

    range: Range
    why: str


@dataclass(frozen=True, slots=True)
class SkipTo:
    """Where a reader that asked for the newest begins."""

    seq: Seq


@dataclass(frozen=True, slots=True)
class Ended:
    """There are no tuples from this seq on. All before it are numbered by the entries before the serial."""

    seq: Seq
    serial: int


Delivery = Rows | Missing | SkipTo | Ended


class Outbox:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Delivery] = deque()
        self._rows = 0
        self.fault: str | None = None
        """Why nothing comes; None while all is well."""

        self.waiting = 0
        """How many records follow that are not here yet."""

        self.bad = 0
        """How many records could not be read, by the log."""

        self.released = Seq(0)
        """This reader does not ask for earlier tuples again."""

    def put(self, delivery: Delivery) -> None:
        with self._lock:
            self._waiting.append(delivery)
            self._rows += delivery.table.num_rows if isinstance(delivery, Rows) else 0

    def poll(self) -> Delivery | None:
        with self._lock:
            if not self._waiting:
                return None
            found = self._waiting.popleft()
            self._rows -= found.table.num_rows if isinstance(found, Rows) else 0
            return found

    @property
    def full(self) -> bool:
        return self._rows >= FULL_ROWS
