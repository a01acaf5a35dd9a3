"""Migrations: each orders a move, and reports how the move ended.

| phase | until |
|---|---|
| Pending | the job exists, and the subjob has no other order |
| Running | the job's record shows how the move ended, or the move began too late (`protocol.move_limits`) |
| Completed, Failed | |

The status says Running before the order is given. `cluster_moves` carries the move out. An order that may
not have been given is given again: the job's record shows whether it was. If a move does not begin in time,
the order is removed first; then the Migration fails. A move that has begun has the same limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from understudy.control.observed import Moved, Order
from understudy.control.times import iso_ms, millis
from understudy.model.kinds import MigrationPhase, MigrationSpec, MigrationStatus
from understudy.protocol.move_limits import is_late_to_begin, is_overdue, too_late

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SeenMigration:
    now_ms: int
    name: str
    spec: MigrationSpec
    status: MigrationStatus
    job: Json | None
    """The StreamJob's status; None: there is no such job."""
    orders: Mapping[str, Order]
    """Subjob → its order on the StreamJob."""
    moves: Mapping[str, str]
    """Subjob → the Migration whose move is under way."""
    moved: Mapping[str, Moved]
    """Subjob → its last move."""

    @property
    def subjob(self) -> Json | None:
        found = (self.job or {}).get("subjobs") or ()
        return next((subjob for subjob in found if subjob.get("name") == self.spec.subjob), None)


@dataclass(frozen=True, slots=True)
class WriteDown:
    status: MigrationStatus


@dataclass(frozen=True, slots=True)
class Give:
    """Write this order into the StreamJob."""

    subjob: str
    node: str


@dataclass(frozen=True, slots=True)
class TakeBack:
    """Remove the order to move this subjob."""

    subjob: str


Step = WriteDown | Give | TakeBack


def decide_migration(seen: SeenMigration) -> tuple[Step, ...]:
    match seen.status.phase:
        case None:
            message = f"{seen.spec.subjob} is to move to {seen.spec.to_node}"
            return (WriteDown(MigrationStatus(phase=MigrationPhase.PENDING, message=message)),)
        case MigrationPhase.PENDING:
            return _begin(seen)
        case MigrationPhase.RUNNING:
            return _go_on(seen)
        case MigrationPhase.COMPLETED | MigrationPhase.FAILED:
            return ()
        case _:
            assert_never(seen.status.phase)


def _begin(seen: SeenMigration) -> tuple[Step, ...]:
    spec = seen.spec
    if seen.job is None:
        return _failed(seen, f"there is no StreamJob {spec.job}")
    if seen.subjob is None:
        return _failed(seen, f"{spec.job} has no subjob {spec.subjob}, or it has not been accepted yet")
    if seen.job.get("phase") == "Completed":
        return _failed(seen, f"{spec.job} has completed")
    if spec.subjob in seen.orders or spec.subjob in seen.moves:
        return ()  # one at a time
    primary, replicas = seen.subjob.get("currentPrimary"), seen.subjob.get("replicas") or ()
    node = next((replica.get("node") for replica in replicas if replica.get("pod") == primary), None)
    status = seen.status.model_copy(
        update={
            "phase": MigrationPhase.RUNNING,
            "message": f"{spec.subjob} moves to {spec.to_node}",
            "from_node": node,
            "started_at": iso_ms(seen.now_ms),
        }
    )
    return WriteDown(status), Give(spec.subjob, spec.to_node)


def _go_on(seen: SeenMigration) -> tuple[Step, ...]:
    last, started = seen.moved.get(seen.spec.subjob), millis(seen.status.started_at)
    if last is not None and last.by == seen.name and last.ended_ms >= (started or 0):
        return (WriteDown(_ended(seen, last)),)
    if seen.job is None or seen.subjob is None:
        return _failed(seen, "the job is gone")
    order = seen.orders.get(seen.spec.subjob)
    if seen.moves.get(seen.spec.subjob) == seen.name:
        return ()
    stands = order is not None and order.by == seen.name
    if is_late_to_begin(started or seen.now_ms, seen.now_ms):
        return (TakeBack(seen.spec.subjob),) if stands else _never_began(seen, started)
    if order is not None or seen.spec.subjob in seen.moves:
        return ()
    return (Give(seen.spec.subjob, seen.spec.to_node),)


def _never_began(seen: SeenMigration, started: int | None) -> tuple[Step, ...]:
    """Fails the Migration if its move did not begin in time. The move may have begun while the order was
    being removed: then the record shows it before the limit."""
    late = is_overdue(started or seen.now_ms, seen.now_ms)
    return _failed(seen, f"{seen.spec.subjob} could not begin to move: {too_late()}") if late else ()


def _ended(seen: SeenMigration, last: Moved) -> MigrationStatus:
    return seen.status.model_copy(
        update={
            "phase": MigrationPhase.COMPLETED if last.failure is None else MigrationPhase.FAILED,
            "message": last.sentence(seen.spec.subjob),
            "to": last.target or None,
            "finished_at": iso_ms(seen.now_ms),
            "pause_seconds": last.pause_seconds,
            "moved_bytes": last.bytes,
            "lost": last.lost,
        }
    )


def _failed(seen: SeenMigration, why: str) -> tuple[Step, ...]:
    changes = {"phase": MigrationPhase.FAILED, "message": why, "finished_at": iso_ms(seen.now_ms)}
    return (WriteDown(seen.status.model_copy(update=changes)),)
