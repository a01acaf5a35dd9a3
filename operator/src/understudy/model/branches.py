"""Alternative processing branches (Brettlecker §4.1): a subjob that stands in for another that has failed for
good.

It is declared like any other, is named by the `onPermanentFailure` of the one that it stands in for, reads
the same inputs and gives the same columns. As long as it is not needed it does not run; then it plays under
the other's name, so that producers and consumers need not know.
"""

from __future__ import annotations

from collections.abc import Iterable

from .job import StreamJob, Subjob


def alternative_of(subjob: Subjob) -> str | None:
    declared = subjob.ha.on_permanent_failure
    return declared.alternative if declared else None


def stand_ins(job: StreamJob) -> frozenset[str]:
    """Subjobs that only stand in for others."""
    return frozenset(name for subjob in job.subjobs if (name := alternative_of(subjob)) is not None)


def in_use(job: StreamJob, failed: Iterable[str] = ()) -> StreamJob:
    """The job as it runs when these subjobs have failed for good."""
    waiting, gone = stand_ins(job), frozenset(failed)
    subjobs = tuple(_branch(job, s) if s.name in gone else s for s in job.subjobs if s.name not in waiting)
    return job.model_copy(update={"subjobs": subjobs})


def _branch(job: StreamJob, subjob: Subjob) -> Subjob:
    found = job.subjob(alternative_of(subjob) or "")
    return found.model_copy(update={"name": subjob.name}) if found else subjob
