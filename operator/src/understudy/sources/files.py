"""The source kind `files`: files are read in the order of their names, a chunk at a time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from understudy.model.sources import Files, Format
from understudy.protocol.ids import Range, Seq
from understudy.sources.port import News, Opening, Reader

CHUNK_ROWS: Final = 20_000


class FilesReader(Reader):
    """All rows are read once, numbered and kept as an Arrow table."""

    def __init__(self, files: Files, opening: Opening) -> None:
        self._files = files
        self._schema = opening.schema
        self._path = opening.folder / files.path
        self._table: pa.Table | None = None
        self._next = Seq(0)

    def begin(self, start: Seq | None, elapsed_ms: int) -> Seq:
        self._next = Seq(self._all().num_rows) if start is None else start
        return self._next

    def poll(self, elapsed_ms: int) -> News:
        rows = self._all().slice(self._next, CHUNK_ROWS)
        self._next = Seq(self._next + rows.num_rows)
        return News(self._next, rows, ended=self._next >= self._all().num_rows)

    def rows(self, wanted: Range) -> pa.Table:
        return self._all().slice(wanted.start, len(wanted))

    def close(self) -> None:
        """Nothing to do: no file stays open."""

    def _all(self) -> pa.Table:
        if self._table is None:
            rows = pa.concat_tables([self._schema.empty_table(), *(self._read(p) for p in self._paths())])
            rows = rows.slice(0, self._files.limit) if self._files.limit is not None else rows
            self._table = self._numbered(rows)
        return self._table

    def _paths(self) -> Iterable[Path]:
        if self._path.is_dir():
            return sorted(
                p for p in self._path.iterdir() if p.is_file() and not p.name.startswith((".", "_"))
            )
        return [self._path]

    def _read(self, path: Path) -> pa.Table:
        match self._files.format:
            case Format.JSONL:
                options = pyarrow.json.ParseOptions(
                    explicit_schema=self._schema, unexpected_field_behavior="ignore"
                )
                table = pyarrow.json.read_json(path, parse_options=options)
            case Format.CSV:
                types = dict(zip(self._schema.names, self._schema.types, strict=True))
                table = pyarrow.csv.read_csv(
                    path, convert_options=pyarrow.csv.ConvertOptions(column_types=types)
                )
            case Format.PARQUET:
                table = pyarrow.parquet.read_table(path)
        return table.select(self._schema.names).cast(self._schema)

    def _numbered(self, rows: pa.Table) -> pa.Table:
        time = self._files.event_time or ("ts" if "ts" in rows.column_names else None)
        stamp = pa.timestamp("us", "UTC")
        ts = rows[time].cast(stamp) if time else pa.nulls(rows.num_rows, stamp)
        rows = rows.add_column(0, "_ts", ts)
        return rows.add_column(0, "_seq", pa.array(range(rows.num_rows), pa.int64()))
