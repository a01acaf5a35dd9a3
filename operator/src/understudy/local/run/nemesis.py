"""Which faults a run makes now, and to which process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from understudy.local.run.fault_plan import Fault, Target
from understudy.local.run.intents import (
    Hurt,
)
from understudy.local.run.members import Kind, Process
from understudy.local.run.observed import Done, Observed, Seen
from understudy.protocol.statuspage import Role, State


class Nemesis(Protocol):
    """Decides which faults are made."""

    def strike(self, observed: Observed) -> Iterator[Hurt]:
        """The faults to make now."""

    def satisfied(self, observed: Observed) -> bool:
        """Whether the run may end, because it has shown all that it is for."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Faults at their times. If the victim of a fault is not running at that time, the fault waits for it."""

    faults: tuple[Fault, ...] = ()

    def strike(self, observed: Observed) -> Iterator[Hurt]:
        if observed.started_ms is None:
            return
        elapsed = observed.now_ms - observed.started_ms
        victims: set[Process] = set()
        for fault in self.left(observed.done):
            victim = victim_of(fault, observed)
            if elapsed >= fault.at_ms and victim and victim not in victims:
                victims.add(victim)
                yield Hurt(fault, victim)

    def left(self, struck: Iterable[Done]) -> list[Fault]:
        left = list(self.faults)
        for done in struck:
            left.remove(done.fault)
        return left

    def satisfied(self, observed: Observed) -> bool:
        return False


def victim_of(fault: Fault, observed: Observed) -> Process | None:
    match fault.target:
        case Target.PRIMARY:
            found = observed.primary(fault.owner)
        case Target.STANDBY:
            found = observed.standby(fault.owner)
        case Target.PROTECTED:
            primary = observed.primary(fault.owner)
            found = (
                primary
                if primary and all(_protected(n, observed) for n in _around(primary, observed))
                else None
            )
        case Target.RECOVERING:
            primary = observed.primary(fault.owner)
            found = primary if primary and _recovers(primary, observed) else None
        case Target.JOINING:
            newcomer = next(filter(_joins, observed.living(Kind.SUBJOB, fault.owner)), None)
            found = newcomer if observed.primary(fault.owner) else None
        case Target.SINK:
            found = next(iter(observed.living(Kind.SINK, fault.owner)), None)
    return found.process if found else None


def _around(primary: Seen, observed: Observed) -> set[str]:
    """Its subjob, the producers and the consumers of that: some modes promise less if neighbours fail
    together."""
    outputs = primary.instance.outputs.values()
    near = {*primary.instance.inputs, *(consumer for queue in outputs for consumer in queue.consumers)}
    subjobs = {s.process.owner for s in observed.seen if s.process.kind is Kind.SUBJOB}
    return {primary.process.owner, *(near & subjobs)}


def _protected(subjob: str, observed: Observed) -> bool:
    primary = observed.primary(subjob)
    return primary is not None and observed.covered(primary.process) and observed.protected(subjob)


def _recovers(primary: Seen, observed: Observed) -> bool:
    """Whether it has taken over and not caught up. A page is a little old: it may still say that a process
    that has just taken the Lease is a standby."""
    if primary.instance.role is Role.STANDBY:
        return primary.process not in observed.moving
    story = primary.instance.take_over
    return story is not None and not story.planned and story.caught_up is None


def _joins(instance: Seen) -> bool:
    return not instance.was_ready and instance.state in (State.WARMING_UP, State.WAITING)
