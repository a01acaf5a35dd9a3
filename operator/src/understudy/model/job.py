"""The StreamJob: a loop-free query network of sources, subjobs and sinks."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from pydantic import ConfigDict, Field, JsonValue

from .ha import Ha, SparkSettings
from .operators import TaggedOperator
from .sinks import Sink
from .sources import Source
from .value import AS_SET, BY_NAME, Name, Size, Value, mebibytes

MAX_SOURCES: Final = 100
MAX_SUBJOBS: Final = 100
MAX_SINKS: Final = 100
MAX_INPUTS: Final = 20
MAX_OPERATORS: Final = 50
MAX_ELEMENTS: Final = 20


class Merge(StrEnum):
    ARRIVAL = "arrival"
    EVENT_TIME = "eventTime"


Inputs = Annotated[tuple[Name, ...], Field(min_length=1, max_length=MAX_INPUTS, json_schema_extra=AS_SET)]


class ElementSpec(Value):
    """One processing element of a subjob, with its own output queue."""

    name: Name
    """The element's name inside the subjob."""

    inputs: Inputs
    """Inputs of the subjob or elements before this one."""

    operators: Annotated[tuple[TaggedOperator, ...], Field(min_length=1, max_length=MAX_OPERATORS)]
    """What it computes, in order; at most one of them an aggregate or a join."""


_OPERATORS_OR_ELEMENTS: Final[dict[str, JsonValue]] = {
    "rule": "has(self.operators) != has(self.elements)",
    "message": "write operators or elements, and not both",
}


class QueueBounds(Value):
    """How much an output queue holds. A full queue stops its producer, and so on up to the sources, until its
    consumers have taken tuples; nothing is dropped. It has to hold what the states of its consumers need."""

    memory: Size = "64Mi"
    """Memory for the newest tuples. Default: 64Mi."""

    disk: Size = "4Gi"
    """Space in the instance's scratch folder for older tuples. Default: 4Gi."""

    @property
    def memory_bytes(self) -> int:
        return mebibytes(self.memory) << 20

    @property
    def disk_bytes(self) -> int:
        return mebibytes(self.disk) << 20


class Subjob(Value):
    """A part of the query network that runs, and fails, as one process: a Spark driver."""

    model_config = ConfigDict(json_schema_extra={"x-kubernetes-validations": [_OPERATORS_OR_ELEMENTS]})

    name: Name
    """The name of the subjob and of the stream that it emits."""

    inputs: Inputs
    """Names of the sources and subjobs whose streams it reads. Several meet in a `join` (operators before it
    work on its left side, the stream so far) or in a `union` or `sql` at the beginning. Expressions call the
    stream so far by the name of the first input."""

    operators: Annotated[tuple[TaggedOperator, ...], Field(max_length=MAX_OPERATORS)] = ()
    """What it computes, in order. Either this or `elements`."""

    elements: Annotated[
        tuple[ElementSpec, ...], Field(max_length=MAX_ELEMENTS, json_schema_extra=BY_NAME)
    ] = ()
    """The subjob cut by hand into processing elements; the one that no other reads emits the subjob's
    stream."""

    merge: Merge = Merge.ARRIVAL
    """How several inputs become one sequence. `arrival`: as they come, lowest latency, not repeatable.
    `eventTime`: by ts, then by the input's place in the list; waits for the slowest input.
    Default: arrival."""

    ha: Ha = Ha()
    """How it is kept alive. Default: passiveStandby with its guarantee."""

    queue: QueueBounds = QueueBounds()
    """The bounds of each of its output queues."""

    spark: SparkSettings = SparkSettings()
    """Settings of Spark."""


class StreamJob(Value):
    """A stream job: a query network cut into subjobs, each with its own high-availability mode."""

    name: Name
    """metadata.name"""

    namespace: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)] = "default"
    """metadata.namespace"""

    sources: Annotated[
        tuple[Source, ...], Field(min_length=1, max_length=MAX_SOURCES, json_schema_extra=BY_NAME)
    ]
    """Where streams come from."""

    subjobs: Annotated[
        tuple[Subjob, ...], Field(min_length=1, max_length=MAX_SUBJOBS, json_schema_extra=BY_NAME)
    ]
    """The query network, cut into the parts that fail and recover on their own."""

    sinks: Annotated[tuple[Sink, ...], Field(max_length=MAX_SINKS, json_schema_extra=BY_NAME)] = ()
    """Where streams go."""

    def source(self, name: str) -> Source | None:
        return next((s for s in self.sources if s.name == name), None)

    def subjob(self, name: str) -> Subjob | None:
        return next((s for s in self.subjobs if s.name == name), None)

    def sink(self, name: str) -> Sink | None:
        return next((s for s in self.sinks if s.name == name), None)
