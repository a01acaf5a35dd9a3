"""Where streams end."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final

from pydantic import ConfigDict, Field

from .value import Name, OneOf, Path, Value, one_of_rule

OF_THE_POD: Final = ("emptyDir", "ephemeral", "csi")
"""Kinds of volume that are made with a pod and removed with it."""


class SinkFormat(StrEnum):
    JSONL = "jsonl"


class FilesSink(Value):
    """Files of JSON lines: the tuple's columns plus `_seq`, its place on the stream. Each tuple once."""

    path: Path
    """The folder to write to; two sinks may not share one."""

    format: SinkFormat = SinkFormat.JSONL
    """Default: jsonl."""

    volume: Mapping[str, Any] | None = None
    """On Kubernetes: the pod volume source for the path, such as a persistentVolumeClaim. Without one, or on
    an emptyDir, ephemeral or csi volume, the files die with the pod."""

    @property
    def dies_with_the_pod(self) -> str | None:
        """Why what was written does not survive the pod; None if it does."""
        if not self.volume:
            return "no volume: the files die with the pod"
        kind = next((kind for kind in OF_THE_POD if kind in self.volume), None)
        return f"the volume is of kind {kind}: the files die with the pod" if kind else None


class ConsoleSink(Value):
    """Prints each tuple as a JSON line to the log."""


class KafkaSink(Value):
    """A Kafka topic. Not available yet."""

    bootstrap_servers: Annotated[str, Field(min_length=1, max_length=1024)]
    """host:port, separated by commas."""

    topic: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$", max_length=249)]
    """The topic."""


Target = FilesSink | ConsoleSink | KafkaSink


class Sink(OneOf):
    """Takes one stream out of the job: exactly one of files, console, kafka."""

    one_of: ClassVar = ("files", "console", "kafka")
    model_config = ConfigDict(json_schema_extra=one_of_rule(*one_of))

    name: Name
    """The sink's name; sinks have names of their own."""

    input: Name
    """The subjob whose stream it writes."""

    files: FilesSink | None = None

    console: ConsoleSink | None = None

    kafka: KafkaSink | None = None

    @property
    def target(self) -> Target:
        """The one of the three that is set."""
        return next(t for t in (self.files, self.console, self.kafka) if t is not None)
