"""When tuples reached a sink. Where its files are lines, they are seen to grow; where they are not, the sink
reports how many tuples count."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Arrival:
    at_ms: int
    tuples: int
    """How many tuples there were at that time."""


class ArrivalWatch:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}
        self._tuples = 0
        self.arrivals: list[Arrival] = []

    def look(self, now_ms: int) -> None:
        """Counts the lines written since the last look."""
        new = sum(self._new_lines(path) for path in sorted(self._folder.glob("part-*.jsonl")))
        self.note(now_ms, self._tuples + new)

    def note(self, now_ms: int, tuples: int) -> None:
        """So many tuples are there now."""
        if tuples > self._tuples:
            self._tuples = tuples
            self.arrivals.append(Arrival(now_ms, tuples))

    def _new_lines(self, path: Path) -> int:
        seen = self._read.get(path, 0)
        if path.stat().st_size <= seen:
            return 0
        with path.open("rb") as file:
            file.seek(seen)
            chunk = file.read()
        whole = chunk.rfind(b"\n") + 1
        self._read[path] = seen + whole
        return chunk.count(b"\n")

    @property
    def tuples(self) -> int:
        return self._tuples
