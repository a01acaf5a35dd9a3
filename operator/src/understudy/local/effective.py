"""The job as it is really run: modes decided, generators that end with the run, files that are found from
anywhere."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from pathlib import Path

import yaml

from understudy.local.promises import promises
from understudy.model.ha import Mode, Overload
from understudy.model.job import StreamJob, Subjob
from understudy.model.load import to_manifest
from understudy.model.sources import Source


def effective(job: StreamJob, duration: timedelta | None, base: Path) -> StreamJob:
    """`base`: where the manifest's relative paths start. `mode: auto` becomes the mode it stands for."""
    sources = tuple(_located(_limited(source, duration), base) for source in job.sources)
    given = promises(job)
    subjobs = tuple(_decided(subjob, given[subjob.name].mode) for subjob in job.subjobs)
    return job.model_copy(update={"sources": sources, "subjobs": subjobs})


def _decided(subjob: Subjob, mode: Mode) -> Subjob:
    return subjob.model_copy(update={"ha": subjob.ha.model_copy(update={"mode": mode})})


def watching(job: StreamJob, names: Collection[str]) -> StreamJob:
    """With the default limits for these subjobs, as far as they do not say what counts as an overload."""
    subjobs = tuple(_watching(s) if s.name in names and s.ha.overload is None else s for s in job.subjobs)
    return job.model_copy(update={"subjobs": subjobs})


def _watching(subjob: Subjob) -> Subjob:
    return subjob.model_copy(update={"ha": subjob.ha.model_copy(update={"overload": Overload()})})


def _limited(source: Source, duration: timedelta | None) -> Source:
    """A generator ends with what is due within the duration: the result is well defined, and everything
    drains."""
    generator = source.generator
    if generator is None or duration is None:
        return source
    due = max(1, int(round(generator.rate * duration.total_seconds(), 6)))
    limit = due if generator.limit is None else min(generator.limit, due)
    return source.model_copy(update={"generator": generator.model_copy(update={"limit": limit})})


def _located(source: Source, base: Path) -> Source:
    if source.files is None:
        return source
    path = str((base / source.files.path).absolute())
    return source.model_copy(update={"files": source.files.model_copy(update={"path": path})})


def cut_at(job: StreamJob, reached: dict[str, int]) -> StreamJob:
    """The job with its generators ending where a run was stopped, so that its result can be computed."""
    sources = tuple(_cut(source, reached.get(source.name, 0)) for source in job.sources)
    return job.model_copy(update={"sources": sources})


def _cut(source: Source, reached: int) -> Source:
    if source.generator is None:
        return source
    limit = max(1, min(reached, source.generator.limit or reached))
    return source.model_copy(update={"generator": source.generator.model_copy(update={"limit": limit})})


def endless(job: StreamJob) -> bool:
    """Whether it runs until somebody stops it."""
    return any(s.generator is not None and s.generator.limit is None for s in job.sources)


def length(job: StreamJob) -> timedelta | None:
    """How long its generators take; None if they do not end or there are none."""
    generators = [s.generator for s in job.sources if s.generator is not None]
    if endless(job) or not generators:
        return None
    return max(timedelta(seconds=(g.limit or 0) / g.rate) for g in generators)


def write(job: StreamJob, path: Path) -> None:
    """By a rename: whoever is starting just now reads the one or the other."""
    made = path.with_name(f".{path.name}")
    made.write_text(yaml.safe_dump(to_manifest(job), sort_keys=False, allow_unicode=True))
    made.replace(path)
