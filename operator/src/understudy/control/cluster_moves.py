"""Planned moves on a cluster. A person or a Migration orders a move; the operator itself moves a primary that
is overloaded, or whose node is to be emptied.

| seen | done |
|---|---|
| an order, no move under way | finds or makes the target, records the move, removes the order |
| a move under way, and its order | removes the order |
| a move under way | carries out the steps of `planned_move` |

An operator that is restarted in between continues: a move that was not recorded is still ordered, and a
recorded move is completed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, assert_never

from understudy.control import names
from understudy.control.certificates import certificate_for
from understudy.control.intents import (
    CreateInstance,
    DeletePod,
    DropOrder,
    Emit,
    Intent,
    NameSuccessor,
    Reason,
    Record,
    Severity,
    WithdrawSuccessor,
)
from understudy.control.lost_pods import fresh
from understudy.control.observed import Move, Moved, Observed, Order, Pod, Run, Spread
from understudy.control.placement import usable_nodes
from understudy.control.planned_move import (
    WARM,
    Fail,
    Finish,
    Follow,
    MakeTarget,
    MoveTo,
    MoveView,
    Name,
    Refuse,
    Retire,
    Step,
    Where,
    Withdraw,
    begin,
    next_steps,
)
from understudy.control.revision import digests_of
from understudy.control.run_record import move_to_text, moved_to_text
from understudy.control.views import SubjobView
from understudy.model.job import StreamJob
from understudy.protocol.statuspage import Departure, TakeOver

REST_MS: Final = 120_000  # between two moves because of overload: the new place gets a chance


@dataclass(frozen=True, slots=True)
class _Goal:
    """Where the move goes, and who ordered it. `dropped`: the order is still on the StreamJob and has to be
    removed."""

    why: str
    node: str | None = None
    by: str = ""
    dropped: bool = False
    where: Where = Where.STANDBY
    resource: bool = False


@dataclass(frozen=True, slots=True)
class _Told:
    """What source and target have reported about a move."""

    arrival: TakeOver | None = None
    departure: Departure | None = None


def plan_moves(seen: Observed, job: StreamJob, view: SubjobView) -> tuple[Intent, ...]:
    if not seen.started or seen.run is None:
        return ()
    move = seen.run.moves.get(view.subjob.name)
    if move is not None:
        return (*_take_away(seen, view, move), *_go_on(seen, view, move))
    goal = _goal(seen, view)
    return _begin(seen, job, view, goal) if goal is not None else ()


def is_to_move(seen: Observed, view: SubjobView) -> bool:
    """Whether a move of the subjob is ordered or under way: then one instance more may be its target,
    recorded or not."""
    goal = _goal(seen, view)
    return (seen.run is not None and view.subjob.name in seen.run.moves) or (
        goal is not None and goal.where is Where.ANYWHERE
    )


# ---- beginning -------------------------------------------------------------------------------------------


def _goal(seen: Observed, view: SubjobView) -> _Goal | None:
    order = seen.orders.get(view.subjob.name)
    if order is not None:
        where = Where.STANDBY if order.node is None else Where.ANYWHERE
        return _Goal(_ordered(order), order.node, order.by, dropped=True, where=where)
    node = seen.node(view.primary.node) if view.primary and view.primary.node else None
    if node is not None and node.cordoned:
        return _Goal(f"its node {node.name} is cordoned", where=Where.ANYWHERE)
    last = seen.run.moved.get(view.subjob.name) if seen.run else None
    rested = last is None or seen.now_ms - last.ended_ms >= REST_MS
    if rested and view.page is not None and view.page.overload:
        return _Goal(f"it is overloaded: {view.page.overload}", resource=True)
    return None


def _ordered(order: Order) -> str:
    whose = f"by Migration {order.by}" if order.by else "by an annotation"
    return f"ordered {whose}" + (f" to {order.node}" if order.node else "")


def _begin(seen: Observed, job: StreamJob, view: SubjobView, goal: _Goal) -> tuple[Intent, ...]:
    if view.primary is None or not view.serving:
        return ()  # it is failing over, or still starting: the order stands
    if goal.node is not None and (refusal := _refusal(seen, view.primary, goal.node)):
        return _refused(seen, view, view.primary, goal, refusal)
    ready = [pod.name for pod in view.ready_standbys if view.protected and _suits(seen, pod, goal)]
    warming = [pod.name for pod in view.standbys if _suits(seen, pod, goal)]
    match begin(goal.where, ready, warming):
        case MoveTo(target):
            return _write_down(seen, view, view.primary, target, goal)
        case MakeTarget():
            return _make_target(seen, job, view, view.primary, goal)
        case Refuse(why):
            return _refused(seen, view, view.primary, goal, why)
        case beginning:
            assert_never(beginning)


def _refusal(seen: Observed, primary: Pod, node: str) -> str | None:
    if primary.node == node:
        return f"it is on {node} already"
    if seen.nodes and node not in usable_nodes(seen):
        return f"{node} is no node that takes pods now"
    return None


def _suits(seen: Observed, pod: Pod, goal: _Goal) -> bool:
    if goal.node is not None:
        return pod.node == goal.node
    node = seen.node(pod.node) if pod.node else None
    return node is None or not node.cordoned


def _refused(seen: Observed, view: SubjobView, primary: Pod, goal: _Goal, why: str) -> tuple[Intent, ...]:
    if not goal.dropped:
        return ()
    ended = Moved(goal.by, primary.name, "", goal.why, seen.now_ms, seen.now_ms, failure=why)
    return (*_ended(view, ended), *_drop(view, goal))


def _drop(view: SubjobView, goal: _Goal) -> tuple[Intent, ...]:
    return (DropOrder(view.subjob.name, "the order is written down"),) if goal.dropped else ()


def _write_down(
    seen: Observed, view: SubjobView, primary: Pod, target: str, goal: _Goal, made: bool = False
) -> tuple[Intent, ...]:
    subjob = view.subjob.name
    move = Move(
        primary.name, target, goal.why, seen.now_ms, goal.by, primary.node or "", goal.resource, goal.dropped
    )
    why = f"{subjob} moves from {primary.name} to {target}{', a new instance' if made else ''}: {goal.why}"
    return (
        Record({f"move.{subjob}": move_to_text(move)}, why),
        *_drop(view, goal),
        Emit(Severity.NORMAL, Reason.MOVE_STARTED, why),
    )


def _make_target(
    seen: Observed, job: StreamJob, view: SubjobView, primary: Pod, goal: _Goal
) -> tuple[Intent, ...]:
    """Makes the target on the node that the order names; otherwise on any node that takes pods, if possible
    away from the subjob's other instances."""
    subjob, run = view.subjob, seen.run or Run()
    number = max([run.next.get(subjob.name, 0), *(names.number_of(pod.name) + 1 for pod in view.pods)])
    name = names.instance(seen.name, subjob.name, number)
    taken = frozenset(pod.node for pod in view.live if pod.node)
    spread = Spread.REQUIRED if usable_nodes(seen) - taken and goal.node is None else Spread.PREFERRED
    others = frozenset(node.name for node in seen.nodes if node.name != goal.node)
    avoid = others if goal.node else taken if spread is Spread.REQUIRED else frozenset()
    entries: dict[str, str | None] = {
        f"next.{subjob.name}": str(number + 1),
        f"made.{subjob.name}": str(seen.now_ms),
    }
    digests, certificate = digests_of(job, subjob, certificate_for(seen)), certificate_for(seen)
    why = f"{name} is made as the target of a move: {goal.why}"
    return (
        Record(entries, f"number {number} is given to an instance of {subjob.name}"),
        CreateInstance(
            name,
            subjob.name,
            view.standby_role,
            spread,
            avoid,
            goal.node,
            digests,
            seen.revision,
            certificate,
            why,
        ),
        Emit(Severity.NORMAL, Reason.INSTANCE_CREATED, why),
        *_write_down(seen, view, primary, name, goal, made=True),
    )


