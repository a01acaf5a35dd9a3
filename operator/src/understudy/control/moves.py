"""Planned moves of a subjob's primary (Brettlecker §4.2): ordered by a person or a Migration; because its
node is to be emptied, or is overloaded.

| seen | done |
|---|---|
| an order, no move under way | the target is found or made, the move written down, the order taken away |
| a move under way whose order still stands | that is taken away |
| the target is warm, another standby lives | that standby is removed: a primary has one at a time |
| the target is warm, no other standby lives | the Lease names it as successor; the primary does the rest |
| the target holds the Lease | what it cost is written down |
| another leads, and the move was ordered | it goes on from that one |
| another leads, and it was to leave its node | why it is over is written down |
| the target is lost, or the limit of `protocol.moves` has passed, and the Lease names it | the Lease no longer does |
| the same, and the Lease does not name it | why is written down |

Cut anywhere, it goes on: what was not written down is ordered still, and what was is seen through.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from understudy.control import names
from understudy.control.certificates import certificate_for
from understudy.control.health import fresh
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
from understudy.control.observed import Move, Moved, Observed, Order, Pod, Run, Spread
from understudy.control.placement import usable_nodes
from understudy.control.record import move_to_text, moved_to_text
from understudy.control.revision import digests_of
from understudy.control.views import SubjobView
from understudy.model.job import StreamJob
from understudy.protocol.moves import is_overdue, too_late
from understudy.protocol.statuspage import Departure, State, TakeOver

REST_MS: Final = 120_000  # between two moves because of overload: the new place gets a chance
FIGURES_MS: Final = 15_000  # how long the figures of a move that is over are waited for
WARM: Final = (State.WAITING, State.READY, State.FINISHED)


@dataclass(frozen=True, slots=True)
class _Goal:
    """Where to, and whose order it is; `dropped`: it stands on the StreamJob until it is taken away."""

    why: str
    node: str | None = None
    by: str = ""
    dropped: bool = False
    must: bool = False
    """A new instance is made if no standby can take it."""
    resource: bool = False


def plan_moves(seen: Observed, job: StreamJob, view: SubjobView) -> tuple[Intent, ...]:
    if not seen.started or seen.run is None:
        return ()
    move = seen.run.moves.get(view.subjob.name)
    if move is not None:
        return (*_take_away(seen, view, move), *_go_on(seen, view, move))
    goal = _goal(seen, view)
    return _begin(seen, job, view, goal) if goal is not None else ()


def is_to_move(seen: Observed, view: SubjobView) -> bool:
    """Or moves already: one instance more may be the target, written down or not."""
    goal = _goal(seen, view)
    return (seen.run is not None and view.subjob.name in seen.run.moves) or (goal is not None and goal.must)


# ---- beginning -------------------------------------------------------------------------------------------


def _goal(seen: Observed, view: SubjobView) -> _Goal | None:
    order = seen.orders.get(view.subjob.name)
    if order is not None:
        return _Goal(_ordered(order), order.node, order.by, dropped=True, must=order.node is not None)
    node = seen.node(view.primary.node) if view.primary and view.primary.node else None
    if node is not None and node.cordoned:
        return _Goal(f"its node {node.name} is cordoned", must=True)
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
    target = next((pod for pod in view.ready_standbys if _suits(seen, pod, goal)), None)
    if target is not None and view.protected:
        return _write_down(seen, view, view.primary, target.name, goal)
    if not goal.must:
        return _refused(seen, view, view.primary, goal, "no standby is ready to take over")
    if there := next((pod for pod in view.standbys if _suits(seen, pod, goal)), None):
        return _write_down(seen, view, view.primary, there.name, goal)  # it will be ready soon
    return _make_target(seen, job, view, view.primary, goal)


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
    """On the node that is asked for; else wherever pods are taken, away from its peers if that can be."""
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
    """Whoever wrote the move down may not have come to that; the order would be carried out again
    afterwards."""
    order = seen.orders.get(view.subjob.name)
    taken = order is not None and move.ordered and (_ordered(order), order.by) == (move.why, move.by)
    return (DropOrder(view.subjob.name, "its move is under way"),) if taken else ()


def _go_on(seen: Observed, view: SubjobView, move: Move) -> tuple[Intent, ...]:
    holder = view.lease.holder if view.lease else None
    if holder == move.target:
        return _arrived(seen, view, move)
    if failure := _failure(seen, view, move, holder):
        return _give_up(seen, view, move, failure)
    if holder is not None and holder != move.source:
        return _follow(view, move, holder)
    page = seen.instance_page(move.target) if fresh(seen, move.target) else None
    if page is None or page.state not in WARM:
        return ()
    others = [pod for pod in view.live if pod.name not in (move.target, move.source)]
    if others:
        return tuple(
            DeletePod(pod.name, False, f"{pod.name} is removed: {move.target} takes its place")
            for pod in others
        )
    if view.lease is None or holder != move.source or view.lease.successor == move.target:
        return ()
    why = f"{move.source} is to hand over to it: {move.why}"
    return (NameSuccessor(view.subjob.name, move.source, move.target, why),)


def _follow(view: SubjobView, move: Move, holder: str) -> tuple[Intent, ...]:
    subjob, node = view.subjob.name, next((pod.node for pod in view.pods if pod.name == holder), None)
    entry = move_to_text(replace(move, source=holder, from_node=node or ""))
    why = f"{subjob} moves from {holder} to {move.target}: it leads instead of {move.source}"
    return Record({f"move.{subjob}": entry}, why), Emit(Severity.NORMAL, Reason.MOVE_STARTED, why)


def _failure(seen: Observed, view: SubjobView, move: Move, holder: str | None) -> str | None:
    if move.target not in {pod.name for pod in view.live}:
        return f"{move.target} is lost"
    if holder is not None and holder != move.source and not move.ordered:
        return f"{holder} took over meanwhile"
    return too_late() if is_overdue(move.at_ms, seen.now_ms) else None


def _give_up(seen: Observed, view: SubjobView, move: Move, failure: str) -> tuple[Intent, ...]:
    """It has failed when it can't take place any more: when the Lease no longer names the target."""
    if view.lease is not None and view.lease.successor == move.target:
        why = f"{view.subjob.name} is not to move to {move.target} any more: {failure}"
        return (WithdrawSuccessor(view.subjob.name, move.target, why),)
    return _ended(view, _result(seen, move, None, None, failure))


def _arrived(seen: Observed, view: SubjobView, move: Move) -> tuple[Intent, ...]:
    arrival, source = view.page.take_over if view.page else None, seen.instance_page(move.source)
    departure = source.departure if source else None
    told = arrival is not None and arrival.gone == move.source and arrival.restored is not None
    left = departure is not None and departure.target == move.target and departure.left is not None
    promoted = arrival.promoted if arrival is not None and told else None
    if not (told and left) and seen.now_ms - (promoted or move.at_ms) < FIGURES_MS:
        return ()
    return _ended(view, _result(seen, move, arrival if told else None, departure if left else None, None))


def _result(
    seen: Observed, move: Move, arrival: TakeOver | None, departure: Departure | None, failure: str | None
) -> Moved:
    pause = None
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
