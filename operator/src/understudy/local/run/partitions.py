"""`--partition A|B@15s+5s`: no byte passes between A and B for a while.

A side is `SUBJOB` (all its instances), `SUBJOB@primary`, `SUBJOB@standby`, `sink/NAME`, or `*`: everybody
else, and the store of the Leases. Who plays a role is decided when the cut begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from understudy.faults.cuts import LEASES
from understudy.local.run.fault_plan import Fault, Target, parse_fault, parse_moment
from understudy.local.run.members import Kind
from understudy.local.run.observed import Observed
from understudy.model.job import StreamJob

REST: Final = "*"
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Side:
    text: str
    owner: str
    kind: Kind
    role: Target | None
    """None: all instances."""

    def members(self, observed: Observed) -> set[str]:
        if self.kind is Kind.SINK or self.role is None:
            return {seen.process.name for seen in observed.living(self.kind, self.owner)}
        found = observed.primary(self.owner) if self.role is Target.PRIMARY else observed.standby(self.owner)
        return {found.process.name} if found else set()


@dataclass(frozen=True, slots=True)
class Partition:
    one: Side
    other: Side | None
    """None: everybody else."""
    at_ms: int
    lasts_ms: int

    def __str__(self) -> str:
        return f"{self.one.text} and {self.other.text if self.other else 'everybody else'}"

    def pairs(self, observed: Observed) -> frozenset[Pair]:
        one = self.one.members(observed)
        everybody = {LEASES, *(s.process.name for s in observed.seen if s.alive)}
        other = self.other.members(observed) if self.other else everybody - one
        return frozenset((a, b) for a in one for b in other if a != b)


def parse_partition(text: str, job: StreamJob, random: Random) -> Partition | str:
    """The fault that `--partition TEXT` asks for, or why it cannot be."""
    sides, _, length = text.rpartition("+")
    sides, _, when = sides.rpartition("@")
    at_ms, lasts_ms = parse_moment(when, random), parse_moment(length, random)
    names = sides.split("|")
    if at_ms is None or lasts_ms is None or len(names) != 2 or names[0] == REST:
        example = f"{job.subjobs[0].name}@primary|{REST}@15s+5s"
        return f"--partition {text}: write A|B@TIME+LENGTH, such as '{example}'"
    found = [None if name == REST else _side(name, job) for name in names]
    if refusal := next((side for side in found if isinstance(side, str)), None):
        return f"--partition {text}: {refusal}"
    one, other = found
    assert isinstance(one, Side)
    assert not isinstance(other, str)
    return Partition(one, other, at_ms, lasts_ms)


def _side(text: str, job: StreamJob) -> Side | str:
    found = parse_fault(f"{text}@0s", job, Random(0))
    if not isinstance(found, Fault):
        return found
    if found.target in (Target.PROTECTED, Target.RECOVERING, Target.JOINING):
        return f"{text} is no side; write {found.owner}@primary or {found.owner}@standby"
    if found.target is Target.SINK:
        return Side(text, found.owner, Kind.SINK, None)
    return Side(text, found.owner, Kind.SUBJOB, found.target if "@" in text else None)


@dataclass(slots=True)
class Partitions:
    """The cuts of a run, as far as they have come."""

    planned: tuple[Partition, ...]
    begun: dict[Partition, frozenset[Pair]]

    @classmethod
    def of(cls, planned: tuple[Partition, ...]) -> Partitions:
        return cls(planned, {})

    def news(self, observed: Observed) -> Iterator[str]:
        """What begins or ends now, in words; `apart` follows."""
        elapsed = observed.now_ms - (observed.started_ms or observed.now_ms)
        for partition in self.planned:
            pairs = self.begun.get(partition)
            if (
                pairs is None
                and elapsed >= partition.at_ms
                and observed.started_ms
                and partition.pairs(observed)
            ):
                self.begun[partition] = partition.pairs(observed)
                yield f"cut apart: {partition}, for {partition.lasts_ms / 1000:g} s"
            elif pairs and elapsed >= partition.at_ms + partition.lasts_ms:
                self.begun[partition] = frozenset()
                yield f"mended: {partition}"

    @property
    def apart(self) -> list[Pair]:
        return sorted(pair for pairs in self.begun.values() for pair in pairs)
