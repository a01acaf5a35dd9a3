"""Where streams begin."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final

from pydantic import ConfigDict, Field, WithJsonSchema

from .value import Column, Count, Expression, Name, Number, OneOf, Path, Schema, Value, one_of_rule


class Format(StrEnum):
    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


Rate = Annotated[
    Number,
    Field(gt=0, le=10_000_000),
    WithJsonSchema({"type": "number", "gt": 0, "maximum": 10_000_000}),
]


class Generator(Value):
    """Made up: tuple n is a function of n, so it can be replayed. Its `ts` is 2026-01-01T00:00:00Z +
    `_seq`/rate seconds."""

    rate: Rate
    """Tuples per second; tuple n is due at job start + n/rate."""

    limit: Count | None = None
    """The stream ends after so many tuples. Default: never."""

    fields: Annotated[Mapping[Column, Expression], Field(min_length=1, max_length=500)]
    """Column → Spark SQL expression over `_seq` and `ts`. Must be deterministic: no rand(), no
    current_timestamp()."""


class Files(Value):
    """Files of a folder in the order of their names, read to the end of the last one."""

    path: Path
    """A file, or a folder whose files are read in the order of their names."""

    format: Format = Format.JSONL
    """Default: jsonl."""

    schema_: Annotated[Schema, Field(alias="schema")]
    """Columns in Spark's notation, such as `patient string, mv double, at timestamp`."""

    event_time: Column | None = None
    """The timestamp column that is the tuple's event time. Default: a column called `ts`, if there is one."""

    limit: Count | None = None
    """The stream ends after so many tuples. Default: with the last file."""

    volume: Mapping[str, Any] | None = None
    """On Kubernetes: the pod volume source that holds the files, such as a persistentVolumeClaim."""

    rate: Rate | None = None
    """Tuples per second that the planner assumes. Nothing else depends on it: files are read as fast as they
    can be. Default: unknown, and the planner assumes 1000 and says so."""


class KafkaSource(Value):
    """A Kafka topic. Not available yet."""

    bootstrap_servers: Annotated[str, Field(min_length=1, max_length=1024)]
    """host:port, separated by commas."""

    topic: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$", max_length=249)]
    """The topic."""

    schema_: Annotated[Schema, Field(alias="schema")]
    """Columns of the JSON values in Spark's notation."""

    event_time: Column | None = None
    """The timestamp column that is the tuple's event time. Default: a column called `ts`, if there is one."""

    rate: Rate | None = None
    """Tuples per second that the planner assumes. Default: unknown, and the planner assumes 1000 and says
    so."""


class Push(Value):
    """HTTP ingest, logged before it is acknowledged. Not available yet."""

    schema_: Annotated[Schema, Field(alias="schema")]
    """Columns of the JSON bodies in Spark's notation."""

    event_time: Column | None = None
    """The timestamp column that is the tuple's event time. Default: a column called `ts`, if there is one."""

    rate: Rate | None = None
    """Tuples per second that the planner assumes. Default: unknown, and the planner assumes 1000 and says
    so."""


HINTS: Final[Mapping[str, set[str]]] = {kind: {"rate"} for kind in ("files", "kafka", "push")}
"""Fields of a source that only the planner reads: an edit of them changes nothing that runs."""

Origin = Generator | Files | KafkaSource | Push


class Source(OneOf):
    """A stream from outside: exactly one of generator, files, kafka, push."""

    one_of: ClassVar = ("generator", "files", "kafka", "push")
    model_config = ConfigDict(json_schema_extra=one_of_rule(*one_of))

    name: Name
    """The stream's name; sources and subjobs share one set of names."""

    generator: Generator | None = None

    files: Files | None = None

    kafka: KafkaSource | None = None

    push: Push | None = None

    @property
    def origin(self) -> Origin:
        """The one of the four that is set."""
        return next(o for o in (self.generator, self.files, self.kafka, self.push) if o is not None)

    @property
    def rate(self) -> int | float | None:
        """Tuples per second, as far as the manifest declares them."""
        return self.origin.rate
