"""Names: each has one meaning, none is reserved, none is too long for the objects named after it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ..job import StreamJob, Subjob
from ..refusal import Refusal, path, refuse
from ..sinks import Sink
from ..sources import Source

# Objects are called <job>-<subjob>-<suffix>; a label holds 63 characters.
MAX_TOGETHER: Final = 50
MAX_OPERATORS: Final = 1000
_RESERVED: Final = re.compile(r"i[0-9]+")


def _places(kind: str, entries: Sequence[Source | Subjob | Sink]) -> list[tuple[str, str]]:
    return [(path("spec", kind, n, "name"), entry.name) for n, entry in enumerate(entries)]


def duplicate_streams(job: StreamJob) -> Iterator[Refusal]:
    """Sources and subjobs share one set of names."""
    streams = [*_places("sources", job.sources), *_places("subjobs", job.subjobs)]
    yield from _duplicates(streams, "another source or subjob is called so")


def duplicate_sinks(job: StreamJob) -> Iterator[Refusal]:
    yield from _duplicates(_places("sinks", job.sinks), "another sink is called so")


def duplicate_elements(job: StreamJob) -> Iterator[Refusal]:
    for n, subjob in enumerate(job.subjobs):
        taken = [("", name) for name in subjob.inputs]
        places = [
            (path("spec", "subjobs", n, "elements", m, "name"), spec.name)
            for m, spec in enumerate(subjob.elements)
        ]
        yield from _duplicates([*taken, *places], "an element or an input of this subjob is called so")


def duplicate_inputs(job: StreamJob) -> Iterator[Refusal]:
    for n, subjob in enumerate(job.subjobs):
        here = path("spec", "subjobs", n)
        inner = [(path(here, "elements", m), spec.inputs) for m, spec in enumerate(subjob.elements)]
        for owner, inputs in [(here, subjob.inputs), *inner]:
            places = [(path(owner, "inputs", k), name) for k, name in enumerate(inputs)]
            yield from _duplicates(places, "it is an input already", "leave it out")


def _duplicates(
    places: Sequence[tuple[str, str]], why: str, instead: str = "write another name"
) -> Iterator[Refusal]:
    seen: set[str] = set()
    for field, name in places:
        if name in seen and field:
            yield refuse("DuplicateName", field, f"{name} is used twice: {why}; {instead}")
        seen.add(name)


def reserved_streams(job: StreamJob) -> Iterator[Refusal]:
    for field, name in [*_places("sources", job.sources), *_places("subjobs", job.subjobs)]:
        if _RESERVED.fullmatch(name):
            yield refuse(
                "ReservedName", field, f"{name} is reserved for inputs in a plan; write another name"
            )


def one_pod_name(job: StreamJob) -> Iterator[Refusal]:
    """The pods of a subjob are called <subjob>-<number>, or <subjob>-room<number> while they wait for room;
    that of a sink is called sink-<sink>."""
    for field, name in _places("sinks", job.sinks):
        for subjob in job.subjobs:
            if re.fullmatch(rf"{re.escape(subjob.name)}-(room)?[0-9]+", f"sink-{name}"):
                what = f"its pod would have the name of a pod of the subjob {subjob.name}"
                yield refuse("DuplicateName", field, f"{what}; write another name")


def too_long(job: StreamJob) -> Iterator[Refusal]:
    most = MAX_TOGETHER - 1 - len(job.name)
    for field, name in [*_places("subjobs", job.subjobs), *_places("sinks", job.sinks)]:
        if len(name) > most:
            what = "with the job's name it makes object names that are too long"
            yield refuse("NameTooLong", field, f"{what}; write at most {most} characters")


def too_many(job: StreamJob) -> Iterator[Refusal]:
    chains = [chain for s in job.subjobs for chain in (s.operators, *(spec.operators for spec in s.elements))]
    if (count := sum(map(len, chains))) > MAX_OPERATORS:
        what = f"there are {count} operators in all; write at most {MAX_OPERATORS}"
        yield refuse("TooLong", "spec.subjobs", what)
