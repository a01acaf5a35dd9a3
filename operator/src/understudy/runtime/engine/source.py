"""The Python data source: Spark's offset is the number of a batch plan, nothing else.

`latestOffset` waits in the driver's server until a plan is cut; a task fetches its part of the plan from there, so
that executors on other machines can too. The class is pickled by reference to workers: imports stay inside methods.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    import pyarrow as pa

NAME = "understudy"
CALL_SECONDS = 30.0


class PlanSource(DataSource):  # type: ignore[misc]
    """Options: `address` (host:port of the driver's server), `element`, `start` (the last plan that is done)."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def streamReader(self, schema: StructType) -> PlanReader:
        return PlanReader(self.options)


@dataclass
class PlanPart(InputPartition):  # type: ignore[misc]
    plan: int
    part: int


class PlanReader(DataSourceStreamReader):  # type: ignore[misc]
    def __init__(self, options: Mapping[str, str]) -> None:
        self._address = options["address"]
        self._element = options["element"]
        self._start = int(options["start"])
        self._parts: dict[int, int] = {}
        self._client: Any = None

    def initialOffset(self) -> dict[str, int]:
        return {"plan": self._start}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        from understudy.runtime import wire

        if self._client is None:
            self._client = wire.connect(self._address)
        answer = wire.do(self._client, "cut", CALL_SECONDS, element=self._element, after=start["plan"])
        self._parts = {answer["plan"]: answer["parts"]}
        return {"plan": answer["plan"]}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[PlanPart]:
        return [PlanPart(end["plan"], part) for part in range(self._parts[end["plan"]])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from understudy.runtime import wire

        assert isinstance(partition, PlanPart)
        request = wire.ticket("rows", element=self._element, plan=partition.plan, part=partition.part)
        with wire.connect(self._address) as client:
            for chunk in client.do_get(request):
                yield chunk.data
