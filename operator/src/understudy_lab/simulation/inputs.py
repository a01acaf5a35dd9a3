"""A simulated process's connections to those who serve its inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.ids import Consumer, Epoch, Range, Seq, Stream
from understudy.protocol.savepoints import size as ack_size
from understudy.protocol.watermarks import Step
from understudy_lab.simulation.endpoint import HELD, Endpoint
from understudy_lab.simulation.made_up_operators import Row

if TYPE_CHECKING:
    from understudy_lab.simulation.cluster import Folder
    from understudy_lab.simulation.process import Process


@dataclass(slots=True)
class Connection:
    start: int | None
    targets: dict[str, int] = field(default_factory=dict)  # producer's name: when it last spoke, or was asked
    heard: dict[str, int] = field(default_factory=dict)  # producer's name: when it last spoke
    answered: bool = False
    not_before: int = 0


class Inputs:
    def __init__(self, process: Process) -> None:
        self.process, self.cluster, self.world = process, process.cluster, process.world
        self.connections: dict[str, Connection] = {}
        self._arriving: tuple[int, list[Row | None], Epoch] = (0, [], Epoch(0))
        process.carry |= {
            do.ReadInput: lambda c: self._connect(c.stream, c.start),
            do.Replay: lambda c: self._connect(c.stream, HELD),
            do.Take: self._take,
            do.Skip: self._skip,
            do.SendAck: self._send_ack,
        }

    def close(self) -> None:
        self.connections = {}

    def speak(self) -> None:
        """As a silent second reader it was heard by no roll call: now it leads, and asks again."""
        for connection in self.connections.values():
            connection.targets.clear()

    def _received(self, stream: str) -> Seq:
        return self.process.core.ledger.received(Stream(stream))

    @property
    def folder(self) -> Folder | None:
        """As a sink: where it writes."""
        return self.cluster.folders.get(self.process.spec.name)

    def _is_ours(self) -> bool:
        """A sink whose folder was taken by a later life writes no more, and speaks for the sink no more."""
        if self.folder is None or self.folder.owner is self.process:
            return True
        self.world.note(f"{self.process.name} ends: the folder is another's")
        self.process.crash()
        return False

    # --- connections

    def _connect(self, stream: str, start: int | None) -> None:
        delay = self.cluster.redirect if self.process.core.epoch > 1 or start == HELD else 0
        connection = Connection(start, not_before=self.world.now + delay)
        self.connections[stream] = connection
        self.cluster.monitor.asked(self.process, stream, start if start is None or start >= 0 else None)
        self.world.at(delay, self._watch, stream, connection)

    def watch(self) -> None:
        for stream, connection in list(self.connections.items()):
            self._watch(stream, connection)

    def _watch(self, stream: str, connection: Connection) -> None:
        """Keep a subscription with whoever serves the stream now."""
        now = self.world.now
        if (
            self.connections.get(stream) is not connection
            or now < connection.not_before
            or not self.process.alive
        ):
            return
        patience = self.cluster.patience if connection.answered else 4 * self.cluster.patience
        for producer in self.cluster.producers(stream, self.process):
            spoke = connection.targets.get(producer.name)
            if spoke is None or (self.cluster.lossy and now - spoke > patience):
                self._subscribe(stream, connection, producer)

    def _subscribe(self, stream: str, connection: Connection, producer: Endpoint) -> None:
        process, core = self.process, self.process.core
        if not self._is_ours():
            return
        connection.targets[producer.name] = self.world.now
        start = int(core.goes_on_from(Stream(stream))) if connection.answered else connection.start
        mark = (
            core.neighbours.mark_of(Stream(stream), Seq(start)) if start is not None and start >= 0 else None
        )
        asked = self.cluster.epoch_of(stream)
        process.post(on.Redirected(Stream(stream), asked))
        args = (stream, process.consumer, process, start, mark, process.epoch)
        process.send(producer, "control", 0, "rx_subscribe", *args, *((asked,) if asked else ()))

    def hears(self, stream: str, producer: str) -> bool:
        connection = self.connections.get(stream)
        spoke = connection.heard.get(producer) if connection is not None else None
        return spoke is not None and self.world.now - spoke <= self.cluster.patience

    def rx_held(
        self, stream: str, start: int, by: str, anew: Seq | None = None, released: Seq | None = None
    ) -> None:
        connection = self.connections.get(stream)
        if connection is not None and not connection.answered and connection.start == HELD:
            connection.answered = True
            self.cluster.monitor.answered(self.process, stream, start)
            self.process.post(on.Released(Stream(stream), Seq(start), anew, released))

    def rx_resumes(self, stream: str, released: int, start: int, by: str) -> None:
        connection = self.connections.get(stream)
        if connection is None or (not connection.answered and connection.start == HELD):
            return  # meant for an earlier life
        connection.answered = True
        self.cluster.monitor.answered(self.process, stream, start)
        if connection.start is None or start > self._received(stream):
            self.process.post(on.Resumes(Stream(stream), Seq(released), Seq(start)))
            self.process.outputs.align()

    def rx_bye(self, stream: str, by: str) -> None:
        if stream in self.connections:
            self.connections[stream].targets.pop(by, None)

    def rx_replaced(self, stream: str, by: str) -> None:
        """A later life of this consumer has spoken to the producer. A subjob hears of that from its Lease."""
        self.rx_bye(stream, by)
        if self.process.spec.family == "sink":
            self.process.crash()

    def rx_alive(self, stream: str, by: str, position: int, ended: bool) -> None:
        connection = self.connections.get(stream)
        if connection is None or by not in connection.targets:
            return
        knows = connection.answered or connection.start not in (HELD, None)
        unaware = ended and any(e.ends[i] is None for e, i in self.process.computing.readers(stream))
        if position > self._received(stream) or not knows or unaware:
            del connection.targets[by]  # tuples, their end, or the answer were lost on the way: ask again
            return
        connection.targets[by] = connection.heard[by] = self.world.now

    # --- tuples

    def rx_data(
        self,
        stream: str,
        start: int,
        rows: list[Row | None],
        epoch: Epoch,
        mark: Step | None,
        end: int | None,
        by: str,
        anew: Seq | None = None,
    ) -> None:
        connection = self.connections.get(stream)
        if connection is None or (not connection.answered and connection.start in (HELD, None)):
            return  # meant for an earlier life: this one waits to be told where it starts
        if not connection.answered:
            connection.answered = True
            self.cluster.monitor.answered(self.process, stream, start)
        if start > self._received(stream):
            connection.targets.pop(by, None)
            return
        if by in connection.targets:
            connection.targets[by] = connection.heard[by] = self.world.now
        self._arriving = (start, rows, epoch)
        self.process.post(
            on.Arrived(Stream(stream), Range(Seq(start), Seq(start + len(rows))), epoch, mark, anew)
        )
        self.process.outputs.align()
        admitted = self.process.core.ledger.admits(Stream(stream), epoch)
        if end is not None and admitted and self._received(stream) >= end:
            self.process.computing.ends(stream, end)

    def _take(self, command: do.Take) -> None:
        start, rows, epoch = self._arriving
        new = rows[command.range.start - start : command.range.stop - start]
        if not self._is_ours():
            return
        if self.folder is not None:
            self.folder.next = max(self.folder.next, command.range.start + len(new))
        self.cluster.monitor.delivered(self.process, command.stream, command.range.start, new, epoch)
        self.process.computing.arrived(command.stream, command.range.start, new)

    def _skip(self, command: do.Skip) -> None:
        self.cluster.monitor.skipped(self.process, command)
        for element, i in self.process.computing.readers(command.stream):
            if command.element in (None, element.name):
                element.jump(i, command.to)

    # --- acks

    def _send_ack(self, command: do.SendAck) -> None:
        process, stream = self.process, command.stream
        if stream in process.elements:
            for reader, _ in list(process.computing.readers(stream)):
                by = Consumer(reader.name)
                process.post(on.Acked(stream, by, command.level, command.upto, process.core.epoch))
            return
        self.cluster.monitor.acked(process, command)
        size = self.cluster.id_size if command.tree is None else ack_size(command.tree)
        args = (stream, Consumer(process.consumer), command.level, command.upto, process.epoch, command.tree)
        for producer in self.cluster.producers(stream, process):
            process.send(producer, "acks", size, "rx_ack", *args)
