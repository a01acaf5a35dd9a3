"""The sink kind `console`: each tuple a line of JSON on standard output."""

from __future__ import annotations

import pyarrow as pa

from understudy.sinks.disk import Disk
from understudy.sinks.jsonl import columns_of
from understudy.sinks.port import Writer
from understudy.streams.jsonvalues import json_objects


class ConsoleLog(Writer):
    """Nothing is stored: after a crash it continues at the newest acked tuple."""

    def __init__(self, disk: Disk | None = None) -> None:
        self.next, self._disk = 0, disk or Disk()

    def check(self) -> None:
        """Nothing to do: no other process writes to this process's output."""

    def write(self, rows: pa.Table) -> None:
        for line in json_objects(columns_of(rows)).to_pylist():
            with self._disk.step("a write to standard output"):
                print(line, flush=True)
        self.next += rows.num_rows

    def commit(self) -> None:
        """Nothing to do: each write has been printed already."""

    def close(self) -> None:
        """Standard output stays open, because the log is written there, too."""
