"""The ends of a job: the schema of its files, the places its sinks write to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Final

from ..job import StreamJob
from ..refusal import Refusal, did_you_mean, listed, path, refuse
from ..sources import Files, KafkaSource, Push
from ..sql import Malformed, parse_columns
from .expressions import schema_faults

_TIMES: Final = ("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPLTZ", "TIMESTAMPNTZ")


def schemas(job: StreamJob) -> Iterator[Refusal]:
    for n, source in enumerate(job.sources):
        origin = source.origin
        if isinstance(origin, Files | KafkaSource | Push):
            yield from _schema(path("spec", "sources", n, *source.chosen()), origin)


def _schema(here: str, origin: Files | KafkaSource | Push) -> Iterator[Refusal]:
    yield from (fault.at(f"{here}.schema") for fault in schema_faults(origin.schema_))
    columns = parse_columns(origin.schema_)
    if isinstance(columns, Malformed):
        return
    types = {column.name: column.args["kind"].this.name for column in columns}
    times = [name for name, kind in types.items() if kind in _TIMES]
    named = origin.event_time
    if named is not None and named not in times:
        known = f"write {listed(times)}" if times else "give the schema a column of type timestamp"
        what = f"{named} is no timestamp column of the schema{did_you_mean(named, times)}; {known}"
        yield refuse("UnknownColumn", f"{here}.eventTime", what)
    if named is None and types.get("ts", _TIMES[0]) not in _TIMES:
        what = (
            "the column ts is the event time but no timestamp; "
            "write ts timestamp, or eventTime: another column"
        )
        yield refuse("InvalidSchema", f"{here}.schema", what)


def sinks_of_sources(job: StreamJob) -> Iterator[Refusal]:
    """A source is read inside the subjobs that name it: nobody serves its stream to a sink."""
    subjobs = [subjob.name for subjob in job.subjobs]
    for n, sink in enumerate(job.sinks):
        if job.source(sink.input) is not None:
            what = f"{sink.input} is a source; write a subjob, such as {listed(subjobs)}"
            yield refuse("NotASubjob", path("spec", "sinks", n, "input"), what)


def shared_paths(job: StreamJob) -> Iterator[Refusal]:
    taken: dict[str, str] = {}
    for n, sink in enumerate(job.sinks):
        if sink.files is None:
            continue
        place, field = normpath(sink.files.path), path("spec", "sinks", n, "files", "path")
        if place in taken:
            what = f"the sink {taken[place]} writes to {sink.files.path} already; write another path"
            yield refuse("SharedPath", field, what)
        if ".." in PurePosixPath(place).parts:
            yield refuse(
                "InvalidPath", field, f"{sink.files.path} leads out of its folder; write a path without .."
            )
        taken[place] = sink.name
