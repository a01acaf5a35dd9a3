"""The Python data source: Spark's offset is the number of a batch plan, nothing else.

`latestOffset` waits in the driver's server until a plan is cut; a task fetches its part of the plan from
there, so that executors on other machines can do so, too. Read as a batch, the source returns the rows of the
plan that is running. The classes are pickled by reference to workers: imports stay inside functions.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from understudy.engine.requests import Cut, NextPlan, PartRows

if TYPE_CHECKING:
    import pyarrow as pa

NAME = "understudy"
CALL_SECONDS = 30.0


class PlanSource(DataSource):  # type: ignore[misc]
    """Options: `address` (host:port of the driver's server), `element`; `start` (the last plan that is done)
    for a stream; `part`, and `input` (rows of one input only) or `fold` (partials of panes) for a batch."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def streamReader(self, schema: StructType) -> PlanStream:
        return PlanStream(self.options)

    def reader(self, schema: StructType) -> CurrentPlan:
        return CurrentPlan(self.options)


@dataclass
class PlanPart(InputPartition):  # type: ignore[misc]
    plan: int | None
    part: int


class PlanStream(DataSourceStreamReader):  # type: ignore[misc]
    def __init__(self, options: Mapping[str, str]) -> None:
        self._address = options["address"]
        self._element = options["element"]
        self._start = int(options["start"])
        self._parts: dict[int, int] = {}

    def initialOffset(self) -> dict[str, int]:
        return {"plan": self._start}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        found = _cut(self._address, NextPlan(self._element, start["plan"]))
        self._parts = {found.plan: found.parts}
        return {"plan": found.plan}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[PlanPart]:
        return [PlanPart(end["plan"], part) for part in range(self._parts[end["plan"]])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, PlanPart)
        return _rows(self._address, PartRows(self._element, partition.plan, partition.part))


class CurrentPlan(DataSourceReader):  # type: ignore[misc]
    """One partition, so that a plan over it needs no exchange and can be executed again for every batch
    plan."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._address = options["address"]
        self._element = options["element"]
        self._part = int(options["part"])
        self._input = int(options["input"]) if "input" in options else None
        self._fold = "fold" in options

    def partitions(self) -> list[PlanPart]:
        return [PlanPart(None, self._part)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _rows(self._address, PartRows(self._element, None, self._part, self._input, self._fold))


@cache
def _client(address: str) -> Any:
    """One connection per worker process: a new one costs more than the rows of a small batch.

    Spark's workers collect garbage after every task, which takes 25 ms with all imported modules. So the
    modules are excluded from it.
    """
    from understudy.streams.connection import connect

    gc.freeze()
    return connect(address)


def _cut(address: str, request: NextPlan) -> Cut:
    import pyarrow.flight as flight

    from understudy.streams.connection import CUT

    options = flight.FlightCallOptions(timeout=CALL_SECONDS)
    results = _client(address).do_action(flight.Action(CUT, request.to_bytes()), options)
    return Cut.from_bytes(next(iter(results)).body.to_pybytes())


def _rows(address: str, request: PartRows) -> Iterator[pa.RecordBatch]:
    import pyarrow.flight as flight

    from understudy.streams.connection import ROWS

    for chunk in _client(address).do_get(flight.Ticket(ROWS + request.to_bytes())):
        yield chunk.data
