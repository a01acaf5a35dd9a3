"""The ends of a job: the schema of its files, the places its sinks write to."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Final

from ..declared import Declared, schema_faults
from ..job import StreamJob
from ..network import Walk
from ..refusal import Refusal, did_you_mean, listed, path, refuse
from ..sql import Malformed, parse_columns
from ..value import print_duration

SHORTEST_ROLL: Final = timedelta(milliseconds=100)
LONGEST_ROLL: Final = timedelta(minutes=10)
_TIMES: Final = ("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPLTZ", "TIMESTAMPNTZ")


def schemas(job: StreamJob) -> Iterator[Refusal]:
    for n, source in enumerate(job.sources):
        declared = source.origin.declared
        if declared is not None:
            yield from _schema(path("spec", "sources", n, source.kind), declared)


def _schema(here: str, declared: Declared) -> Iterator[Refusal]:
    if declared.fault is not None:
        yield declared.fault.at(f"{here}.schema")
        return
    yield from (fault.at(f"{here}.schema") for fault in schema_faults(declared.schema))
    columns = parse_columns(declared.schema)
    if isinstance(columns, Malformed):
        return
    types = {column.name: column.args["kind"].this.name for column in columns}
    times = [name for name, kind in types.items() if kind in _TIMES]
    named = declared.event_time
    if named is not None and named not in times:
        known = f"write {listed(times)}" if times else "give the schema a column of type timestamp"
        what = f"{named} is no timestamp column of the schema{did_you_mean(named, times)}; {known}"
        yield refuse("UnknownColumn", f"{here}.eventTime", what)
    if declared.ts_is_time and named is None and types.get("ts", _TIMES[0]) not in _TIMES:
        what = (
            "the column ts is the event time but no timestamp; "
            "write ts timestamp, or eventTime: another column"
        )
        yield refuse("InvalidSchema", f"{here}.schema", what)


def rules_of_kinds(job: StreamJob) -> Iterator[Refusal]:
    for n, source in enumerate(job.sources):
        here = path("spec", "sources", n, source.kind)
        yield from (fault.at(f"{here}.{field}") for field, fault in source.origin.faults())
    for n, sink in enumerate(job.sinks):
        here = path("spec", "sinks", n, sink.kind)
        yield from (fault.at(f"{here}.{field}") for field, fault in sink.target.faults())


def keys(walk: Walk) -> Iterator[Refusal]:
    for n, sink in enumerate(walk.job.sinks):
        key, columns = sink.target.key_column, walk.columns.get(sink.input)
        if key is not None and columns is not None and key not in columns:
            what = f"there is no column {key} in {sink.input}{did_you_mean(key, columns)}"
            field = path("spec", "sinks", n, sink.kind, "key")
            yield refuse("UnknownColumn", field, f"{what}; write one of {', '.join(columns)}")


def loops(job: StreamJob) -> Iterator[Refusal]:
    """A job that reads what it writes would never come to an end of it."""
    read = {place: s.name for s in job.sources if (place := s.origin.place) is not None}
    for n, sink in enumerate(job.sinks):
        if sink.target.place in read:
            what = f"the source {read[sink.target.place]} would read all that this sink writes"
            yield refuse("SharedTopic", path("spec", "sinks", n, sink.kind), f"{what}; write another place")


def sinks_of_sources(job: StreamJob) -> Iterator[Refusal]:
    """A source is read inside the subjobs that name it, so no process serves its stream to a sink."""
    subjobs = [subjob.name for subjob in job.subjobs]
    for n, sink in enumerate(job.sinks):
        if job.source(sink.input) is not None:
            what = f"{sink.input} is a source; write a subjob, such as {listed(subjobs)}"
            yield refuse("NotASubjob", path("spec", "sinks", n, "input"), what)


def shared_paths(job: StreamJob) -> Iterator[Refusal]:
    taken: dict[str, str] = {}
    for n, sink in enumerate(job.sinks):
        folder = sink.target.folder
        if folder is None:
            continue
        place, field = normpath(folder), path("spec", "sinks", n, sink.kind, "path")
        if place in taken:
            what = f"the sink {taken[place]} writes to {folder} already; write another path"
            yield refuse("SharedPath", field, what)
        if ".." in PurePosixPath(place).parts:
            yield refuse("InvalidPath", field, f"{folder} leads out of its folder; write a path without ..")
        taken[place] = sink.name


def rolls(job: StreamJob) -> Iterator[Refusal]:
    for n, sink in enumerate(job.sinks):
        field, roll = path("spec", "sinks", n, sink.kind, "roll"), sink.target.roll
        if roll is not None and sink.target.lines:
            what = "lines are written when they arrive; leave roll out, or write format parquet"
            yield refuse("InvalidSetting", field, what)
        elif roll is not None and not SHORTEST_ROLL <= roll.interval <= LONGEST_ROLL:
            limits = f"{print_duration(SHORTEST_ROLL)} to {print_duration(LONGEST_ROLL)}"
            what = f"{print_duration(roll.interval)} is out of bounds; write {limits}"
            yield refuse("InvalidSetting", f"{field}.interval", what)
