"""The faults and changes of a run that the command line asks for, and those of them that did not happen."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from understudy.local.effective import length
from understudy.local.report.record import Record
from understudy.local.run.fault_plan import (
    Fault,
    Harm,
    Planned,
    Target,
    parse_hang,
    parse_kill,
    parse_migration,
    parse_overload,
    parse_stop,
)
from understudy.local.run.partitions import Partition, parse_partition
from understudy.model.job import StreamJob
from understudy.model.value import print_duration

Asked = TypeVar("Asked", Fault, Planned, Partition)


@dataclass(frozen=True, slots=True)
class Programme:
    faults: tuple[Fault, ...]
    planned: tuple[Planned, ...]
    partitions: tuple[Partition, ...]
    seed: int | None
    """The seed from which the times were drawn; None if no time was drawn."""

    @property
    def moments(self) -> list[tuple[str, int]]:
        """(what happens, when), in milliseconds since the job's start."""
        moves = [(f"migration of {p.subjob}", p.at_ms) for p in self.planned]
        cuts = [(f"cut between {p}", p.at_ms) for p in self.partitions]
        return [*((str(f), f.at_ms) for f in self.faults), *moves, *cuts]

    @property
    def overloaded(self) -> frozenset[str]:
        """The subjobs whose primary is to get less processor time."""
        hidden = (Target.STANDBY, Target.SINK)
        return frozenset(f.owner for f in self.faults if f.harm is Harm.THROTTLE and f.target not in hidden)

    def drawn(self) -> str:
        """The times and their seed, so that they can be repeated."""
        return (
            f"--seed {self.seed}: {', '.join(f'{what} at {_moment(at_ms)}' for what, at_ms in self.moments)}"
        )


def programme_of(args: argparse.Namespace, job: StreamJob) -> Programme | str:
    """The programme, or a sentence why it is impossible."""
    seed = random.randrange(1 << 31) if args.seed is None else args.seed
    drawn = random.Random(seed)
    parsers = (
        *((parse_kill, args.kill), (parse_stop, args.stop), (parse_overload, args.overload)),
        (parse_hang, args.hang),
        *((parse_migration, args.migrate), (parse_partition, args.partition)),
    )
    found = [parse(text, job, drawn) for parse, texts in parsers for text in texts]
    if refusal := next((f for f in found if isinstance(f, str)), None):
        return refusal
    programme = Programme(
        tuple(f for f in found if isinstance(f, Fault)),
        tuple(p for p in found if isinstance(p, Planned)),
        tuple(p for p in found if isinstance(p, Partition)),
        seed if any("-" in text.rpartition("@")[2] for _, texts in parsers for text in texts) else None,
    )
    return _too_late(programme, length(job)) or programme


def _too_late(programme: Programme, end: timedelta | None) -> str | None:
    late = next(
        ((who, at) for who, at in programme.moments if end and timedelta(milliseconds=at) > end), None
    )
    if late is None or end is None:
        return None
    return (
        f"{late[0]} at {_moment(late[1])}: the streams end after {print_duration(end)}; write an earlier time"
    )


def undone(programme: Programme, record: Record) -> Iterator[str]:
    """A sentence for each request that did not happen."""
    for fault in _without(programme.faults, [done.fault for done in record.done]):
        yield f"the {fault} was not {fault.done}: the job was over before it could be"
    for plan in _without(programme.planned, [move.planned for move in record.moves]):
        yield f"{plan.subjob} did not move: the job was over before it could"
    for cut in _without(programme.partitions, record.cuts):
        yield f"{cut} were not cut apart: the job was over before they could be"


def _without(asked: Sequence[Asked], happened: Sequence[Asked]) -> list[Asked]:
    """A request that was made twice has to happen twice. More may have happened than was requested."""
    left = list(asked)
    for one in happened:
        if one in left:
            left.remove(one)
    return left


def _moment(at_ms: int) -> str:
    return print_duration(timedelta(milliseconds=at_ms))
