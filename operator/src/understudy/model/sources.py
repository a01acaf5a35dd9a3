"""Sources: where streams enter a job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import ConfigDict, Field, WithJsonSchema

from .brokers import OF_THE_RECORD, SECURITY_KEYS, Security, Servers, Topic, out_of_range
from .declared import Declared
from .outside import OutsideKind
from .refusal import Fault
from .scope import Columns
from .sql import Malformed, parse_columns
from .value import (
    Column,
    Count,
    Duration,
    Expression,
    Name,
    Number,
    OneOf,
    Path,
    Schema,
    one_of_rule,
)


class Format(StrEnum):
    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


Rate = Annotated[
    Number,
    Field(gt=0, le=10_000_000),
    WithJsonSchema({"type": "number", "gt": 0, "maximum": 10_000_000}),
]


_TIME: Final = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})"
)


class OnBadFile(StrEnum):
    FAIL = "fail"
    SKIP = "skip"


class SourceKind(OutsideKind):
    """Questions about a kind of source. The answers here are those of a source whose rows are read: a broker,
    a request. How a kind is read is in `sources/readers.py`."""

    computed: ClassVar[bool] = False
    """Tuple n is a function of n: consumers compute it, and nothing is read. The source only reports how many
    tuples are due."""

    ordered: ClassVar[bool] = False
    """Its event times never decrease."""

    hints: ClassVar[frozenset[str]] = frozenset({"rate"})
    """Fields that only the planner reads: an edit of them does not change a running job."""

    @property
    def declared(self) -> Declared | None:
        """What the manifest declares about the rows; None if the kind computes them."""
        return None

    @property
    def columns(self) -> Columns | None:
        """None if the declared schema is faulty."""
        return self.declared.columns if self.declared is not None else None

    @property
    def has_event_time(self) -> bool:
        return self.declared is None or self.declared.has_event_time

    @property
    def read_from(self) -> str | None:
        """The path of its files, as written in the manifest; None if it reads no files."""
        return None

    @property
    def endless(self) -> bool:
        """Whether the stream continues until the job is stopped."""
        return True

    @property
    def seconds(self) -> float | None:
        """How long the stream takes; None if its end does not depend on time."""
        return None

    def due(self, elapsed_ms: int) -> int | None:
        """How many tuples are due at this time after the job's start; None if that does not depend on
        time."""
        return None

    def ending(self, seconds: float) -> Self:
        """The same source for a job that ends after this time, if only time ends the source."""
        return self

    def cut_at(self, reached: int) -> Self:
        """The same source as read by a run that was stopped: it ends before seq `reached`. A source that ends
        by itself stays unchanged."""
        return self

    def found_from(self, folder: str) -> Self:
        """The same source for a process in another folder: relative paths are relative to `folder`."""
        return self

    def mounted_at(self, folder: str) -> Self:
        """The same source for a pod: `folder` is where its volume is mounted."""
        return self


class Generator(SourceKind):
    """Computed tuples: tuple n is a function of n, so it can be replayed. Its `ts` is 2026-01-01T00:00:00Z +
    `_seq`/rate seconds."""

    computed: ClassVar[bool] = True
    ordered: ClassVar[bool] = True
    hints: ClassVar[frozenset[str]] = frozenset()

    rate: Rate
    """Tuples per second; tuple n is due at job start + n/rate."""

    limit: Count | None = None
    """The stream ends after this many tuples. Default: never."""

    fields: Annotated[Mapping[Column, Expression], Field(min_length=1, max_length=500)]
    """Column → Spark SQL expression over `_seq` and `ts`. Must be deterministic: no rand(), no
    current_timestamp()."""

    @property
    def columns(self) -> Columns:
        return (*self.fields, "ts")

    @property
    def endless(self) -> bool:
        return self.limit is None

    @property
    def seconds(self) -> float | None:
        return self.limit / self.rate if self.limit is not None else None

    def due(self, elapsed_ms: int) -> int:
        count = int(elapsed_ms * self.rate / 1000) + 1 if elapsed_ms >= 0 else 0
        return count if self.limit is None else min(count, self.limit)

    def ending(self, seconds: float) -> Self:
        due = max(1, int(round(self.rate * seconds, 6)))
        return self.model_copy(update={"limit": due if self.limit is None else min(self.limit, due)})

    def cut_at(self, reached: int) -> Self:
        return self.model_copy(update={"limit": max(1, min(reached, self.limit or reached))})


class Files(SourceKind):
    """Files of a folder in the order of their names: to the end of the last one, or with `watch` for ever."""

    path: Path
    """A file, or a folder whose files are read in the order of their names. Files whose names begin with `.`
    or `_` are left out."""

    format: Format = Format.JSONL
    """jsonl, csv (its first line names the columns) or parquet. Default: jsonl."""

    watch: bool = False
    """Whether new files are taken as they appear, until the job is stopped. Rename a file into the folder
    when it is complete; its name must be greater than those of the files before it. Default: false."""

    on_bad_record: OnBadFile = OnBadFile.FAIL
    """A file that can't be read, or that appears after a file with a greater name was taken. fail: the source
    stops before it and names the file and the reason; when the file is removed or replaced, a watched source
    continues. skip: such a file has no tuples. Default: fail."""

    schema_: Annotated[Schema, Field(alias="schema")]
    """Columns in Spark's notation, such as `patient string, mv double, at timestamp`."""

    event_time: Column | None = None
    """The timestamp column that is the tuple's event time. Default: a column called `ts`, if there is one."""

    limit: Count | None = None
    """The stream ends after this many tuples. Default: with the last file, or never if the folder is
    watched."""

    volume: Mapping[str, Any] | None = None
    """On Kubernetes: the pod volume source that holds the files, such as a persistentVolumeClaim."""

    rate: Rate | None = None
    """Tuples per second that the planner assumes. Nothing else depends on it: files are read as fast as they
    can be. Default: unknown, and the planner assumes 1000 and says so."""

    @property
    def declared(self) -> Declared:
        return Declared(self.schema_, self.event_time)

    @property
    def pod_volume(self) -> Mapping[str, Any] | None:
        return self.volume

    @property
    def read_from(self) -> str:
        return self.path

    @property
    def endless(self) -> bool:
        return self.watch and self.limit is None

    def cut_at(self, reached: int) -> Self:
        return self.model_copy(update={"watch": False})

    def found_from(self, folder: str) -> Self:
        return self.model_copy(update={"path": str(PurePosixPath(folder) / self.path)})

    def mounted_at(self, folder: str) -> Self:
        return self.model_copy(update={"path": f"{folder}/{self.path.strip('/')}"})


