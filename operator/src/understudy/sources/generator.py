"""The source kind `generator`: the reader only reports how many tuples are due. Fields are computed in the
query."""

from __future__ import annotations

from understudy.model.sources import Generator
from understudy.protocol.ids import Range, Seq
from understudy.sources.port import News, Reader


class GeneratorReader(Reader):
    def __init__(self, generator: Generator) -> None:
        self._generator = generator

    def begin(self, start: Seq | None, elapsed_ms: int) -> Seq:
        return Seq(self._generator.due(elapsed_ms)) if start is None else start

    def poll(self, elapsed_ms: int) -> News:
        due = self._generator.due(elapsed_ms)
        limit = self._generator.limit
        return News(Seq(due), ended=limit is not None and due >= limit)

    def rows(self, wanted: Range) -> None:
        return None

    def close(self) -> None:
        """Nothing to do: nothing was opened."""
