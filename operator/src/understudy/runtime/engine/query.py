"""An element as a running Structured Streaming query.

The stream says which plan is next, and remembers nothing that we need: its log is scratch and written behind. A small
plan is computed by a query that is analysed, planned and compiled once: a plan over one partition without an exchange,
executed again for each batch plan and reading whatever plan is under way. A big plan, read in parallel, is computed
from the micro-batch's own rows and planned anew.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from understudy.protocol.selection import CountWindow, rule_of
from understudy.runtime.engine.compile import Shape, compile_element, reads_apart, shape_of
from understudy.runtime.engine.inbox import Inbox
from understudy.runtime.engine.lane import TIMESTAMP, to_timestamps
from understudy.runtime.engine.plan import BatchPlan, uses_window_times
from understudy.runtime.engine.source import NAME

OnOutput = Callable[[BatchPlan, pa.Table], None]
LOG_BEHIND = {
    "asyncProgressTrackingEnabled": "true",
    "asyncProgressTrackingCheckpointIntervalMs": "600000",
    "_asyncProgressTrackingOverrideSinkSupportCheck": "true",
}
_starts = itertools.count()


class ElementQuery:
    """Runs the inbox's plans, one micro-batch each, and hands over `_ts` and payload columns in output order."""

    def __init__(self, inbox: Inbox, shape: Shape, prepared: DataFrame | None, on_output: OnOutput) -> None:
        self._inbox = inbox
        self._on_output = on_output
        self._order = shape.order
        self._prepared = prepared
        self._timed_here = isinstance(rule_of(inbox.element.operators), CountWindow) and not uses_window_times(
            inbox.element
        )
        self.schema = pa.schema([pa.field("_ts", TIMESTAMP), *shape.payload])
        self._next = inbox.last_done + 1
        self._query: StreamingQuery | None = None
        self._folder: Path | None = None

    @classmethod
    def start(cls, spark: SparkSession, inbox: Inbox, address: str, scratch: Path, on_output: OnOutput) -> ElementQuery:
        """`address`: where this process serves `cut` and `rows`. The query continues after the inbox's last plan."""
        element = inbox.element
        shape = shape_of(element, inbox.inputs, lambda raw: spark.createDataFrame([], raw))
        options = {"address": address, "element": element.name}
        self = cls(inbox, shape, _prepare(spark, inbox, shape, options), on_output)
        self._folder = scratch / f"{element.name}-{next(_starts)}"
        options |= {"start": str(inbox.last_done)}
        raw = spark.readStream.format(NAME).schema(shape.raw).options(**options).load()
        writer = raw.writeStream.foreachBatch(self._batch).queryName(self._folder.name)
        self._query = writer.options(**LOG_BEHIND).option("checkpointLocation", str(self._folder)).start()
        return self

    def _batch(self, rows: DataFrame, _: int) -> None:
        plan = self._inbox.begin(self._next)
        if len(plan.parts) > 1 or self._prepared is None:
            result = compile_element(self._inbox.element, self._inbox.inputs, [rows])
        else:
            result = self._prepared
        table = self._finished(plan, result.toArrow())
        if not plan.rehearsal:
            self._on_output(plan, table)
        self._inbox.done(plan.number)
        self._next += 1

    def _finished(self, plan: BatchPlan, table: pa.Table) -> pa.Table:
        """In output order, without the order columns."""
        keys = table.select(range(self._order))
        wanted = table.select(range(self._order, table.num_columns))
        if self._timed_here:
            first, times = self._inbox.window_times(plan.number)
            windows = np.asarray(keys.column(0).to_numpy(), np.int64)
            wanted = wanted.set_column(0, self.schema.field(0), to_timestamps(times[windows - first]))
        wanted = wanted.cast(self.schema)
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


def _prepare(spark: SparkSession, inbox: Inbox, shape: Shape, options: dict[str, str]) -> DataFrame | None:
    """The query over whatever plan is under way; None if it needs an exchange, whose data Spark would keep."""
    element = inbox.element
    raws = [
        spark.read.format(NAME).schema(shape.raw).options(**options, **only).load().coalesce(1)
        for only in ([{"input": str(n)} for n in range(len(inbox.inputs))] if reads_apart(element) else [{}])
    ]
    prepared = compile_element(element, inbox.inputs, raws)
    executed = prepared._jdf.queryExecution().executedPlan().toString()
    return None if "Exchange" in executed else prepared