# ---- going on --------------------------------------------------------------------------------------------


def _take_away(seen: Observed, view: SubjobView, move: Move) -> tuple[Intent, ...]:
    """Removes the order of a recorded move: the operator may have stopped before it did so, and the order
    would be carried out a second time."""
    order = seen.orders.get(view.subjob.name)
    taken = order is not None and move.ordered and (_ordered(order), order.by) == (move.why, move.by)
    return (DropOrder(view.subjob.name, "its move is under way"),) if taken else ()


def _go_on(seen: Observed, view: SubjobView, move: Move) -> tuple[Intent, ...]:
    told = _told(seen, view, move)
    page = seen.instance_page(move.target) if fresh(seen, move.target) else None
    steps = next_steps(
        MoveView(
            now_ms=seen.now_ms,
            began_ms=move.at_ms,
            source=move.source,
            target=move.target,
            why=move.why,
            ordered=move.ordered,
            holder=view.lease.holder if view.lease else None,
            successor=view.lease.successor if view.lease else None,
            living=tuple(pod.name for pod in view.live),
            warm=page is not None and page.state in WARM,
            told=told.arrival is not None and told.departure is not None,
            arrived_ms=(told.arrival.promoted if told.arrival else None) or move.at_ms,
        )
    )
    return tuple(intent for step in steps for intent in _intents(seen, view, move, told, step))


