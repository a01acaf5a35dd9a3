"""The sink kind `delta`: tuples in a Delta table, with the position in the transaction of each commit.

Delta numbers its versions, and only one writer can create a version. Each commit contains application
transactions of the sink:

| application id | version |
|---|---|
| `ID` | the position: the seq behind the tuples of the commit |
| `ID/take` | how many processes have taken the table |
| `ID/life/RUN` | the life, which is compared within a run only |

A process that starts commits its take, without tuples. A process that it supersedes can commit only after
the version that it has read last, so its commit conflicts. After each conflict a process reads the newest
version, which names the later take. So it also finds that a commit of its own has come through unheard.

If there is no table yet, the first commit makes it, and is the take.

The data file is synced before the commit, and the commit before the tuples are acked.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from understudy.process.clock import now_ms
from understudy.sinks.disk import Disk
from understudy.sinks.fence import make, sync
from understudy.sinks.files import SYNC_BYTES
from understudy.sinks.jsonl import columns_of
from understudy.sinks.parquet import encoded
from understudy.sinks.port import Life, Superseded, Writer
from understudy.sinks.rolling import Rolling
from understudy.sinks.waiting import Waiting

NONE: Final[tuple[RemoveAction, ...]] = ()
ATTEMPTS: Final = 20
"""Other writers may commit at the same time, to optimize the table or to delete rows."""


class DeltaLog(Writer):
    def __init__(
        self, folder: Path, life: Life, sink: str, rolling: Rolling | None = None, disk: Disk | None = None
    ) -> None:
        """`sink`: its application id. Raises Superseded if a later life has begun."""
        self._folder, self._life, self._sink = folder, life, sink
        self._rolling, self._disk = rolling or Rolling(), disk or Disk()
        self.commit_ms = self._rolling.ms
        self._waiting = Waiting()
        self._take: int | None = None
        self._table: DeltaTable | None = None
        self.next = 0
        with self._step("making the folder"):
            make(folder)
        self._look()
        if self._table is not None:
            self._commit(None)
            self.next = self._said(self._sink)

    def check(self) -> None:
        """Nothing to do: what is acked is committed, and a process that was superseded can't commit."""

    def write(self, rows: pa.Table) -> None:
        """Raises Superseded."""
        rows = columns_of(rows)
        if not self._waiting.fits(rows):
            self.commit()
        self._waiting.add(rows)
        if self._waiting.bytes >= self._rolling.bytes:
            self.commit()

    def commit(self) -> None:
        """Raises Superseded; then none of these rows count."""
        if self._waiting:
            rows = self._waiting.rows
            self._commit(rows)
            self.next = rows["_seq"][-1].as_py() + 1
            self._waiting.clear()

    def close(self) -> None:
        """Nothing is open between two commits."""

    # ---- the table ---------------------------------------------------------------------------------------

    def _commit(self, rows: pa.Table | None) -> None:
        """Takes the table, if that is not done yet, and adds the rows that it lacks."""
        why: DeltaError | None = None
        for _ in range(ATTEMPTS):
            left = None if rows is None else _after(rows, self._said(self._sink))
            if self._take is not None and (left is None or not left.num_rows):
                return
            try:
                self._attempt(left)
                return
            except DeltaError as error:
                why = error
            self._look()
        raise OSError(f"{self._folder} can't be committed to: {why}")

    def _attempt(self, rows: pa.Table | None) -> None:
        """Raises DeltaError if another writer was faster."""
        take = self._take if self._take is not None else self._said(self._take_id) + 1
        actions = [] if rows is None or not rows.num_rows else [self._put(rows)]
        says = [Transaction(self._take_id, take), Transaction(self._life_id, self._life.number)]
        if actions:
            assert rows is not None
            says.append(Transaction(self._sink, rows["_seq"][-1].as_py() + 1))
        properties = CommitProperties(app_transactions=says, max_commit_retries=0)
        with self._step("a commit"):
            if self._table is not None:
                self._table.create_write_transaction(
                    [*actions, *NONE], "append", self._table.schema(), [], commit_properties=properties
                )
            elif rows is not None:
                schema = Schema.from_arrow(rows.schema)
                create_table_with_add_actions(
                    str(self._folder), schema, actions, mode="error", commit_properties=properties
                )
            sync_log(self._folder / "_delta_log")
        self._take = take
        self._look()

    def _put(self, rows: pa.Table) -> AddAction:
        """A data file, durably. It counts with the commit that names it."""
        content, name = encoded(rows), f"part-{uuid.uuid4()}.parquet"
        with self._step("a new file"):
            file = (self._folder / name).open("xb")
        with file:
            for start in range(0, len(content), SYNC_BYTES):
                with self._step("a write"):
                    file.write(content[start : start + SYNC_BYTES])
                    file.flush()
                    os.fsync(file.fileno())
        with self._step("a sync"):
            sync(self._folder)
        stats = json.dumps({"numRecords": rows.num_rows})
        return AddAction(name, len(content), {}, now_ms(), True, stats)

    def _look(self) -> None:
        """Reads the newest version. Raises Superseded."""
        with self._step("a look"):
            try:
                self._read()
            except DeltaError as error:
                raise OSError(f"the table in {self._folder} can't be read: {error}") from error
        if self._table is None:
            return
        me, life, take = self._life.number, self._said(self._life_id), self._said(self._take_id)
        if life > me:
            raise Superseded(f"life {life} of the sink writes to {self._folder}, this is life {me}")
        if self._take is not None and take != self._take:
            raise Superseded(f"another process of the sink writes to {self._folder}")

    def _read(self) -> None:
        if self._table is None and DeltaTable.is_deltatable(str(self._folder)):
            self._table = DeltaTable(str(self._folder))
        elif self._table is not None:
            self._table.update_incremental()

    def _said(self, application: str) -> int:
        found = self._table.transaction_version(application) if self._table is not None else None
        return 0 if found is None else int(found)

    @property
    def _take_id(self) -> str:
        return f"{self._sink}/take"

    @property
    def _life_id(self) -> str:
        return f"{self._sink}/life/{self._life.run}"

    @contextmanager
    def _step(self, what: str) -> Iterator[None]:
        with self._disk.step(f"{what} in {self._folder}"):
            yield


def sync_log(log: Path) -> None:
    """The newest versions, and their names."""
    for path in sorted(log.glob("*.json"))[-2:]:
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
    sync(log)
    sync(log.parent)


def _after(rows: pa.Table, following: int) -> pa.Table:
    """Those that are not committed yet."""
    return rows.slice(max(0, following - rows["_seq"][0].as_py()))
