"""Reads a stream from the instance that serves it, or from all instances at once if they are replicas (Xiao):
each tuple is taken from the replica that delivers it first. The stream itself says whether its instances are
replicas, because a producer's mode may change during reading."""

from __future__ import annotations

import threading
from collections.abc import Callable

from understudy.model.ha import Mode
from understudy.model.job import StreamJob
from understudy.modes.build import mode_of
from understudy.protocol.peermessage import Origin
from understudy.protocol.savepoints import Tree
from understudy.streams.reader import Asking, Handler, Levels, Reading, StreamReader

LOOK_SECONDS = 0.2


def reading_of(
    job: StreamJob,
    asking: Asking,
    handler: Handler,
    addresses: Callable[[], list[str]],
    silence_ms: int,
    origin: Origin = Origin.POSITION,
) -> Reading:
    producer = job.subjob(asking.stream)
    replicated = producer is not None and mode_of(job, producer) is Mode.REPLICA_BACKUP
    return InstancesReader(asking, handler, addresses, silence_ms, origin, replicated)


class InstancesReader(threading.Thread):
    """One reader for each known replica. If there are no replicas, or before a position is known, one reader
    that finds the primary."""

    def __init__(
        self,
        asking: Asking,
        handler: Handler,
        addresses: Callable[[], list[str]],
        silence_ms: int,
        origin: Origin,
        replicated: bool,
    ) -> None:
        super().__init__(name=f"instances-{asking.stream}", daemon=True)
        self._asking, self._handler, self._addresses = asking, handler, addresses
        self._silence_ms, self._origin, self._replicated = silence_ms, origin, replicated
        self._readers: dict[str | None, StreamReader] = {}
        self._past = 0  # connections of readers that have ended
        self._stopping = threading.Event()

    def run(self) -> None:
        while not self._stopping.is_set():
            self._look()
            self._stopping.wait(LOOK_SECONDS)

    def _look(self) -> None:
        self._learn()
        from_all = self._replicated and self._origin is Origin.POSITION
        known: list[str | None] = [*self._addresses()] if from_all else [None]
        readers = dict(self._readers)
        for gone in [a for a in readers if a not in known]:
            self._past += readers[gone].connections
            readers.pop(gone).stop()
        for address in [a for a in known if a not in readers]:
            readers[address] = reader = self._reader(address)
            reader.start()
        self._readers = readers
        if self._stopping.is_set():
            self.stop()

    def _learn(self) -> None:
        if (scout := self._readers.get(None)) is not None:
            self._origin = scout.origin
        said = [r.replicated for r in self._readers.values() if r.replicated is not None]
        self._replicated = any(said) if said else self._replicated

    def _reader(self, address: str | None) -> StreamReader:
        origin = self._origin if address is None else Origin.POSITION
        return StreamReader(
            self._asking, self._handler, self._addresses, self._silence_ms, origin, only=address
        )

    @property
    def connections(self) -> int:
        return self._past + sum(reader.connections for reader in self._readers.values())

    @property
    def served_by(self) -> int | None:
        return max(
            (epoch for r in self._readers.values() if (epoch := r.served_by) is not None), default=None
        )

    def watch(self) -> None:
        for reader in self._readers.values():
            reader.watch()

    def ack(self, acks: Levels, tree: Tree | None = None, starved: int | None = None) -> bool:
        heard = [reader.ack(acks, tree, starved) for reader in self._readers.values()]
        return bool(heard) and all(heard)

    def stop(self) -> None:
        self._stopping.set()
        for reader in self._readers.values():
            reader.stop()
