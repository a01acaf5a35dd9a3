"""The sink kind `postgres`: rows and the position behind them in one transaction.

The position is a row of the table `understudy_positions`, in the schema of the sink's table. It names the
take that may write: a process that starts puts a token of its own there.

| a transaction of a commit | because |
|---|---|
| 1. locks the row of the position; gives up if it names another take | a later life may have begun |
| 2. copies the rows that the position lacks | an earlier attempt may have been committed unheard |
| 3. writes the new position | |

A process that was stopped in a transaction holds the lock. So each connection first ends the other
connections of the sink, unless the row names a later life: then this process ends.

While the server is away, the tuples of the open commit wait in memory, all others at their producer.
"""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import AsyncIterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.csv
import structlog

from understudy.model.sinks import PostgresSink
from understudy.process.secrets import read_secret
from understudy.sinks.database import Away, Database, Result, Work
from understudy.sinks.jsonl import columns_of
from understudy.sinks.port import Opening, Superseded, Writer
from understudy.sinks.waiting import Waiting
from understudy.streams.jsonvalues import json_texts

log = structlog.get_logger()
COMMIT_MS: Final = 100
COMMIT_BYTES: Final = 8 * 2**20
CHUNK_BYTES: Final = 2**18
RETRY_SECONDS: Final = 0.5
POSITIONS: Final = "understudy_positions"
JOB: Final = "_job"
TOLD: Final = frozenset({"_seq", JOB})
"""Columns that the sink writes if the table has them."""


class PostgresTable(Writer):
    """`write` and `commit` wait for the server, however long it is away."""

    commit_ms = COMMIT_MS

    def __init__(self, target: PostgresSink, opening: Opening) -> None:
        """Raises Superseded if a later life has begun, or OSError if the database refuses."""
        self._table = Table(target.table, opening.identity or opening.job.name)
        self._sink = f"{self._table.job}.sink.{opening.sink.name}"
        self._life, self._take = opening.life, uuid.uuid4().hex
        self._stopping = threading.Event()
        self._superseded: Superseded | None = None
        self._waiting = Waiting()
        secret = read_secret(opening.secrets, target.secret)
        name = f"understudy-{hashlib.sha256(self._sink.encode()).hexdigest()[:24]}"
        self._database = Database(secret, name, self._enter)
        self._taken = False
        self.next, self.age_ms = self._lasting(self._position)
        self._written = self.next

    def check(self) -> None:
        """Raises Superseded if a commit has found that. What is acked is committed, so nothing is asked."""
        if self._superseded is not None:
            raise self._superseded

    def write(self, rows: pa.Table) -> None:
        rows = columns_of(rows)
        if not self._waiting.fits(rows):
            self.commit()
        self._waiting.add(rows)
        self._written = rows["_seq"][-1].as_py() + 1
        if self._waiting.bytes >= COMMIT_BYTES:
            self.commit()

    def commit(self) -> None:
        """Raises Superseded; then none of these rows count."""
        rows = self._waiting.rows if self._waiting else None
        if self._written > self.next:
            self.next = self._lasting(lambda connection: self._commit(connection, rows))
        self._waiting.clear()

    def skip(self, to: int) -> None:
        self._written = max(self._written, to)
        self.commit()

    def stop(self) -> None:
        self._stopping.set()

    def close(self) -> None:
        self._database.close()

    # ---- on a connection ---------------------------------------------------------------------------------

    async def _enter(self, connection: Any) -> None:
        await self._table.make_positions(connection)
        found = await connection.fetchrow(
            f"SELECT life, take FROM {self._table.positions} WHERE sink = $1", self._sink
        )
        self._see_that_it_is_ours(found)
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND usename = current_user AND application_name = current_setting('application_name')"
        )
        if not self._taken:
            await self._take_position(connection)

    async def _take_position(self, connection: Any) -> None:
        async with connection.transaction():
            await connection.execute(
                f"INSERT INTO {self._table.positions} (sink) VALUES ($1) ON CONFLICT DO NOTHING", self._sink
            )
            self._see_that_it_is_ours(await self._locked(connection))
            await connection.execute(
                f"UPDATE {self._table.positions} SET life = $2, take = $3 WHERE sink = $1",
                *(self._sink, self._life.number, self._take),
            )
        self._taken = True

    async def _position(self, connection: Any) -> tuple[int, int | None]:
        """The next seq, and how many milliseconds ago an earlier life wrote."""
        found = await connection.fetchrow(
            "SELECT next, (extract(epoch FROM now() - at) * 1000)::bigint AS age "
            f"FROM {self._table.positions} WHERE sink = $1",
            self._sink,
        )
        return found["next"], found["age"]

    async def _commit(self, connection: Any, rows: pa.Table | None) -> int:
        if rows is not None:
            await self._table.make(connection, rows.schema)
        async with connection.transaction():
            found = await self._locked(connection)
            self._see_that_it_is_ours(found)
            if rows is not None:
                await self._table.copy(connection, _after(rows, found["next"]))
            await connection.execute(
                f"UPDATE {self._table.positions} SET next = greatest(next, $2), at = now() WHERE sink = $1",
                *(self._sink, self._written),
            )
        return self._written

    async def _locked(self, connection: Any) -> Any:
        return await connection.fetchrow(
            f"SELECT life, take, next FROM {self._table.positions} WHERE sink = $1 FOR UPDATE", self._sink
        )

    def _see_that_it_is_ours(self, found: Any) -> None:
        """Raises Superseded."""
        if found is None and not self._taken:
            return
        me = self._life.number
        if found is None:
            why = f"{self._table.positions} has no row of the sink any more"
        elif found["life"] > me:
            why = f"life {found['life']} of the sink writes to {self._table.name}, this is life {me}"
        elif self._taken and found["take"] != self._take:
            why = f"another process of life {me} of the sink writes to {self._table.name}"
        else:
            return
        self._superseded = Superseded(why)
        raise self._superseded

    # ---- until it has worked -----------------------------------------------------------------------------

    def _lasting(self, work: Work[Result]) -> Result:
        """Raises Superseded, or OSError if the database refuses the work or the sink is asked to stop."""
        while True:
            try:
                return self._database.run(work)
            except Away as error:
                log.warning("database away", table=self._table.name, error=str(error))
                if self._stopping.wait(RETRY_SECONDS):
                    raise OSError(f"stopped while the database was away: {error}") from error


