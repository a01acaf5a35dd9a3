"""The job as it really runs: with modes decided, generators that end with the run, and absolute paths."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from pathlib import Path

import yaml

from understudy.local.sink_guarantees import promises
from understudy.model.ha import Mode, Overload
from understudy.model.job import StreamJob, Subjob
from understudy.model.load import to_manifest
from understudy.model.sources import Source


def effective(job: StreamJob, duration: timedelta | None, base: Path) -> StreamJob:
    """`base`: the folder of the manifest's relative paths. `mode: auto` becomes the mode that was chosen."""
    sources = tuple(_as_run(source, duration, base) for source in job.sources)
    given = promises(job)
    subjobs = tuple(_decided(subjob, given[subjob.name].mode) for subjob in job.subjobs)
    return job.model_copy(update={"sources": sources, "subjobs": subjobs})


def _decided(subjob: Subjob, mode: Mode) -> Subjob:
    return subjob.model_copy(update={"ha": subjob.ha.model_copy(update={"mode": mode})})


def watching(job: StreamJob, names: Collection[str]) -> StreamJob:
    """The job with the default overload limits for these subjobs, unless they have limits of their own."""
    subjobs = tuple(_watching(s) if s.name in names and s.ha.overload is None else s for s in job.subjobs)
    return job.model_copy(update={"subjobs": subjobs})


def _watching(subjob: Subjob) -> Subjob:
    return subjob.model_copy(update={"ha": subjob.ha.model_copy(update={"overload": Overload()})})


def _as_run(source: Source, duration: timedelta | None, base: Path) -> Source:
    """A source that only time ends, now ends with the tuples that are due within the duration: so the result
    is well defined, and everything drains."""
    origin = source.origin if duration is None else source.origin.ending(duration.total_seconds())
    return source.with_origin(origin.found_from(str(base.absolute())))


def cut_at(job: StreamJob, reached: dict[str, int]) -> StreamJob:
    """The job with its sources ending where a run was stopped, so that the expected result can be
    computed."""
    sources = tuple(s.with_origin(s.origin.cut_at(reached.get(s.name, 0))) for s in job.sources)
    return job.model_copy(update={"sources": sources})


def endless(job: StreamJob) -> bool:
    """Whether it runs until it is stopped."""
    return any(source.origin.endless for source in job.sources)


def length(job: StreamJob) -> timedelta | None:
    """How long its sources take; None if they do not end, or not at a certain time."""
    seconds = [s for source in job.sources if (s := source.origin.seconds) is not None]
    return None if endless(job) or not seconds else timedelta(seconds=max(seconds))


def write(job: StreamJob, path: Path) -> None:
    """Replaces the file by a rename: a process that starts now reads either the old or the new one."""
    made = path.with_name(f".{path.name}")
    made.write_text(yaml.safe_dump(to_manifest(job), sort_keys=False, allow_unicode=True))
    made.replace(path)