LEAST_IDLE: Final = timedelta(milliseconds=100)
MOST_IDLE: Final = timedelta(hours=1)


class Encoding(StrEnum):
    JSON = "json"
    CSV = "csv"
    RAW = "raw"


class Starting(StrEnum):
    EARLIEST = "earliest"
    LATEST = "latest"


class OnBadRecord(StrEnum):
    FAIL = "fail"
    SKIP = "skip"


class KafkaSource(SourceKind):
    """A Kafka topic. Only committed records are read. Columns are those of the schema, then `_key`,
    `_partition` and `_offset` of the record."""

    bootstrap_servers: Servers
    """The brokers, as host:port, separated by commas."""

    topic: Topic
    """The topic."""

    schema_: Annotated[Schema, Field(alias="schema")]
    """Columns of the record values in Spark's notation, such as `patient string, mv double, at timestamp`.
    With the format raw: one column of type binary."""

    format: Encoding = Encoding.JSON
    """How a value is written. `json`: an object; `csv`: one line; `raw`: as it is. Default: json."""

    event_time: Column | None = None
    """The timestamp column that is the tuple's event time. Default: the record's own timestamp."""

    starting_offsets: Annotated[str, Field(pattern=rf"^(earliest|latest|{_TIME})$", max_length=40)] = (
        Starting.EARLIEST.value
    )
    """Where a job begins that has taken nothing yet: earliest, latest, or a time such as
    2026-11-18T00:00:00Z. Default: earliest."""

    on_bad_record: OnBadRecord = OnBadRecord.FAIL
    """What happens at a record that the schema does not fit. `fail`: the source stops before it and names it;
    `skip`: it becomes no tuple, and is counted. Default: fail."""

    idle_after: Duration = timedelta(seconds=5)
    """A partition that sends nothing for so long does not hold event time back. Default: 5s."""

    group: Annotated[str, Field(min_length=1, max_length=249)] | None = None
    """Progress is committed to this consumer group, so that lag tools see it. It is never read. Default:
    none."""

    security: Security | None = None
    """How to reach brokers that ask for TLS or a login."""

    limit: Count | None = None
    """The stream ends after this many tuples of all partitions together. Default: never."""

    rate: Rate | None = None
    """Tuples per second that the planner assumes. Default: unknown, and the planner assumes 1000 and says
    so."""

    @property
    def declared(self) -> Declared:
        return Declared(self.schema_, self.event_time, OF_THE_RECORD, ts_is_time=False)

    @property
    def secret(self) -> str | None:
        return self.security.secret if self.security is not None else None

    @property
    def secret_keys(self) -> tuple[str, ...]:
        return SECURITY_KEYS

    @property
    def endless(self) -> bool:
        return self.limit is None

    @property
    def place(self) -> tuple[str, ...]:
        return self.bootstrap_servers, self.topic

    def faults(self) -> Iterator[tuple[str, Fault]]:
        columns = parse_columns(self.schema_)
        kinds = [] if isinstance(columns, Malformed) else [c.args["kind"].this.name for c in columns]
        if self.format is Encoding.RAW and kinds and kinds != ["BINARY"]:
            what = "the format raw has one column; write one of type binary, such as value binary"
            yield "schema", Fault("InvalidSchema", what)
        try:
            _ = self.starting
        except ValueError:
            what = "there is no such time; write earliest, latest, or a time such as 2026-11-18T00:00:00Z"
            yield "startingOffsets", Fault("InvalidSetting", what)
        yield from out_of_range("idleAfter", self.idle_after, LEAST_IDLE, MOST_IDLE)

    @property
    def starting(self) -> Starting | datetime:
        named = next((each for each in Starting if each == self.starting_offsets), None)
        return named or datetime.fromisoformat(self.starting_offsets)