class Table:
    """The sink's table and the table of positions."""

    def __init__(self, name: str, job: str) -> None:
        """`job`: the content of the column `_job`."""
        schema, _, table = name.rpartition(".")
        self.name, self.job = name, job
        self._schema, self._table = schema or "public", table
        self._quoted = f'"{self._schema}"."{table}"'
        self.positions = f'"{self._schema}"."{POSITIONS}"'
        self._columns: frozenset[str] = frozenset()

    async def make_positions(self, connection: Any) -> None:
        if await connection.fetchval("SELECT to_regclass($1)", self.positions) is None:
            await connection.execute(
                f"CREATE TABLE IF NOT EXISTS {self.positions} (sink text PRIMARY KEY, "
                "life bigint NOT NULL DEFAULT -1, take text NOT NULL DEFAULT '', "
                "next bigint NOT NULL DEFAULT 0, at timestamptz)"
            )

    async def make(self, connection: Any, schema: pa.Schema) -> None:
        """Unless it is there."""
        if await connection.fetchval("SELECT to_regclass($1)", self._quoted) is None:
            columns = ", ".join(f"{_quote(field.name)} {_type_of(field.type)}" for field in schema)
            await connection.execute(
                f"CREATE TABLE IF NOT EXISTS {self._quoted} "
                f"({columns}, {JOB} text NOT NULL, PRIMARY KEY ({JOB}, _seq))"
            )
            self._columns = frozenset()
        if not self._columns:
            found = await connection.fetch(
                "SELECT attname FROM pg_attribute WHERE attrelid = $1::text::regclass "
                "AND attnum > 0 AND NOT attisdropped",
                self._quoted,
            )
            self._columns = frozenset(row["attname"] for row in found)

    async def copy(self, connection: Any, rows: pa.Table) -> None:
        if not rows.num_rows:
            return
        told = rows.append_column(JOB, pa.array([self.job] * rows.num_rows, pa.string()))
        told = told.select([name for name in told.column_names if name not in TOLD - self._columns])
        await connection.copy_to_table(
            self._table,
            schema_name=self._schema,
            columns=told.column_names,
            source=_chunks(as_csv(told)),
            format="csv",
        )


async def _chunks(text: memoryview) -> AsyncIterator[bytes]:
    for start in range(0, len(text), CHUNK_BYTES):
        yield bytes(text[start : start + CHUNK_BYTES])


def as_csv(rows: pa.Table) -> memoryview:
    """As COPY reads it: texts are quoted, nulls are not. Nested values are JSON."""
    plain = pa.table([_plain(rows[name].combine_chunks()) for name in rows.column_names], rows.column_names)
    target = pa.BufferOutputStream()
    pyarrow.csv.write_csv(plain, target, pyarrow.csv.WriteOptions(include_header=False))
    return memoryview(target.getvalue())


def _plain(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pa.array([None if v is None else f"\\x{v.hex()}" for v in column.to_pylist()], pa.string())
    if pa.types.is_nested(kind):
        texts = json_texts(column).to_pylist()
        known = column.is_valid().to_pylist()
        return pa.array([text if k else None for text, k in zip(texts, known, strict=True)], pa.string())
    return column


def _after(rows: pa.Table, following: int) -> pa.Table:
    """Those that are not committed yet."""
    return rows.slice(max(0, following - rows["_seq"][0].as_py()))


def _quote(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _type_of(kind: pa.DataType) -> str:
    match kind:
        case _ if pa.types.is_boolean(kind):
            return "boolean"
        case _ if pa.types.is_integer(kind):
            return "bigint"
        case _ if pa.types.is_floating(kind):
            return "double precision"
        case _ if pa.types.is_decimal(kind):
            return f"numeric({kind.precision}, {kind.scale})"
        case _ if pa.types.is_timestamp(kind):
            return "timestamptz" if kind.tz else "timestamp"
        case _ if pa.types.is_date(kind):
            return "date"
        case _ if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return "bytea"
        case _ if pa.types.is_nested(kind):
            return "jsonb"
        case _:
            return "text"
