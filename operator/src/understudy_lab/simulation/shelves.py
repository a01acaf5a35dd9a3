"""What a simulated secondary keeps: the rows of the permanent checkpoint, and of a temporary one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from understudy.protocol.checkpoint import Checkpoint
from understudy_lab.simulation.element import Shelf


@dataclass(frozen=True, slots=True)
class Shelved:
    checkpoint: Checkpoint
    rows: dict[str, Any]  # per element: tails, queue, ends of inputs
    ahead: dict[str, Shelf] = field(
        default_factory=dict
    )  # per input: what an extended backup holds beyond positions


class Shelves:
    def __init__(self) -> None:
        self.permanent: Shelved | None = None
        self._temporary: Shelved | None = None
        self._incoming: dict[str, Any] = {}
        self._more: dict[str, Shelf] = {}

    def take(self, rows: dict[str, Any]) -> None:
        """Rows arrive before the core decides about their checkpoint; None stands for what is here
        already."""
        known = self.permanent.rows if self.permanent is not None else {}
        self._incoming = {n: r if r is not None else known.get(n) for n, r in rows.items()}

    def add(self, stream: str, rows: Shelf) -> None:
        self._more = {stream: rows}

    def keep_temporary(self, checkpoint: Checkpoint) -> None:
        self._temporary = self._place(checkpoint, self._temporary)

    def store(self, checkpoint: Checkpoint) -> None:
        if self._temporary is not None and self._temporary.checkpoint.number == checkpoint.number:
            self.permanent, self._temporary = replace(self._temporary, checkpoint=checkpoint), None
        else:
            self.permanent = self._place(checkpoint, self.permanent)

    def _place(self, checkpoint: Checkpoint, known: Shelved | None) -> Shelved:
        if known is None or not checkpoint.extended:
            return Shelved(checkpoint, self._incoming)
        ahead = dict(known.ahead)
        for stream, rows in self._more.items():
            longer = ahead.get(stream, Shelf(rows.base)).copy(0, rows.base)
            ahead[stream] = Shelf(longer.base, [*longer.rows, *rows.rows])
        return Shelved(checkpoint, known.rows, ahead)
