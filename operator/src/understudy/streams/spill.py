"""Rows on disk instead of in memory."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from understudy.protocol.ids import Range

MAX_CHUNKS = 64


def on_disk(rows: pa.Table, folder: Path) -> pa.Table:
    """The same rows, read from a file when they are used. The file is already unlinked: its space is freed
    with the last table that reads it, or with this process."""
    folder.mkdir(parents=True, exist_ok=True)
    handle, path = tempfile.mkstemp(".arrow", dir=folder)
    os.close(handle)
    try:
        with pa.OSFile(path, "wb") as out, pa.ipc.new_file(out, rows.schema) as writer:
            writer.write_table(rows.combine_chunks())
        with pa.memory_map(path) as source:
            return pa.ipc.open_file(source).read_all()
    finally:
        os.unlink(path)


@dataclass(frozen=True, slots=True)
class Spill:
    """Writes rows to disk that do not fit into so many bytes of memory."""

    folder: Path
    memory: int


@dataclass(frozen=True, slots=True)
class Kept:
    """Consecutive tuples: older ones on disk, then those in memory."""

    disk: pa.Table
    memory: pa.Table

    @classmethod
    def nothing(cls, schema: pa.Schema) -> Kept:
        return cls(schema.empty_table(), schema.empty_table())

    @property
    def rows(self) -> pa.Table:
        return pa.concat_tables([self.disk, self.memory])

    def within(self, wanted: Range) -> Kept:
        return Kept(_within(self.disk, wanted), _within(self.memory, wanted))

    def followed_by(self, rows: pa.Table, spill: Spill) -> Kept:
        """The given rows begin among these or directly after them; where they overlap, the given ones
        count."""
        if not rows.num_rows:
            return self
        first = rows["_seq"][0].as_py()
        before = Kept(_before(self.disk, first), _before(self.memory, first))
        memory = pa.concat_tables([before.memory, rows])
        if memory.nbytes > spill.memory:
            disk = pa.concat_tables([before.disk, on_disk(memory, spill.folder)])
            return Kept(disk, memory.slice(0, 0))
        return Kept(
            before.disk, memory.combine_chunks() if memory["_seq"].num_chunks > MAX_CHUNKS else memory
        )


def _within(rows: pa.Table, wanted: Range) -> pa.Table:
    return _before(_from(rows, wanted.start), wanted.stop)


def _from(rows: pa.Table, seq: int) -> pa.Table:
    return rows.slice(max(seq - rows["_seq"][0].as_py(), 0)) if rows.num_rows else rows


def _before(rows: pa.Table, seq: int) -> pa.Table:
    return rows.slice(0, max(seq - rows["_seq"][0].as_py(), 0)) if rows.num_rows else rows
