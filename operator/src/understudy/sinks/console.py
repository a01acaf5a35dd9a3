"""The sink kind `console`: each tuple a line of JSON on standard output."""

from __future__ import annotations

import pyarrow as pa

from understudy.sinks.disk import Disk
from understudy.sinks.jsonl import line
from understudy.sinks.port import Writer


class ConsoleLog(Writer):
    """Nothing is kept: after a crash it goes on at the newest tuple acked."""

    def __init__(self, disk: Disk | None = None) -> None:
        self.next, self._disk = 0, disk or Disk()

    def check(self) -> None:
        """Nobody else writes to this process's output."""

    def write(self, rows: pa.Table) -> None:
        for row in rows.to_pylist():
            with self._disk.step("a write to standard output"):
                print(line(row), end="", flush=True)
        self.next += rows.num_rows

    def commit(self) -> None:
        """Each write is out already."""

    def close(self) -> None:
        """Standard output stays open: the log goes there, too."""
