"""Names that a job needs for its objects and that other objects of the namespace have. The operator leaves
these objects alone, and the job is refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from understudy.control import names
from understudy.control.revision import revision_of
from understudy.model.job import StreamJob
from understudy.model.refusal import Refusal, path, refuse

NUMBER: Final = "[0-9]+"
NAME: Final = "metadata.name"
INSTANCE: Final = f"-(room)?{NUMBER}"
"""What follows the name of a subjob's Lease in the names of its pods, as a regular expression."""


@dataclass(frozen=True, slots=True)
class Other:
    """An object that does not belong to the job."""

    kind: str
    name: str
    job: str = ""
    """The StreamJob that it belongs to; empty if it belongs to none."""


@dataclass(frozen=True, slots=True)
class _Need:
    """A name that the job needs, or all names that begin so."""

    field: str
    what: str
    """What has to get another name if this one is taken."""
    kind: str
    name: str
    rest: str = ""
    """How the names go on, as a regular expression."""

    def meets(self, other: Other) -> bool:
        if other.kind == self.kind:
            return _is_like(other.name, self.name, self.rest)
        # a subjob of another job, whose Lease this is, may have a pod of this name later
        will_have = self.kind == "Pod" and other.kind == "Lease" and bool(other.job)
        return will_have and not self.rest and _is_like(self.name, other.name, INSTANCE)


def _is_like(name: str, begin: str, rest: str) -> bool:
    return re.fullmatch(re.escape(begin) + rest, name) is not None


def taken_names(job: StreamJob, others: Iterable[Other]) -> tuple[Refusal, ...]:
    """One refusal for each part of the job that needs a name which is taken."""
    found: dict[str, Refusal] = {}
    everything = tuple(others)
    for need in _needs(job):
        for other in everything:
            if need.field not in found and need.meets(other):
                found[need.field] = _refusal(need, other)
    return tuple(found.values())


def _refusal(need: _Need, other: Other) -> Refusal:
    if other.job:
        what = f"the {other.kind} {other.name} is in use by StreamJob {other.job}"
        return refuse("NameTaken", need.field, f"{what}; give the {need.what} another name")
    what = f"there is a {other.kind} {other.name} that does not belong to this job, and it is left as it is"
    return refuse("NameTaken", need.field, f"{what}; give the {need.what} another name, or remove the object")


def _needs(job: StreamJob) -> Iterator[_Need]:
    for kind in ("ServiceAccount", "Role", "RoleBinding", "NetworkPolicy"):
        yield _Need(NAME, "job", kind, names.account(job.name))
    yield _Need(NAME, "job", "ConfigMap", names.run(job.name))
    yield _Need(NAME, "job", "ConfigMap", names.manifest(job.name, revision_of(job)))
    yield _Need(NAME, "job", "Secret", names.authority(job.name))
    yield _Need(NAME, "job", "Secret", f"{job.name}-certificate-", NUMBER)
    for n, subjob in enumerate(job.subjobs):
        yield from _of_subjob(path("spec", "subjobs", n, "name"), job.name, subjob.name)
    for n, sink in enumerate(job.sinks):
        yield _Need(path("spec", "sinks", n, "name"), "sink", "Pod", names.sink(job.name, sink.name))


def _of_subjob(field: str, job: str, subjob: str) -> Iterator[_Need]:
    for kind in ("Lease", "Service"):
        yield _Need(field, "subjob", kind, names.lease(job, subjob))
    yield _Need(field, "subjob", "PodDisruptionBudget", names.budget(job, subjob))
    yield _Need(field, "subjob", "Pod", names.lease(job, subjob), INSTANCE)
    yield _Need(field, "subjob", "Job", f"{names.lease(job, subjob)}-failed-", NUMBER)
