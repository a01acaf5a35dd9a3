"""Coordinated backups on simulated machines: requests downstream, what a secondary keeps (Brettlecker §4.5,
§4.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.ids import Epoch, Range, Seq, Stream
from understudy.protocol.savepoints import Trees
from understudy_lab.simulation.element import Shelf

if TYPE_CHECKING:
    from understudy_lab.simulation.process import Process


class Backups:
    def __init__(self, process: Process) -> None:
        self.process, self.cluster = process, process.cluster
        process.carry |= {
            do.RequestBackup: self._request,
            do.CutAt: self._cut,
            do.KeepTemporary: self._keep_temporary,
            do.MakePermanent: self._make_permanent,
            do.ExtendBackup: self._extend,
        }

    def _request(self, command: do.RequestBackup) -> None:
        args = (command.stream, command.upto, self.process.core.epoch)
        for sub in self.process.outputs.subscriptions.values():
            if sub.stream == command.stream:
                self.process.send(sub.target, "control", self.cluster.id_size, "rx_backup_request", *args)

    def rx_backup_request(self, stream: Stream, upto: Seq, epoch: Epoch) -> None:
        self.process.post(on.BackupRequested(stream, upto, epoch))

    def _cut(self, command: do.CutAt) -> None:
        for element, i in self.process.computing.readers(command.stream):
            element.cuts[i] = int(command.at)

    def _keep_temporary(self, command: do.KeepTemporary) -> None:
        self.process.peers.shelves.keep_temporary(command.checkpoint)

    def _make_permanent(self, command: do.MakePermanent) -> None:
        if self.process.peers.secondary is not None:
            args = (command.epoch, command.number, command.extended, command.trees)
            self.process.send(
                self.process.peers.secondary, "acks", self.cluster.id_size, "rx_permanent", *args
            )

    def rx_permanent(self, epoch: Epoch, number: int, extended: Any, trees: Trees) -> None:
        self.process.post(on.PermanentRequested(epoch, number, extended, trees))

    def _extend(self, command: do.ExtendBackup) -> None:
        process = self.process
        if process.peers.secondary is None:
            return
        element, i = next(process.computing.readers(command.stream))
        rows = element.inbox[i].copy(int(command.range.start), int(command.range.stop))
        size = len(command.range) * self.cluster.tuple_size + self.cluster.id_size
        args = (command.epoch, command.number, command.stream, command.range, rows)
        process.send(process.peers.secondary, "checkpoints", size, "rx_extension", *args)

    def rx_extension(self, epoch: Epoch, number: int, stream: Stream, added: Range, rows: Shelf) -> None:
        self.process.peers.shelves.add(stream, rows)
        self.process.post(on.BackupExtended(epoch, number, stream, added))
