"""Operator migration on simulated machines: standing still, handing over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.epochs import LeaseRecord

if TYPE_CHECKING:
    from understudy_lab.simulation.process import Process


class Moves:
    def __init__(self, process: Process) -> None:
        self.process, self.cluster, self.world = process, process.cluster, process.world
        process.carry |= {
            do.RequestMigration: lambda c: self.cluster.control.relieve(process.spec.name, c.why),
            do.Pause: self._pause,
            do.Resume: self._resume,
            do.HandOver: self._hand_over,
        }

    def _pause(self, command: do.Pause) -> None:
        self.world.note(f"{self.process.name} pauses: {command.why}")
        self.process.computing.standing = True
        self.world.at(0, self.settled)

    def settled(self) -> None:
        """Says so when no micro-batch is under way any more."""
        process = self.process
        busy = any(e.busy for e in process.elements.values())
        if process.alive and process.computing.standing and not busy:
            process.post(on.Paused())

    def _resume(self, command: do.Resume) -> None:
        self.world.note(f"{self.process.name} resumes: {command.why}")
        self.cluster.monitor.resumed(self.process)
        self.process.computing.standing = False
        self.process.computing.kick_all()

    def _hand_over(self, command: do.HandOver) -> None:
        process, checkpoint = self.process, command.checkpoint
        rows, size = process.peers.rows(checkpoint, None) if checkpoint is not None else ({}, 0)
        target = self.cluster.processes[command.target]
        self.world.note(f"{process.name} hands over to {target.name}")
        self.cluster.monitor.handed_over(process)
        process.send(target, "checkpoints", size, "rx_hand_over", process, command.lease, checkpoint, rows)

    def rx_hand_over(
        self, by: Process, lease: LeaseRecord, checkpoint: Checkpoint | None, rows: dict[str, Any]
    ) -> None:
        self.process.peers.primary = by
        self.process.peers.shelves.take(rows)
        self.process.post(on.HandedOver(lease, checkpoint))
