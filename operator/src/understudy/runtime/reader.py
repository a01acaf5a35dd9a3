"""Pulls one stream from whichever instance of its producer serves it, and never gives up.

Where to ask, in order: the standby the last primary named (it lets the request wait until it is promoted), the address
that served last, then everyone the surroundings know.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight
import structlog

from understudy.runtime import wire
from understudy.runtime.clock import now_ms

log = structlog.get_logger()
RETRY_SECONDS = 0.05
WAITING_LIMIT = 20  # keep-alives without promotion before asking elsewhere


@dataclass(frozen=True, slots=True)
class Incoming:
    """One message of a stream."""

    rows: pa.Table
    epoch: int
    progress: int | None
    available: int  # the producer's next seq: how far there is to read
    end: int | None  # where the stream ends, once all of it was sent


class Handler:
    """What a reader reports to; implemented by the instance shell and by sinks."""

    def expected(self, stream: str) -> int | None:
        """The next seq wanted; None for the newest."""
        raise NotImplementedError

    def incoming(self, stream: str, message: Incoming) -> None:
        raise NotImplementedError

    def redirected(self, stream: str, epoch: int) -> None:
        """From here on a producer of this epoch is read."""

    def resumes(self, stream: str, released: int, start: int) -> None:
        """The producer no longer has what we want: it can only go on at `start`."""
        raise NotImplementedError


class StreamReader(threading.Thread):
    def __init__(
        self,
        stream: str,
        consumer: str,
        handler: Handler,
        addresses: Callable[[], list[str]],
        silence_ms: int,
        epoch: Callable[[], int] = lambda: 0,
        replica: bool = False,
    ) -> None:
        super().__init__(name=f"reader-{stream}", daemon=True)
        self.stream = stream
        self._consumer = consumer
        self._handler = handler
        self._addresses = addresses
        self._silence_ms = silence_ms
        self._epoch = epoch
        self._replica = replica  # a silent second reader: its positions are no acks
        self._stopping = threading.Event()
        self._call: flight.FlightStreamReader | None = None
        self._heard = now_ms()
        self._standby: str | None = None
        self._serving: str | None = None
        self._client: flight.FlightClient | None = None
        self.finished = False
        self.start_at_newest = False

    def run(self) -> None:
        while not self._stopping.is_set() and not self.finished:
            for address in self._candidates():
                if self._stopping.is_set() or self.finished or self._pull(address):
                    break
            else:
                self._stopping.wait(RETRY_SECONDS)

    def _candidates(self) -> Iterator[str]:
        known = dict.fromkeys(a for a in (self._standby, self._serving) if a)
        yield from known
        yield from (a for a in self._addresses() if a not in known)

    def _pull(self, address: str) -> bool:
        """Read from one address until that ends; True if it served at all."""
        served = False
        try:
            with wire.connect(address) as client:
                self._heard = now_ms()
                self._call = client.do_get(self._ticket())
                for waited, (rows, meta) in enumerate(_messages(self._call)):
                    self._heard = now_ms()
                    if meta.get("waiting"):
                        if waited >= WAITING_LIMIT:
                            return False
                        continue
                    if "refused" in meta:
                        log.info("refused", stream=self.stream, by=address, why=meta["refused"])
                        return False
                    if not served:
                        served, self._serving, self._client = True, address, client
                        log.info("reading", stream=self.stream, address=address, epoch=meta["epoch"])
                        self._handler.redirected(self.stream, meta["epoch"])
                    self._deliver(rows, meta)
                    if self._stopping.is_set() or self.finished:
                        return True
        except (flight.FlightError, pa.ArrowException, OSError) as error:
            log.debug("reading ended", stream=self.stream, address=address, error=str(error).split("\n")[0][:200])
        finally:
            self._client = self._call = None
        return served

    def _ticket(self) -> flight.Ticket:
        start = self._handler.expected(self.stream)
        return wire.ticket(
            "stream",
            stream=self.stream,
            consumer=self._consumer,
            start=start,
            epoch=self._epoch(),
            replica=self._replica,
        )

    def _deliver(self, rows: pa.Table, meta: dict[str, Any]) -> None:
        self._standby = meta.get("standby")
        if "resumes" in meta:
            self._handler.resumes(self.stream, meta["resumes"]["released"], meta["resumes"]["start"])
        message = Incoming(rows, meta["epoch"], meta.get("progress"), meta["next"], meta.get("end"))
        self._handler.incoming(self.stream, message)
        self.finished = message.end is not None

    def watch(self) -> None:
        """Called regularly by another thread: ends a call that has fallen silent."""
        call = self._call
        if call is not None and now_ms() - self._heard > self._silence_ms:
            log.info("producer silent", stream=self.stream, address=self._serving)
            call.cancel()

    def ack(self, acks: list[tuple[int, int]]) -> bool:
        """Send (level, position) pairs to the instance that serves us."""
        client = self._client
        if client is None:
            return False
        try:
            wire.do(client, "ack", 1.0, stream=self.stream, consumer=self._consumer, acks=acks, epoch=self._epoch())
        except (flight.FlightError, pa.ArrowException, StopIteration):
            return False
        return True

    def stop(self) -> None:
        self._stopping.set()
        call = self._call
        if call is not None:
            call.cancel()


def _messages(call: flight.FlightStreamReader) -> Iterator[tuple[pa.Table, dict[str, Any]]]:
    while True:
        try:
            chunk = call.read_chunk()
        except StopIteration:
            return
        yield pa.Table.from_batches([chunk.data]), wire.unpack(chunk.app_metadata)
