"""What an element makes of a batch plan.

A small plan is computed by a query that is analysed, planned and compiled once: a plan over one partition without an
exchange, executed again for each batch plan and reading whatever plan is under way. A big plan, read in parallel, is
computed from the micro-batch's own rows and planned anew.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from understudy.protocol.selection import CountWindow, rule_of
from understudy.runtime.engine.compile import compile_element, raw_type, reads_apart, shape_of
from understudy.runtime.engine.inbox import Inbox
from understudy.runtime.engine.lane import TIMESTAMP, to_timestamps
from understudy.runtime.engine.plan import BatchPlan, uses_window_times
from understudy.runtime.engine.source import NAME


class Computation:
    def __init__(self, spark: SparkSession, inbox: Inbox, options: Mapping[str, str]) -> None:
        element = inbox.element
        self._inbox = inbox
        self._prepared = self._prepare(spark, options)
        shape = shape_of(self._prepared)
        self._order = shape.order
        self.schema = pa.schema([pa.field("_ts", TIMESTAMP), *shape.payload])
        counted = isinstance(rule_of(element.operators), CountWindow)
        self._lacks_times = counted and not uses_window_times(element)
        # Spark keeps what an exchange has moved: executed again, it would give the first plan's rows
        self._can_repeat = "Exchange" not in self._prepared._jdf.queryExecution().executedPlan().toString()

    def _prepare(self, spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
        """The query over whatever plan is under way."""
        element, inputs = self._inbox.element, self._inbox.inputs
        reader = spark.read.format(NAME).schema(raw_type(element, inputs)).options(**options)
        if reads_apart(element):
            raws = [reader.option("input", str(place)).load().coalesce(1) for place in range(len(inputs))]
        else:
            raws = [reader.load().coalesce(1)]
        return compile_element(element, inputs, raws)

    def run(self, plan: BatchPlan, rows: DataFrame) -> pa.Table:
        """`_ts` and payload columns, in output order. `rows`: the micro-batch's own."""
        if self._can_repeat and len(plan.parts) == 1:
            return self._finished(plan, self._prepared.toArrow())
        return self._finished(plan, compile_element(self._inbox.element, self._inbox.inputs, [rows]).toArrow())

    def _finished(self, plan: BatchPlan, made: pa.Table) -> pa.Table:
        keys = made.select(range(self._order))
        table = made.select(range(self._order, made.num_columns))
        if self._lacks_times:
            first, times = self._inbox.window_times(plan.number)
            windows = np.asarray(keys.column(0).to_numpy(), np.int64)
            table = table.set_column(0, self.schema.field(0), to_timestamps(times[windows - first]))
        table = table.cast(self.schema)
        if table.num_rows < 2:
            return table
        return table.take(pc.sort_indices(keys, [(name, "ascending", "at_start") for name in keys.column_names]))
