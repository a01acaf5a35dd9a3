"""How an element computes the output of a batch plan.

A query is analysed, planned and compiled once for each part that a plan can have: as a plan over one
partition without an exchange, which is executed again for each batch plan and reads the plan that is running.
Parts are computed at the same time. Only if rows of different parts meet, in a join of a big plan, is the
result computed from the micro-batch's own rows and planned again each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from understudy.engine.compile import Shape, compile_element, raw_type, reads_apart, shape_of
from understudy.engine.inbox import Inbox
from understudy.engine.lane import TIMESTAMP, to_timestamps
from understudy.engine.plan import BatchPlan, uses_window_times
from understudy.engine.source import NAME
from understudy.protocol.selection import CountWindow, rule_of


class Computation:
    def __init__(self, spark: SparkSession, inbox: Inbox, options: Mapping[str, str]) -> None:
        element = inbox.element
        self._spark, self._inbox, self._options = spark, inbox, options
        prepared = [self._prepare(part) for part in range(1 if reads_apart(element) else inbox.parallelism)]
        self._prepared = prepared if can_repeat(prepared[0]) else []
        self._threads = ThreadPoolExecutor(len(prepared), f"parts of {element.name}")
        self._finish = Finish(inbox, shape_of(prepared[0]))
        self.schema = self._finish.schema

    def _prepare(self, part: int) -> DataFrame:
        """The query over one part of the plan that is running."""
        element, inputs = self._inbox.element, self._inbox.inputs
        reader = self._spark.read.format(NAME).schema(raw_type(element, inputs))
        reader = reader.options(**self._options, part=str(part))
        if reads_apart(element):
            raws = [reader.option("input", str(place)).load().coalesce(1) for place in range(len(inputs))]
        else:
            raws = [reader.load().coalesce(1)]
        return compile_element(element, inputs, raws)

    def run(self, plan: BatchPlan, rows: DataFrame) -> pa.Table:
        """`_ts` and payload columns, in output order. `rows`: the micro-batch's own rows."""
        parts = len(plan.parts)
        if parts > len(self._prepared):
            made = compile_element(self._inbox.element, self._inbox.inputs, [rows]).toArrow()
        elif parts == 1:
            made = self._prepared[0].toArrow()
        else:
            made = pa.concat_tables(self._threads.map(DataFrame.toArrow, self._prepared[:parts]))
        return self._finish.ordered(plan, made)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class Finish:
    """What is done with a query's result after Spark."""

    def __init__(self, inbox: Inbox, shape: Shape) -> None:
        self._inbox, self._order = inbox, shape.order
        self.schema = pa.schema([pa.field("_ts", TIMESTAMP), *shape.payload])
        counted = isinstance(rule_of(inbox.element.operators), CountWindow)
        self._lacks_times = counted and not uses_window_times(inbox.element)

    def ordered(self, plan: BatchPlan, made: pa.Table) -> pa.Table:
        """`_ts` and payload columns, in output order."""
        keys = made.select(range(self._order))
        table = made.select(range(self._order, made.num_columns))
        if self._lacks_times:
            first, times = self._inbox.window_times(plan.number)
            windows = np.asarray(keys.column(0).to_numpy(), np.int64)
            table = table.set_column(0, self.schema.field(0), to_timestamps(times[windows - first]))
        table = table.cast(self.schema)
        if _in_order(keys):
            return table
        return table.take(
            pc.sort_indices(keys, [(name, "ascending", "at_start") for name in keys.column_names])
        )


def _in_order(keys: pa.Table) -> bool:
    """Whether the output is certainly in order: row by row, Spark keeps the order."""
    return keys.num_rows < 2 or (
        keys.num_columns == 1 and bool((np.diff(keys.column(0).to_numpy()) >= 0).all())
    )


def can_repeat(query: DataFrame) -> bool:
    """Spark keeps what an exchange has moved: executed again, the query would return the first plan's
    rows."""
    return "Exchange" not in query._jdf.queryExecution().executedPlan().toString()
