"""Sinks: where streams leave a job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final

from pydantic import ConfigDict, Field

from .brokers import SECURITY_KEYS, Security, Servers, Topic, out_of_range
from .outside import OutsideKind
from .refusal import Fault
from .value import Column, Duration, Name, OneOf, Path, Size, Value, mebibytes, one_of_rule

OF_THE_POD: Final = ("emptyDir", "ephemeral", "csi")
"""Kinds of volume that are created and deleted with a pod."""
TIED: Final = frozenset({*OF_THE_POD, "hostPath"})
"""Kinds of volume that a pod on another node does not find again."""


class SinkFormat(StrEnum):
    JSONL = "jsonl"
    PARQUET = "parquet"


class Roll(Value):
    """When the tuples that a sink has collected become a file or a commit. Until then they wait, in the
    sink's memory and in the queue of their subjob."""

    size: Annotated[Size, Field(pattern="^([1-9]|[1-5][0-9]|6[0-4])Mi$")] = "32Mi"
    """The size of its tuples in memory, at most 64Mi. Default: 32Mi."""

    interval: Duration = timedelta(seconds=10)
    """How long its first tuple waits. Default: 10s."""

    @property
    def mebibytes(self) -> int:
        return mebibytes(self.size)


class Encoding(StrEnum):
    JSON = "json"


class SinkKind(OutsideKind):
    """Questions about a kind of sink. The answers here are those of a sink that stores its output, together
    with its position, outside of the job's pods: a broker, a database. How a kind writes is in
    `sinks/writers.py`."""

    @property
    def folder(self) -> str | None:
        """The folder of its files, as written in the manifest; None if it writes no files."""
        return None

    @property
    def key_column(self) -> str | None:
        """The column by which its output is keyed."""
        return None

    @property
    def roll(self) -> Roll | None:
        """When the tuples that it has collected count; None if each counts when it arrives."""
        return None

    @property
    def lines(self) -> bool:
        """Whether its tuples are lines in the files of its folder, from the moment at which they count."""
        return False

    @property
    def durable(self) -> bool:
        """Whether its output survives the pod."""
        return True

    @property
    def note(self) -> str:
        """A sentence for its status about that."""
        return ""

    def continues(self, in_place: bool) -> bool:
        """Whether the life after a failure continues where this one stopped, so that each tuple is written
        once. `in_place`: the pod stays."""
        return True


class FolderSink(SinkKind):
    """A sink that writes to a folder."""

    path: Path
    """The folder to write to; two sinks may not share one."""

    volume: Mapping[str, Any] | None = None
    """On Kubernetes: the pod volume source for the path, such as a persistentVolumeClaim. Without one, or on
    an emptyDir, ephemeral or csi volume, the files die with the pod."""

    @property
    def folder(self) -> str:
        return self.path

    @property
    def pod_volume(self) -> Mapping[str, Any] | None:
        return self.volume

    @property
    def durable(self) -> bool:
        return not self.note

    @property
    def note(self) -> str:
        if not self.volume:
            return "no volume: the files die with the pod"
        kind = next((kind for kind in OF_THE_POD if kind in self.volume), None)
        return f"the volume is of kind {kind}: the files die with the pod" if kind else ""

    def continues(self, in_place: bool) -> bool:
        return in_place or (self.volume is not None and not TIED & self.volume.keys())


class FilesSink(FolderSink):
    """Files of JSON lines or Parquet: the tuple's columns plus `_seq`, its place on the stream. Each tuple
    once. Parquet files appear whole; the files that count are in the manifest beside them."""

    format: SinkFormat = SinkFormat.JSONL
    """Default: jsonl."""

    rolled: Annotated[Roll | None, Field(alias="roll")] = None
    """Format parquet only: when a file is complete. Default: 32Mi or 10s."""

    @property
    def roll(self) -> Roll | None:
        return self.rolled if self.lines else self.rolled or Roll()

    @property
    def lines(self) -> bool:
        return self.format is SinkFormat.JSONL


