"""The conditions for a subjob that is the alternative of another one that failed for good."""

from __future__ import annotations

from collections.abc import Iterator

from ..branches import alternative_of
from ..job import StreamJob, Subjob
from ..network import Walk, consumers
from ..refusal import Refusal, did_you_mean, path, refuse


def alternatives(walk: Walk) -> Iterator[Refusal]:
    job = walk.job
    for n, subjob in enumerate(job.subjobs):
        name = alternative_of(subjob)
        if name is not None and (why := _why_not(walk, subjob, name)):
            yield refuse("InvalidAlternative", path("spec", "subjobs", n, *_FIELD), why)


_FIELD = ("ha", "onPermanentFailure", "alternative")


def _why_not(walk: Walk, subjob: Subjob, name: str) -> str | None:
    job, found = walk.job, walk.job.subjob(name)
    if found is None or found is subjob:
        known = [s.name for s in job.subjobs if s is not subjob]
        return f"there is no other subjob {name!r}{did_you_mean(name, known)}; write the name of one"
    if reader := next(iter(consumers(job, name)), None):
        return (
            f"{reader.name} reads {name}, which only stands in for {subjob.name}; read {subjob.name} instead"
        )
    if alternative_of(found) is not None or _shared(job, name):
        return f"{name} stands in for one subjob, and nothing stands in for it; write another subjob"
    if found.inputs != subjob.inputs:
        return f"{name} must read what {subjob.name} reads ({', '.join(subjob.inputs)}, in this order)"
    given, wanted = walk.columns.get(name), walk.columns.get(subjob.name)
    if given and wanted and given != wanted:
        columns = ", ".join(wanted)
        return (
            f"{name} must give the columns that {subjob.name} gives ({columns}); it gives {', '.join(given)}"
        )
    return None


def _shared(job: StreamJob, name: str) -> bool:
    return sum(alternative_of(subjob) == name for subjob in job.subjobs) > 1
