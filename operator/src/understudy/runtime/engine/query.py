"""An element as a running Structured Streaming query."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from understudy.protocol.selection import CountWindow, rule_of
from understudy.runtime.engine.compile import Shape, compile_element, shape_of
from understudy.runtime.engine.inbox import Inbox
from understudy.runtime.engine.lane import TIMESTAMP
from understudy.runtime.engine.plan import BatchPlan
from understudy.runtime.engine.source import NAME
from understudy.runtime.engine.windows import ring

OnOutput = Callable[[BatchPlan, pa.Table], None]
_starts = itertools.count()


class ElementQuery:
    """Runs the inbox's plans, one micro-batch each, and hands over `_ts` and payload columns in output order."""

    def __init__(self, inbox: Inbox, shape: Shape, on_output: OnOutput) -> None:
        self._inbox = inbox
        self._on_output = on_output
        self._order = shape.order
        self.schema = pa.schema([pa.field("_ts", TIMESTAMP), *shape.payload])
        self._compiled = compile_element(inbox.element, inbox.inputs)
        self._rule = rule_of(inbox.element.operators)
        self._next = inbox.last_done + 1
        self._query: StreamingQuery | None = None
        self._folder: Path | None = None

    @classmethod
    def start(cls, spark: SparkSession, inbox: Inbox, address: str, scratch: Path, on_output: OnOutput) -> ElementQuery:
        """`address`: where this process serves `cut` and `rows`. The query continues after the inbox's last plan."""
        shape = shape_of(inbox.element, inbox.inputs, lambda raw: spark.createDataFrame([], raw))
        self = cls(inbox, shape, on_output)
        self._folder = scratch / f"{inbox.element.name}-{next(_starts)}"
        raw = (
            spark.readStream.format(NAME)
            .schema(shape.raw)
            .options(address=address, element=inbox.element.name, start=str(inbox.last_done))
            .load()
        )
        writer = raw.writeStream.foreachBatch(self._batch).queryName(self._folder.name)
        self._query = writer.option("checkpointLocation", str(self._folder)).start()
        return self

    def _batch(self, rows: DataFrame, _: int) -> None:
        plan = self._inbox.plan(self._next)
        if len(plan.parts) == 1:
            rows = rows.coalesce(1)
        times = None
        if isinstance(self._rule, CountWindow):
            times = ring(self._rule.first_open(plan.start), self._inbox.window_times(plan.number))
        table = self._in_order(self._compiled(rows, times).toArrow())
        if not plan.rehearsal:
            self._on_output(plan, table)
        self._inbox.done(plan.number)
        self._next += 1

    def _in_order(self, table: pa.Table) -> pa.Table:
        keys = table.select(range(self._order))
        wanted = table.select(range(self._order, table.num_columns)).cast(self.schema)
        if table.num_rows < 2:
            return wanted
        return wanted.take(pc.sort_indices(keys, [(name, "ascending", "at_start") for name in keys.column_names]))

    def stop(self) -> None:
        if self._query is not None:
            self._inbox.close()
            self._query.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def failed(self) -> str | None:
        """Why the query has stopped by itself; None while it runs."""
        if self._query is None or self._query.isActive:
            return None
        error = self._query.exception()
        return str(error) if error is not None else "the query stopped"
