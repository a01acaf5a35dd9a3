"""Savepoint recovery between simulated processes (Koldehofe, Figure 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.ids import Consumer, Stream
from understudy.protocol.savepoints import size as ack_size
from understudy_lab.simulation.world import MS

if TYPE_CHECKING:
    from understudy_lab.simulation.process import Process

AGAIN = 200 * MS


class Recovery:
    def __init__(self, process: Process) -> None:
        self.process, self.cluster, self.world = process, process.cluster, process.world
        self._asking: Process | None = None
        process.carry |= {
            do.RequestRecovery: self._request,
            do.AnswerRecovery: self._answer,
            do.NotifyRecovered: self._notify,
            do.ReportMovement: lambda c: self.cluster.control.papers.progressed(process),
        }

    def _request(self, command: do.RequestRecovery) -> None:
        self.cluster.monitor.recovery_asked(self.process, command.stream)
        self._ask_producers(command.stream)

    def _ask_producers(self, stream: str) -> None:
        for producer in self.cluster.producers(stream, self.process):
            self.process.send(producer, "control", 0, "rx_recovery_request", stream, self.process)
        self.world.at(AGAIN, self._ask_again, stream, self.process.generation)

    def _ask_again(self, stream: str, generation: int) -> None:
        """The network may have lost a request; a real connection would have said so."""
        process = self.process
        if process.alive and generation == process.generation and stream in process.core.unanswered:
            self._ask_producers(stream)

    def rx_recovery_request(self, stream: str, consumer: Process) -> None:
        self._asking = consumer
        self.process.post(on.RecoveryRequested(Stream(stream), Consumer(consumer.consumer)))

    def _answer(self, command: do.AnswerRecovery) -> None:
        if self._asking is not None:
            args = (command.stream, command.tree)
            self.process.send(self._asking, "control", ack_size(command.tree), "rx_recovery", *args)

    def rx_recovery(self, stream: str, tree: Any) -> None:
        self.cluster.monitor.recovery_answered(self.process, stream)
        self.process.post(on.RecoveryInformation(Stream(stream), tree))

    def _notify(self, command: do.NotifyRecovered) -> None:
        for consumer in self.cluster.consumers(command.stream):
            self.process.send(consumer, "control", 0, "rx_recovered", command.stream)

    def rx_recovered(self, stream: str) -> None:
        self.process.post(on.RecoveryNotified(Stream(stream)))
