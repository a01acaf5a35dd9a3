"""Planned moves of a primary to a new instance, one at a time for each subjob: what processes, Leases and
status pages say of a move, for `control.planned_move` to decide.

| seen | done |
|---|---|
| it is time, and the subjob has a primary | a new instance is started: the target |
| a move under way | the steps of `planned_move` are carried out |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from understudy.control.planned_move import WARM, MoveView, Step, next_steps
from understudy.local.run.fault_plan import Planned
from understudy.local.run.members import Kind, Members, Process
from understudy.local.run.observed import Observed


@dataclass(frozen=True, slots=True)
class Underway:
    """A move, from its start on."""

    planned: Planned
    source: Process
    target: Process
    began_ms: int
    asked_ms: int | None = None
    """When the Lease named the target last."""
    ended_ms: int | None = None
    failure: str | None = None

    @property
    def sides(self) -> tuple[Process, ...]:
        """Those to which it still matters. A target whose move has failed may still be starting."""
        if self.ended_ms is None:
            return self.source, self.target
        return (self.target,) if self.failure is not None else ()


def steps(moves: Sequence[Underway], observed: Observed) -> Iterator[tuple[Underway, Step]]:
    """What to do now about the moves that are under way."""
    for move in moves:
        if move.ended_ms is None:
            yield from ((move, step) for step in next_steps(_view(move, observed)))


def _view(move: Underway, observed: Observed) -> MoveView:
    subjob = move.planned.subjob
    living = observed.living(Kind.SUBJOB, subjob)
    target = next((s for s in living if s.process == move.target), None)
    return MoveView(
        now_ms=observed.now_ms,
        began_ms=move.began_ms,
        source=move.source.name,
        target=move.target.name,
        why=move.planned.why,
        ordered=not move.planned.resource,
        holder=observed.holders.get(subjob),
        successor=observed.successors.get(subjob),
        living=tuple(s.process.name for s in living),
        warm=target is not None and target.state in WARM,
        told=_has_told(move, observed),
        arrived_ms=move.asked_ms or move.began_ms,
    )


def _has_told(move: Underway, observed: Observed) -> bool:
    """Whether the page of the source says what its leaving cost: a page is a little behind. A target that
    took over before the Lease named it has cost nothing."""
    living = observed.living(Kind.SUBJOB, move.planned.subjob)
    source = next((s for s in living if s.process == move.source), None)
    departure = source.instance.departure if source else None
    left = departure is not None and departure.target == move.target.name and departure.left is not None
    return source is None or left or move.asked_ms is None


def begun(planned: Sequence[Planned], moves: Sequence[Underway], observed: Observed) -> Iterator[Underway]:
    """The moves for which it is time."""
    busy = {m.planned.subjob for m in moves if m.ended_ms is None}
    for plan in planned:
        source = observed.primary(plan.subjob)
        due = source is not None and plan.subjob not in busy and _is_due(plan, observed)
        if due and source is not None and plan not in [m.planned for m in moves]:
            busy.add(plan.subjob)
            target = Process(Kind.SUBJOB, plan.subjob, len(observed.of(Kind.SUBJOB, plan.subjob)))
            yield Underway(plan, source.process, target, observed.now_ms)


def overloaded(members: Members, moves: Sequence[Underway], observed: Observed) -> Iterator[Planned]:
    """A primary that can't keep up moves, once."""
    moved = {m.source for m in moves}
    for primary in filter(None, map(observed.primary, members.subjobs)):
        if (why := primary.instance.overload) and primary.process not in moved:
            yield Planned(primary.process.owner, 0, f"overload: {why}", resource=True)


def _is_due(plan: Planned, observed: Observed) -> bool:
    return observed.started_ms is not None and observed.now_ms - observed.started_ms >= plan.at_ms
