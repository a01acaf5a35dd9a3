"""What a sink wrote, read back: by a reader of its kind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, assert_never

from understudy.local.folder import Folder
from understudy.local.surroundings import LocalSurroundings
from understudy.model.sinks import ConsoleSink, DeltaSink, FilesSink, KafkaSink, PostgresSink, Sink
from understudy.streams.jsonvalues import as_json
from understudy_lab.verify.rows import Row, Torn, read_sink, rows_of
from understudy_lab.verify.topics import written_to


def read_back(sink: Sink, run: Folder) -> Sequence[Row] | None:
    """The tuples, in the order in which they were written; None if the sink keeps none. Raises Torn."""
    folder, at = run.sink(sink.name), LocalSurroundings(run.surroundings)
    match sink.target:
        case FilesSink(lines=True):
            return read_sink(folder)
        case FilesSink():
            return read_parquet(folder)
        case DeltaSink():
            return read_delta(folder)
        case PostgresSink() as postgres:
            return read_table(postgres, at.secrets(), at.identity())
        case KafkaSink() as kafka:
            began = json.loads(run.record.read_text())["beganMs"] if run.record.is_file() else 0
            return written_to(kafka, at.secrets(), began)
        case ConsoleSink():
            return None
        case target:
            assert_never(target)


def read_table(postgres: PostgresSink, secrets: Path, job: str) -> list[Row] | None:
    """The rows of this job; None if the table has no column that names it. Raises Torn."""
    import asyncio

    from understudy.process.secrets import read_secret
    from understudy.sinks.database import settings_of

    try:
        settings = settings_of(read_secret(secrets, postgres.secret))
        return asyncio.run(_rows_of_job(settings, postgres.table, job))
    except OSError as error:
        raise Torn(f"the table {postgres.table} can't be read: {error}") from error


def read_delta(folder: Path) -> list[Row]:
    """The newest version. Raises Torn."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        if not DeltaTable.is_deltatable(str(folder)):
            return []
        return rows_of(DeltaTable(str(folder)).to_pyarrow_table().sort_by("_seq"))
    except (DeltaError, OSError) as error:
        raise Torn(f"the Delta table {folder.name} can't be read: {error}") from error


async def _rows_of_job(settings: dict[str, Any], table: str, job: str) -> list[Row] | None:
    import asyncpg

    connection = await asyncpg.connect(**settings)
    try:
        await connection.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")
        if await connection.fetchval("SELECT to_regclass($1)", table) is None:
            return []
        found = await connection.fetch(f"SELECT * FROM {table} WHERE _job = $1 ORDER BY _seq", job)
    except asyncpg.UndefinedColumnError:
        return None
    finally:
        await connection.close()
    return [{name: as_json(value) for name, value in row.items() if name != "_job"} for row in found]


def read_parquet(folder: Path) -> list[Row]:
    """The files of the manifest. Raises Torn."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from understudy.sinks.manifest import entries

    found: list[Row] = []
    try:
        for entry in entries(folder):
            content = (folder / entry.file).read_bytes()
            entry.check(content)
            found += rows_of(pq.read_table(pa.BufferReader(content)))
    except OSError as error:
        raise Torn(str(error)) from error
    return found
