"""An element as a running Structured Streaming query.

Spark's stream only says which plan is next. Its own log is not used for recovery: it is in the scratch
folder, and written late.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import structlog
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from understudy.engine.compile import raw_type
from understudy.engine.computation import Computation
from understudy.engine.folding import Folding
from understudy.engine.inbox import Inbox
from understudy.engine.plan import BatchPlan
from understudy.engine.source import NAME

log = structlog.get_logger()
OnOutput = Callable[[BatchPlan, pa.Table], None]
LOG_BEHIND = {
    "asyncProgressTrackingEnabled": "true",
    "asyncProgressTrackingCheckpointIntervalMs": "600000",
    "_asyncProgressTrackingOverrideSinkSupportCheck": "true",
}
# Spark gives its Python helper ten seconds to start, which a busy machine can exceed.
TOO_SLOW = "Python worker failed to connect back"
ATTEMPTS = 5
_numbers = itertools.count()


class ElementQuery:
    """Runs the inbox's plans, one micro-batch each, and passes on `_ts` and payload columns in output
    order."""

    def __init__(
        self, spark: SparkSession, inbox: Inbox, address: str, scratch: Path, on_output: OnOutput
    ) -> None:
        self._spark, self._inbox, self._scratch = spark, inbox, scratch
        self._on_output = on_output
        self._options = {"address": address, "element": inbox.element.name}
        kind = Folding if inbox.in_panes else Computation
        self._computation: Computation | Folding = kind(spark, inbox, self._options)
        self.schema = self._computation.schema
        self._attempts = 0
        self._began = False
        self._query, self._folder = self._launch()

    @classmethod
    def start(
        cls, spark: SparkSession, inbox: Inbox, address: str, scratch: Path, on_output: OnOutput
    ) -> ElementQuery:
        """`address`: where this process serves `cut` and `rows`. The query continues after the inbox's last
        plan."""
        return cls(spark, inbox, address, scratch, on_output)

    def _launch(self) -> tuple[StreamingQuery, Path]:
        element = self._inbox.element
        self._attempts += 1
        self._next = self._inbox.last_done + 1
        folder = self._scratch / f"{element.name}-{next(_numbers)}"
        columns = raw_type(element, self._inbox.inputs, self._inbox.in_panes)
        reader = self._spark.readStream.format(NAME).schema(columns)
        rows = reader.options(**self._options, start=str(self._next - 1)).load()
        writer = rows.writeStream.foreachBatch(self._batch).queryName(folder.name).options(**LOG_BEHIND)
        return writer.option("checkpointLocation", str(folder)).start(), folder

    def _batch(self, rows: DataFrame, _: int) -> None:
        self._began = True
        plan = self._inbox.begin(self._next)
        table = self._computation.run(plan, rows)
        with self._inbox.waited_for():
            if not (plan.warm_up or plan.ahead):
                self._on_output(plan, table)
            self._inbox.done(plan.number)
        self._next += 1

    def stop(self) -> None:
        self._inbox.close()
        self._query.stop()
        self._computation.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def failed(self) -> str | None:
        """Why the query has stopped by itself; None while it runs. A query that could not start is started
        again."""
        if self._query.isActive:
            return None
        error = self._query.exception()
        why = str(error) if error is not None else "the query stopped"
        if TOO_SLOW in why and not self._began and self._attempts < ATTEMPTS:
            log.warning(
                "query started too slowly, again", element=self._inbox.element.name, attempt=self._attempts
            )
            self._query, self._folder = self._launch()
            return None
        return why