def _intents(seen: Observed, view: SubjobView, move: Move, told: _Told, step: Step) -> tuple[Intent, ...]:
    subjob = view.subjob.name
    match step:
        case Retire(instance, why):
            return (DeletePod(instance, False, f"{instance} is removed: {why}"),)
        case Name(source, target, why):
            return (NameSuccessor(subjob, source, target, why),)
        case Withdraw(target, why):
            said = f"{subjob} is not to move to {target} any more: {why}"
            return (WithdrawSuccessor(subjob, target, said),)
        case Follow(source, why):
            return _follow(view, move, source, why)
        case Fail(why):
            return _ended(view, _result(seen, move, _Told(), why))
        case Finish():
            return _ended(view, _result(seen, move, told, None))
        case _:
            assert_never(step)


def _follow(view: SubjobView, move: Move, holder: str, why: str) -> tuple[Intent, ...]:
    subjob, node = view.subjob.name, next((pod.node for pod in view.pods if pod.name == holder), None)
    entry = move_to_text(replace(move, source=holder, from_node=node or ""))
    said = f"{subjob} moves from {holder} to {move.target}: {why}"
    return Record({f"move.{subjob}": entry}, said), Emit(Severity.NORMAL, Reason.MOVE_STARTED, said)


def _told(seen: Observed, view: SubjobView, move: Move) -> _Told:
    arrival, source = view.page.take_over if view.page else None, seen.instance_page(move.source)
    departure = source.departure if source else None
    told = arrival is not None and arrival.gone == move.source and arrival.restored is not None
    left = departure is not None and departure.target == move.target and departure.left is not None
    return _Told(arrival if told else None, departure if left else None)


def _result(seen: Observed, move: Move, told: _Told, failure: str | None) -> Moved:
    arrival, departure, pause = told.arrival, told.departure, None
    if arrival is not None and departure is not None and arrival.restored is not None:
        pause = max(0, arrival.restored - departure.paused) if departure.paused is not None else 0
    return Moved(
        by=move.by,
        source=move.source,
        target=move.target,
        why=move.why,
        at_ms=move.at_ms,
        ended_ms=seen.now_ms,
        from_node=move.from_node,
        pause_ms=pause,
        bytes=departure.bytes if departure is not None else None,
        lost=arrival.lost if arrival is not None else None,
        failure=failure,
        resource=move.resource,
    )


def _ended(view: SubjobView, moved: Moved) -> tuple[Intent, ...]:
    subjob = view.subjob.name
    entries: dict[str, str | None] = {f"move.{subjob}": None, f"moved.{subjob}": moved_to_text(moved)}
    severity, reason = (
        (Severity.WARNING, Reason.MOVE_FAILED) if moved.failure else (Severity.NORMAL, Reason.MOVED)
    )
    return Record(entries, moved.sentence(subjob)), Emit(severity, reason, moved.sentence(subjob))
