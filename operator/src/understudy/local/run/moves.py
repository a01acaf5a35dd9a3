"""Observe → decide: planned moves of a primary to a new instance, one at a time for each subjob.

| seen | done |
|---|---|
| it is time, and the subjob has a primary | a new instance is started: the target |
| the target is warm, another standby lives | that standby is retired: a primary has one at a time |
| the target is warm, no other standby lives | the Lease names it as successor, again and again until it leads |
| the target holds the Lease, and the source has told what its leaving cost | over; an instance too many is retired |
| another than the target has taken over | the move goes on from that one |
| the same, and it was to move because of an overload | it is given up |
| the target is gone, or the limit of `protocol.moves` has passed | the Lease no longer names it: it has failed |
| a move has failed, and its target is one too many | the target is retired |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from understudy.local.run.decide import Observed, Seen
from understudy.local.run.faults import Planned
from understudy.local.run.members import Kind, Members, Process
from understudy.protocol.moves import is_overdue, too_late
from understudy.protocol.statuspage import State

ASK_MS = 1_000
FIGURES_MS = 15_000  # how long the source is waited for to tell what its leaving cost
WARM = (State.WAITING, State.READY, State.FINISHED)


@dataclass(frozen=True, slots=True)
class Underway:
    """A move, from its start on."""

    planned: Planned
    source: Process
    target: Process
    began_ms: int
    asked_ms: int | None = None
    ended_ms: int | None = None
    failure: str | None = None

    @property
    def sides(self) -> tuple[Process, ...]:
        """Those to which it still matters. A target whose move has failed may still be starting."""
        if self.ended_ms is None:
            return self.source, self.target
        return (self.target,) if self.failure is not None else ()


@dataclass(frozen=True, slots=True)
class Begin:
    """Start the target."""

    move: Underway


@dataclass(frozen=True, slots=True)
class Follow:
    """Another leads: it is who is to move now."""

    move: Underway
    source: Process


@dataclass(frozen=True, slots=True)
class Ask:
    """Write into the Lease that the primary is to move to the target."""

    move: Underway


@dataclass(frozen=True, slots=True)
class Retire:
    """Nobody needs it any more."""

    process: Process
    why: str
    by_force: bool = False
    """It may not be able to end by itself."""


@dataclass(frozen=True, slots=True)
class End:
    """It has taken place."""

    move: Underway


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Take the target out of the Lease; if it holds the Lease already, the move goes on. Else it has
    failed."""

    move: Underway
    failure: str


Step = Begin | Follow | Ask | Retire | GiveUp | End


def steps(
    members: Members, planned: Sequence[Planned], moves: Sequence[Underway], observed: Observed
) -> Iterator[Step]:
    under_way = [m for m in moves if m.ended_ms is None]
    for move in under_way:
        yield from _next(members, move, observed)
    yield from _left_over(members, moves, observed)
    busy = {m.planned.subjob for m in under_way}
    for plan in planned:
        if plan.subjob not in busy and plan not in [m.planned for m in moves] and _is_due(plan, observed):
            source = observed.primary(plan.subjob)
            if source is not None:
                busy.add(plan.subjob)
                target = Process(Kind.SUBJOB, plan.subjob, len(observed.of(Kind.SUBJOB, plan.subjob)))
                yield Begin(Underway(plan, source.process, target, observed.now_ms))


def overloaded(members: Members, moves: Sequence[Underway], observed: Observed) -> Iterator[Planned]:
    """A primary that can't keep up moves, once."""
    moved = {m.source for m in moves}
    for primary in filter(None, map(observed.primary, members.subjobs)):
        if (why := primary.instance.overload) and primary.process not in moved:
            yield Planned(primary.process.owner, 0, f"overload: {why}", resource=True)


def _is_due(plan: Planned, observed: Observed) -> bool:
    return observed.started_ms is not None and observed.now_ms - observed.started_ms >= plan.at_ms


def _next(members: Members, move: Underway, observed: Observed) -> Iterator[Step]:
    subjob, living = move.planned.subjob, observed.living(Kind.SUBJOB, move.planned.subjob)
    target = next((s for s in living if s.process == move.target), None)
    primary, too_many = observed.primary(subjob), len(living) > members.instances[subjob]
    if target is None:
        yield GiveUp(move, f"{move.target.name} is gone")
    elif primary is target:
        source = next((s for s in living if s.process == move.source), None)
        if source is None or _has_told(move, source, observed.now_ms):
            yield End(move)
            yield from (Retire(s.process, "it has moved") for s in living if too_many and s is source)
    elif is_overdue(move.began_ms, observed.now_ms):
        yield GiveUp(move, too_late())
    elif primary is not None and primary.process != move.source:
        yield _succeeded(move, primary)
    elif target.state in WARM:
        yield from _hand_over(move, primary, [s for s in living if s not in (target, primary)], observed)


def _left_over(members: Members, moves: Sequence[Underway], observed: Observed) -> Iterator[Step]:
    """Targets of moves that have failed, where there are more instances than the mode needs."""
    for move in moves:
        subjob = move.planned.subjob
        living, primary = observed.living(Kind.SUBJOB, subjob), observed.primary(subjob)
        target = next(
            (s for s in living if s.process == move.target and not s.hurt and s is not primary), None
        )
        if move.failure is not None and target is not None and len(living) > members.instances[subjob]:
            yield Retire(target.process, "its move has failed", by_force=True)


def _has_told(move: Underway, source: Seen, now_ms: int) -> bool:
    """Its page is a little behind."""
    departure = source.instance.departure
    left = departure is not None and departure.target == move.target.name and departure.left is not None
    return left or move.asked_ms is None or now_ms - move.asked_ms >= FIGURES_MS


def _succeeded(move: Underway, primary: Seen) -> Step:
    if move.planned.resource:
        return GiveUp(
            move, f"{move.source.name} is no longer primary: {primary.process.name} has taken over instead"
        )
    return Follow(move, primary.process)


def _hand_over(
    move: Underway, primary: Seen | None, others: list[Seen], observed: Observed
) -> Iterator[Step]:
    if others:
        yield from (Retire(s.process, f"{move.target.name} takes its place") for s in others if not s.hurt)
    elif primary is not None and (move.asked_ms is None or observed.now_ms - move.asked_ms >= ASK_MS):
        yield Ask(move)