class DeltaSink(FolderSink):
    """A Delta table: the tuple's columns plus `_seq`, its place on the stream. Each tuple once: a commit
    contains the position of its tuples."""

    rolled: Annotated[Roll | None, Field(alias="roll")] = None
    """When a commit is made. Default: 32Mi or 10s."""

    @property
    def roll(self) -> Roll:
        return self.rolled or Roll()


class ConsoleSink(SinkKind):
    """Prints each tuple as a JSON line to the log."""

    @property
    def durable(self) -> bool:
        return False

    def continues(self, in_place: bool) -> bool:
        return False


LEAST_COMMIT: Final = timedelta(milliseconds=10)
MOST_COMMIT: Final = timedelta(seconds=5)


class KafkaSink(SinkKind):
    """A Kafka topic. Consumers that read committed records see each tuple once, as a JSON object of its
    columns; the header `_seq` is its place on the stream."""

    bootstrap_servers: Servers
    """The brokers, as host:port, separated by commas."""

    topic: Topic
    """The topic, which has to exist."""

    key: Column | None = None
    """The column whose value is the record's key. Default: records have no key."""

    format: Encoding = Encoding.JSON
    """Default: json."""

    commit_interval: Duration = timedelta(milliseconds=100)
    """How long a transaction lasts while tuples flow. Consumers see a tuple when its transaction ends.
    Default: 100ms."""

    security: Security | None = None
    """How to reach brokers that ask for TLS or a login."""

    @property
    def key_column(self) -> str | None:
        return self.key

    @property
    def place(self) -> tuple[str, ...]:
        return self.bootstrap_servers, self.topic

    def faults(self) -> Iterator[tuple[str, Fault]]:
        yield from out_of_range("commitInterval", self.commit_interval, LEAST_COMMIT, MOST_COMMIT)

    @property
    def secret(self) -> str | None:
        return self.security.secret if self.security is not None else None

    @property
    def secret_keys(self) -> tuple[str, ...]:
        return SECURITY_KEYS


class PostgresSink(SinkKind):
    """A PostgreSQL table: the tuple's columns, and `_seq` and `_job` if the table has them. Each tuple once:
    tuples and position are committed in one transaction."""

    secret_name: Annotated[
        str, Field(alias="secret", pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", max_length=253)
    ]
    """The Secret with the key `uri`, or `host`, `port`, `dbname`, `username` and `password`; also `sslmode`
    and `ca.crt`."""

    table: Annotated[
        str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?$", max_length=127)
    ]
    """The table, as SCHEMA.TABLE. It is made if it is missing. Default schema: public."""

    @property
    def secret(self) -> str:
        return self.secret_name

    @property
    def secret_keys(self) -> tuple[str, ...]:
        return ("uri", "host", "port", "dbname", "username", "password", "sslmode", "ca.crt")


Target = FilesSink | ConsoleSink | KafkaSink | PostgresSink | DeltaSink
SINKS: Final[Mapping[str, type[SinkKind]]] = {
    "files": FilesSink,
    "console": ConsoleSink,
    "kafka": KafkaSink,
    "postgres": PostgresSink,
    "delta": DeltaSink,
}


class Sink(OneOf):
    """Takes one stream out of the job: exactly one of files, console, kafka, postgres, delta."""

    one_of: ClassVar = tuple(SINKS)
    model_config = ConfigDict(json_schema_extra=one_of_rule(*one_of))

    name: Name
    """The sink's name; sinks have names of their own."""

    input: Name
    """The subjob whose stream it writes."""

    files: FilesSink | None = None

    console: ConsoleSink | None = None

    kafka: KafkaSink | None = None

    postgres: PostgresSink | None = None

    delta: DeltaSink | None = None

    @property
    def kind(self) -> str:
        """The key of its target in a manifest."""
        (kind,) = self.chosen()
        return kind

    @property
    def target(self) -> Target:
        """The target that is set."""
        target: Target = getattr(self, self.kind)
        return target
