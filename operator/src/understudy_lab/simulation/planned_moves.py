"""Planned moves by the Lease, as the operator and `understudy run` order them: the control plane looks,
`control.planned_move` decides, and the control plane acts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from understudy.control.planned_move import (
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
from understudy.control.replacing import Instances, surplus
from understudy.model.ha import Mode
from understudy.protocol.move_limits import LIMIT_MS
from understudy_lab.simulation.world import MS

if TYPE_CHECKING:
    from understudy_lab.simulation.cluster import Cluster
    from understudy_lab.simulation.process import Process

LOOK = 50 * MS  # how often the control plane looks at a move that is under way


@dataclass(frozen=True)
class Ordered:
    """A move. Source and target are lives: an instance that was started again is another."""

    subjob: str
    source: str
    target: str
    why: str
    ordered: bool
    """It is wanted whoever leads."""
    began: int
    """Milliseconds; where another limit is tried, as if it had begun earlier or later."""
    warm: int
    """When its target is."""
    late: int = 0
    """How long after it has looked the control plane acts for the first time."""
    ended: str | None = None


class Orders:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.world = cluster, cluster.world
        self.moves: list[Ordered] = []

    def order(
        self,
        subjob: str,
        why: str = "planned",
        where: Where = Where.ANYWHERE,
        *,
        limit: int = LIMIT_MS * MS,
        ordered: bool = True,
        late: int = 0,
    ) -> None:
        """The primary is to move; one move at a time."""
        spec, lease = self.cluster.subjobs[subjob], self.world.lease(subjob)
        busy = any(m.subjob == subjob and m.ended is None for m in self.moves)
        if spec.family != "lease" or lease is None or busy:
            return
        source = self.cluster.processes[lease.address]
        living = [p for p in self.cluster.running[subjob] if p.alive and p.name != lease.address]
        ready = [p.name for p in living if p.name == source.core.secondary and source.core.protected]
        warm = self.world.now
        match begin(where, ready, [p.name for p in living]):
            case MoveTo(target):
                pass
            case MakeTarget() if self.cluster.spares > 0:
                target = self.cluster.control.place_on_spare(spec).name
                warm += self.cluster.deploy
            case MakeTarget() | Refuse():
                return
        began = (self.world.now + limit) // MS - LIMIT_MS
        self.moves.append(Ordered(subjob, lease.address, target, why, ordered, began, warm, late))
        self.cluster.monitor.ordered(subjob, lease.address, target)
        self._look(len(self.moves) - 1)

    def arrived(self, process: Process) -> None:
        """It has taken the Lease because that named it as successor."""
        expected = any(m.target == process.name and m.ended is None for m in self.moves)
        self.cluster.monitor.moved(process, expected)

    # --- looking

    def _look(self, number: int) -> None:
        move = self.moves[number]
        if self.cluster.control_down or self.world.lease_down:
            self.world.at(LOOK, self._look, number)
            return
        steps = next_steps(self._view(move))
        if steps and move.late:
            self.moves[number] = replace(move, late=0)
            self.world.at(move.late, self._act, number, steps)
        else:
            self._act(number, steps)

    def _view(self, move: Ordered) -> MoveView:
        lease = self.world.lease(move.subjob)
        return MoveView(
            now_ms=self.world.now // MS,
            began_ms=move.began,
            source=move.source,
            target=move.target,
            why=move.why,
            ordered=move.ordered,
            holder=lease.address if lease is not None else None,
            successor=lease.successor if lease is not None else None,
            living=tuple(p.name for p in self.cluster.running[move.subjob]),
            warm=self.world.now >= move.warm,
            told=True,
            arrived_ms=self.world.now // MS,
        )

    # --- acting

    def _act(self, number: int, steps: tuple[Step, ...]) -> None:
        for step in steps:
            self._take(number, self.moves[number], step)
        if self.moves[number].ended is None:
            self.world.at(LOOK, self._look, number)
        else:
            self._tidy(self.moves[number].subjob)

    def _take(self, number: int, move: Ordered, step: Step) -> None:
        match step:
            case Retire(instance):
                self._retire(self.cluster.processes[instance])
            case Name(source, target):
                lease = self.world.lease(move.subjob)
                if lease is not None and lease.address == source:
                    self.world.name_successor(move.subjob, lease.holder, target)
            case Withdraw(target):
                self.world.take_successor_away(move.subjob, target)
            case Follow(source):
                self.moves[number] = replace(move, source=source)
                self.cluster.monitor.ordered(move.subjob, source, move.target)
            case Fail(why):
                self._end(number, f"failed: {why}")
                self.cluster.monitor.given_up(move.subjob, move.target)
            case Finish():
                self._end(number, "done")
            case _:
                assert_never(step)

    def _end(self, number: int, how: str) -> None:
        move = self.moves[number]
        self.world.note(f"the move of {move.subjob} to {move.target}: {how}")
        self.moves[number] = replace(move, ended=how)

    def _retire(self, standby: Process) -> None:
        """What is deleted must still be what was seen: the precondition of the deletion."""
        lease = self.world.lease(standby.spec.name)
        holds = lease is not None and lease.address == standby.name
        if holds or standby not in self.cluster.running[standby.spec.name]:
            return
        if standby.alive:
            self.world.note(f"{standby.name} is stopped")
            self.cluster.control.stop(standby)
        self.cluster.remove(standby)

    def _tidy(self, subjob: str) -> None:
        """Until no instance is one too many, or the subjob moves again."""
        spec, running = self.cluster.subjobs[subjob], self.cluster.running[subjob]
        moves = any(m.subjob == subjob and m.ended is None for m in self.moves)
        if moves or len(running) <= spec.replicas:
            return
        lease = self.world.lease(subjob)
        leads = next(
            (p for p in running if lease is not None and p.name == lease.address and p.serving), None
        )
        if leads is not None and not self.cluster.control_down:
            standbys = [p.name for p in running if p is not leads]
            mode = Mode(spec.mode.partition("/")[0])
            instances = Instances(spec.replicas, len(running), standbys, leads.core.secondary, mode)
            for name in surplus(instances):
                self._retire(self.cluster.processes[name])
        self.world.at(LOOK, self._tidy, subjob)
