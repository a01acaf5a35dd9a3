"""Planned moves by the Lease, as the operator and `understudy run` order them, with the same end:
`protocol.moves`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from understudy.protocol.moves import LIMIT_MS, too_late
from understudy_lab.simulation.world import MS

if TYPE_CHECKING:
    from understudy_lab.simulation.cluster import Cluster
    from understudy_lab.simulation.process import Process

LOOK = 50 * MS  # how often the control plane looks at a move that is under way


@dataclass(frozen=True)
class Ordered:
    subjob: str
    source: str
    target: str
    limit: int
    """When it is given up."""
    ended: str | None = None


class Orders:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.world = cluster, cluster.world
        self.moves: list[Ordered] = []

    def order(self, subjob: str, limit: int = LIMIT_MS * MS) -> None:
        """The primary is to move to its standby."""
        running = [p for p in self.cluster.running[subjob] if p.alive]
        lease, standbys = self.world.lease(subjob), [p for p in running if not p.leads]
        if self.cluster.subjobs[subjob].family != "lease" or lease is None or not standbys:
            return
        self.moves.append(Ordered(subjob, lease.address, standbys[0].name, self.world.now + limit))
        self.cluster.monitor.ordered(subjob, lease.address, standbys[0].name)
        self._look(len(self.moves) - 1)

    def arrived(self, process: Process) -> None:
        """It has taken the Lease because that named it as successor."""
        expected = any(m.target == process.name and m.ended is None for m in self.moves)
        self.cluster.monitor.moved(process, expected)

    def _look(self, number: int) -> None:
        if self.cluster.control_down or self.world.lease_down:
            self.world.at(LOOK, self._look, number)
            return
        move = self.moves[number]
        ended = self._next(move)
        if ended is None:
            self.world.at(LOOK, self._look, number)
            return
        self.world.note(f"the move of {move.subjob} to {move.target}: {ended}")
        self.moves[number] = replace(move, ended=ended)
        if ended != "done":
            self.cluster.monitor.given_up(move.subjob, move.target)

    def _next(self, move: Ordered) -> str | None:
        """Why it is over."""
        lease = self.world.lease(move.subjob)
        if lease is None or lease.address == move.target:
            return "done"
        if lease.address != move.source or self.world.now >= move.limit:
            gone = self.world.take_successor_away(move.subjob, move.target)
            return f"failed: {too_late()}" if gone else "done"
        self.world.name_successor(move.subjob, lease.holder, move.target)
        return None