class Push(SourceKind):
    """HTTP ingest, logged before it is acknowledged. Not available yet."""

    available: ClassVar[bool] = False

    schema_: Annotated[Schema, Field(alias="schema")]
    """Columns of the JSON bodies in Spark's notation."""

    event_time: Column | None = None
    """The timestamp column that is the tuple's event time. Default: a column called `ts`, if there is one."""

    rate: Rate | None = None
    """Tuples per second that the planner assumes. Default: unknown, and the planner assumes 1000 and says
    so."""

    @property
    def declared(self) -> Declared:
        return Declared(self.schema_, self.event_time)


Origin = Generator | Files | KafkaSource | Push
SOURCES: Final[Mapping[str, type[SourceKind]]] = {
    "generator": Generator,
    "files": Files,
    "kafka": KafkaSource,
    "push": Push,
}
HINTS: Final[Mapping[str, set[str]]] = {name: set(kind.hints) for name, kind in SOURCES.items() if kind.hints}
"""For each kind, in the form of `exclude` of a dump."""


class Source(OneOf):
    """A stream from outside: exactly one of generator, files, kafka, push."""

    one_of: ClassVar = tuple(SOURCES)
    model_config = ConfigDict(json_schema_extra=one_of_rule(*one_of))

    name: Name
    """The stream's name; sources and subjobs share one set of names."""

    generator: Generator | None = None

    files: Files | None = None

    kafka: KafkaSource | None = None

    push: Push | None = None

    @property
    def kind(self) -> str:
        """The key of its origin in a manifest."""
        (kind,) = self.chosen()
        return kind

    @property
    def origin(self) -> Origin:
        """The origin that is set."""
        origin: Origin = getattr(self, self.kind)
        return origin

    def with_origin(self, origin: SourceKind) -> Self:
        """The same source with another origin of the same kind."""
        return self.model_copy(update={self.kind: origin})

    @property
    def rate(self) -> int | float | None:
        """Tuples per second, if the manifest declares them."""
        return self.origin.rate
