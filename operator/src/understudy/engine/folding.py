"""How an element with panes computes the output of a batch plan: one query makes partials of the plan's rows,
a second one folds the partials of the windows that the plan closes.

Both are plans over one partition that are executed again for each batch plan, as in `computation`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as Items
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from understudy.engine.cells import BLOCK
from understudy.engine.compile import (
    compile_element,
    compile_fold,
    compile_partials,
    fold_type,
    raw_type,
    shape_of,
)
from understudy.engine.computation import Finish, can_repeat
from understudy.engine.function import declared
from understudy.engine.inbox import PART_ROWS, Inbox
from understudy.engine.lane import InputSpec
from understudy.engine.plan import BatchPlan
from understudy.engine.source import NAME
from understudy.model.elements import Element
from understudy.model.panes import Mergeable, Whole, panes_of


def inbox_of(
    spark: SparkSession,
    element: Element,
    inputs: Items[InputSpec],
    *,
    parallelism: int = 1,
    part_rows: int = PART_ROWS,
    block: int = BLOCK,
) -> Inbox:
    """The element's inbox; with panes, if its windows can be folded from partials."""
    kept = block if keeps_panes(spark, element, inputs) else None
    return Inbox(element, inputs, parallelism=parallelism, part_rows=part_rows, block=kept)


def keeps_panes(spark: SparkSession, element: Element, inputs: Items[InputSpec]) -> bool:
    """Whether the element's windows are folded from partials. The results need the types that Spark gives
    them without panes, which an average of decimals has not."""
    merge = panes_of(element)
    if isinstance(merge, Whole):
        return False
    rows = spark.createDataFrame([], raw_type(element, inputs, in_panes=True))
    try:
        made = compile_partials(element, inputs, rows, merge, declared)
        folded = compile_fold(element, spark.createDataFrame([], fold_type(element, made)), merge, declared)
    except AnalysisException:
        return False
    whole = compile_element(element, inputs, [spark.createDataFrame([], raw_type(element, inputs))], declared)
    return bool(shape_of(folded).payload.equals(shape_of(whole).payload))


class Folding:
    def __init__(self, spark: SparkSession, inbox: Inbox, options: Mapping[str, str]) -> None:
        merge = panes_of(inbox.element)
        assert isinstance(merge, Mergeable)
        self._spark, self._inbox, self._options, self._merge = spark, inbox, options, merge
        slots = range(inbox.parallelism)
        first = self._partials(0)
        self._type = fold_type(inbox.element, first)
        self._made = _arrow(first)
        self._folded = _arrow(spark.createDataFrame([], self._type))
        self._sums = _Repeated(self._partials, slots)
        self._folds = _Repeated(self._fold, slots)
        self._threads = ThreadPoolExecutor(len(slots), f"panes of {inbox.element.name}")
        self._finish = Finish(inbox, shape_of(self._folds.query(0)))
        self.schema = self._finish.schema

    def _reader(self, part: int) -> DataFrameReader:
        return self._spark.read.format(NAME).options(**self._options, part=str(part))

    def _partials(self, part: int) -> DataFrame:
        element, inputs = self._inbox.element, self._inbox.inputs
        rows = self._reader(part).schema(raw_type(element, inputs, in_panes=True)).load().coalesce(1)
        return compile_partials(element, inputs, rows, self._merge)

    def _fold(self, slot: int) -> DataFrame:
        rows = self._reader(slot).schema(self._type).option("fold", "true").load().coalesce(1)
        return compile_fold(self._inbox.element, rows, self._merge)

    def run(self, plan: BatchPlan, _: DataFrame) -> pa.Table:
        """`_ts` and payload columns, in output order."""
        closing = self._inbox.summed(plan.number, self._summed(plan))
        if not closing and not plan.warm_up:
            return self.schema.empty_table()
        tables = [table.select(self._folded.names).cast(self._folded) for table in closing] or [
            self._folded.empty_table()
        ]
        return self._finish.ordered(plan, pa.concat_tables(self._all_folded(tables)))

    def _summed(self, plan: BatchPlan) -> list[pa.Table]:
        """For each part its partials."""
        parts = [number for number, part in enumerate(plan.parts) if part.shut > part.opened]
        made = dict(zip(parts, self._computed(self._sums, parts), strict=True))
        return [made.get(number, self._made.empty_table()) for number in range(len(plan.parts))]

    def _all_folded(self, tables: Items[pa.Table]) -> list[pa.Table]:
        made, slots = [], self._inbox.parallelism
        for start in range(0, len(tables), slots):
            group = tables[start : start + slots]
            self._inbox.lend(group)
            made += self._computed(self._folds, range(len(group)))
        return made

    def _computed(self, queries: _Repeated, parts: Items[int]) -> list[pa.Table]:
        if len(parts) == 1:
            return [queries.query(parts[0]).toArrow()]
        return list(self._threads.map(lambda part: queries.query(part).toArrow(), parts))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class _Repeated:
    """One query for each task, planned once if it can be executed again."""

    def __init__(self, make: Callable[[int], DataFrame], slots: Items[int]) -> None:
        self._make = make
        self._prepared = [make(slot) for slot in slots]
        self._repeats = can_repeat(self._prepared[0])

    def query(self, slot: int) -> DataFrame:
        return self._prepared[slot] if self._repeats else self._make(slot)


def _arrow(made: DataFrame) -> pa.Schema:
    """As the data source has to deliver it."""
    return to_arrow_schema(made.schema, timezone="UTC")
