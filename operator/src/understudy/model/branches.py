"""Alternative processing branches (Brettlecker §4.1): a subjob that replaces another one that has failed for
good.

It is declared like any other subjob, is named by the `onPermanentFailure` of the subjob that it can replace,
reads the same inputs and emits the same columns. It does not run until it is needed; then it runs under the
other's name, so that producers and consumers need not know.
"""

from __future__ import annotations

from collections.abc import Iterable

from .job import StreamJob, Subjob


def alternative_of(subjob: Subjob) -> str | None:
    declared = subjob.ha.on_permanent_failure
    return declared.alternative if declared else None


def stand_ins(job: StreamJob) -> frozenset[str]:
    """The subjobs that are only alternatives for others."""
    return frozenset(name for subjob in job.subjobs if (name := alternative_of(subjob)) is not None)


def in_use(job: StreamJob, failed: Iterable[str] = ()) -> StreamJob:
    """The job as it runs when these subjobs have failed for good."""
    waiting, gone = stand_ins(job), frozenset(failed)
    subjobs = tuple(_branch(job, s) if s.name in gone else s for s in job.subjobs if s.name not in waiting)
    return job.model_copy(update={"subjobs": subjobs})


def _branch(job: StreamJob, subjob: Subjob) -> Subjob:
    found = job.subjob(alternative_of(subjob) or "")
    return found.model_copy(update={"name": subjob.name}) if found else subjob
