"""Refusals that only the cluster can tell: names that Kubernetes cannot hold, or that another job has taken."""

from __future__ import annotations

from collections.abc import Iterable

from understudy.control import names
from understudy.control.observed import Lease
from understudy.model.job import StreamJob
from understudy.model.refusal import Refusal, refuse


def admit(job: StreamJob, leases: Iterable[Lease]) -> list[Refusal]:
    others = {lease.name: lease.job for lease in leases if lease.job != job.name}
    return [
        *_too_long(job),
        *(
            refuse("NameTaken", f"spec.subjobs[{place}].name", _taken(job.name, subjob.name, others))
            for place, subjob in enumerate(job.subjobs)
            if names.lease(job.name, subjob.name) in others
        ),
    ]


def _taken(job: str, subjob: str, others: dict[str, str]) -> str:
    name = names.lease(job, subjob)
    return f"the name {name} is in use by StreamJob {others[name]}; give the subjob another name"


def _too_long(job: StreamJob) -> list[Refusal]:
    room = names.LONGEST - names.ROOM_FOR_NUMBER - len(job.name) - 1
    parts = [("subjobs", place, subjob.name, room) for place, subjob in enumerate(job.subjobs)]
    parts += [("sinks", place, sink.name, room - len("sink-")) for place, sink in enumerate(job.sinks)]
    return [
        refuse(
            "NameTooLong",
            f"spec.{kind}[{place}].name",
            f"{name!r} is too long beside the job's name; write at most {most} characters",
        )
        for kind, place, name, most in parts
        if len(name) > most
    ]
