"""Sources that are read inside a subjob: nobody holds their tuples for us, they can always be read again.

A generator only says how far time has come; its fields are computed in the query. Files are read in the order
of their names, a chunk at a time.

The start of the job is a wall-clock time: its processes share no other clock. But a process reads the wall
clock once, when it starts, and counts on from there with a clock that nobody sets. So a step of the wall
clock neither stops a stream for as long as the step was, nor makes a burst of what was never missing. A
process that starts after a step follows the new time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from understudy.model.job import StreamJob
from understudy.model.sources import Files, Format, Generator
from understudy.process.clock import Anchor
from understudy.protocol.ids import Range, WallMillis

CHUNK_ROWS = 20_000


class Advance(Protocol):
    def __call__(
        self, source: str, upto: int, rows: pa.Table | None, ended: bool, skip_to: int | None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class GeneratorClock:
    """How many tuples of a generator are due: tuple n at start + n/rate."""

    generator: Generator
    start_ms: WallMillis

    def due(self, now: WallMillis) -> int:
        elapsed = now - self.start_ms
        count = int(elapsed * self.generator.rate / 1000) + 1 if elapsed >= 0 else 0
        limit = self.generator.limit
        return count if limit is None else min(count, limit)

    def ended(self, due: int) -> bool:
        return self.generator.limit is not None and due >= self.generator.limit


class FileRows:
    """The rows of a files source, numbered, read once and kept as Arrow tables."""

    def __init__(self, files: Files, schema: pa.Schema, folder: Path) -> None:
        self._files = files
        self._schema = schema
        self._path = folder / files.path
        self._table: pa.Table | None = None

    def table(self) -> pa.Table:
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


class Sources:
    """The sources that one subjob reads. All calls come under the shell's lock."""

    def __init__(
        self, job: StreamJob, names: Iterable[str], schemas: dict[str, pa.Schema], folder: Path
    ) -> None:
        self.advance: Advance
        self.has_room: Callable[[str], bool]
        origins = {s.name: s.origin for s in job.sources if s.name in set(names)}
        self._generators = {n: o for n, o in origins.items() if isinstance(o, Generator)}
        self._files = {n: FileRows(o, schemas[n], folder) for n, o in origins.items() if isinstance(o, Files)}
        self._begun: dict[str, int | None] = {}
        self._clock = Anchor.now()
        self.start_ms: WallMillis | None = None  # when the job's time begins; None: not known yet

    def begin(self, source: str, start: int | None) -> None:
        """Read from `start` on; None: from what is newest when the job's time has begun."""
        self._begun[source] = start

    def stop(self) -> None:
        self._begun.clear()

    def poll(self) -> None:
        if self.start_ms is None or self._clock.wall_now() < self.start_ms:
            return
        for source in list(self._begun):
            if source in self._generators:
                self._poll_generator(source, GeneratorClock(self._generators[source], self.start_ms))
            elif self.has_room(source):
                self._poll_files(source)

    def _poll_generator(self, source: str, clock: GeneratorClock) -> None:
        due = clock.due(self._clock.wall_now())
        skip_to = due if self._begun[source] is None else None
        self.advance(source, due, None, clock.ended(due), skip_to)
        self._begun[source] = due
        if clock.ended(due):
            del self._begun[source]

    def _poll_files(self, source: str) -> None:
        table = self._files[source].table()
        start = self._begun[source]
        skip_to = table.num_rows if start is None else None
        first = table.num_rows if start is None else start
        rows = table.slice(first, CHUNK_ROWS)
        stop = first + rows.num_rows
        self.advance(source, stop, rows, stop >= table.num_rows, skip_to)
        self._begun[source] = stop
        if stop >= table.num_rows:
            del self._begun[source]

    def rows(self, source: str, wanted: Range) -> pa.Table | None:
        """A tail to restore with; None for a generator, whose inbox makes its own."""
        if source in self._generators:
            return None
        return self._files[source].table().slice(wanted.start, len(wanted))
