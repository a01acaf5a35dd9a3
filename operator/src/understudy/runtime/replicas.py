"""Reads a stream whose producers are replicas (Xiao): from all of them at once, whichever tuple comes first is used."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from understudy.model.ha import Mode
from understudy.model.job import StreamJob
from understudy.modes.build import mode_of
from understudy.runtime.reader import Asking, Handler, Origin, Reading, StreamReader

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
    if producer is not None and mode_of(job, producer) is Mode.REPLICA_BACKUP:
        return ReplicaReader(asking, handler, addresses, silence_ms, origin)
    return StreamReader(asking, handler, addresses, silence_ms, origin)


class ReplicaReader(threading.Thread):
    """One reader for each replica that the surroundings know; before a position is known, one that finds it out."""

    def __init__(
        self,
        asking: Asking,
        handler: Handler,
        addresses: Callable[[], list[str]],
        silence_ms: int,
        origin: Origin,
    ) -> None:
        super().__init__(name=f"replicas-{asking.stream}", daemon=True)
        self._asking, self._handler, self._addresses = asking, handler, addresses
        self._silence_ms, self._origin = silence_ms, origin
        self._readers: dict[str | None, StreamReader] = {}
        self._stopping = threading.Event()

    def run(self) -> None:
        while not self._stopping.is_set():
            self._look()
            self._stopping.wait(LOOK_SECONDS)

    def _look(self) -> None:
        if (scout := self._readers.get(None)) is not None:
            self._origin = scout.origin
        knows_position = self._origin is Origin.POSITION
        known: list[str | None] = [*self._addresses()] if knows_position else [None]
        readers = dict(self._readers)
        for gone in [a for a in readers if a not in known]:
            readers.pop(gone).stop()
        for address in [a for a in known if a not in readers]:
            readers[address] = reader = self._reader(address)
            reader.start()
        self._readers = readers
        if self._stopping.is_set():
            self.stop()

    def _reader(self, address: str | None) -> StreamReader:
        origin = self._origin if address is None else Origin.POSITION
        return StreamReader(self._asking, self._handler, self._addresses, self._silence_ms, origin, only=address)

    @property
    def connections(self) -> int:
        return sum(reader.connections for reader in self._readers.values())

    def watch(self) -> None:
        for reader in self._readers.values():
            reader.watch()

    def ack(self, acks: Sequence[tuple[int, int]], tree: Any = None) -> bool:
        heard = [reader.ack(acks, tree) for reader in self._readers.values()]
        return all(heard)

    def stop(self) -> None:
        self._stopping.set()
        for reader in self._readers.values():
            reader.stop()
