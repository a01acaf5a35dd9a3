"""Reads one stream from the instance of its producer that serves it, and never gives up.

It tries addresses in this order: the standby that the last primary named (it lets the request wait until it
is promoted), the address that served last, then all that the surroundings know: first those that lead; only
if none does, the reader waits at one that may lead soon.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.flight as flight
import structlog

from understudy.process.clock import steady_ms
from understudy.protocol.ids import Consumer, Epoch, Seq, Stream
from understudy.protocol.peermessage import (
    Ack,
    Acked,
    Age,
    Batch,
    Origin,
    PeerMessage,
    Ping,
    Pong,
    Subscribe,
    SubscriptionRefused,
    Waiting,
)
from understudy.protocol.savepoints import Tree
from understudy.protocol.versioned import NotUnderstood
from understudy.protocol.watermarks import Step
from understudy.streams import wire
from understudy.streams.connection import connect

log = structlog.get_logger()
RETRY_SECONDS = 0.05
ACK_SECONDS = 1.0
WAITING_LIMIT = 20  # keep-alives without promotion before asking elsewhere


@dataclass(frozen=True, slots=True)
class Incoming:
    """One message of a stream."""

    rows: pa.Table
    epoch: int
    progress: int | None
    available: int  # the producer's next seq: the end of what can be read
    end: int | None  # the end of the stream, once all of it was sent
    mark: Step | None = None  # watermarks of its last tuple, where the producer forwards them
    # from this seq on, tuples differ from those that an earlier life of the producer sent
    anew: int | None = None
    share: int | None = None  # the most tuples that should be taken at a time, because the queue has a bound
    still_ms: int = 0  # how long the producer's output has stood still


class Handler:
    """Receives the reports of a reader; implemented by the instance's shell and by sinks."""

    def expected(self, stream: str) -> int:
        """The seq of the next tuple that is wanted."""
        raise NotImplementedError

    def mark(self, stream: str) -> Step | None:
        """The watermarks of the last tuple taken."""
        return None

    def ages(self, stream: str) -> tuple[Age, ...]:
        """How long ago a tuple or a sign of life came, by the epoch of the producer."""
        return ()

    def incoming(self, reader: StreamReader, message: Incoming) -> None:
        raise NotImplementedError

    def redirected(self, reader: StreamReader, epoch: int) -> None:
        """From here on a producer of this epoch is read."""

    def resumes(self, reader: StreamReader, released: int, start: int) -> None:
        """The producer no longer holds what is wanted: it can only continue at `start`."""
        raise NotImplementedError

    def replaced(self, reader: StreamReader, why: str) -> None:
        """A later life of this consumer has subscribed or acked. A subjob learns that from its Lease
        instead."""

    def behind(self, reader: StreamReader, end: int, lag_ms: int) -> None:
        """The current end of the stream, and the age of the oldest tuple that is not acked."""

    def backup_requested(self, reader: StreamReader, upto: int, epoch: int) -> None:
        """The producer asks for a backup at this position. A sink's acks are as good as a backup."""

    def held(self, reader: StreamReader, start: int, anew: int | None, released: int | None) -> None:
        """The producer holds the stream for this consumer from `start` on; from `anew` on, it differs from
        what an earlier life received. An earlier life is known to have released the tuples before
        `released`."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Asking:
    """The consumer that asks for a stream."""

    stream: str
    consumer: str
    epoch: Callable[[], int] = lambda: 0
    # a second reader that sends nothing: its positions are no acks
    is_replica: Callable[[], bool] = lambda: False


Levels = Sequence[tuple[int, int]]
"""Of an ack: pairs (level, position)."""


class Reading(Protocol):
    """A stream that is being read."""

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def watch(self) -> None:
        """Called regularly by another thread: ends a call that has fallen silent."""

    def ack(self, acks: Levels, tree: Tree | None = None, starved: int | None = None) -> bool:
        """Sends these acks to the producer that serves; False if they have to be sent again. `starved`: all
        tuples before it have arrived, and nothing can be released before more arrive."""

    @property
    def connections(self) -> int:
        """How many times a producer began to serve this consumer: a new one has not received earlier acks."""

    @property
    def served_by(self) -> int | None:
        """The epoch of the producer that serves now; None if the producer has been silent for too long."""


class StreamReader(threading.Thread):
    def __init__(
        self,
        asking: Asking,
        handler: Handler,
        addresses: Callable[[], list[str]],
        silence_ms: int,
        origin: Origin = Origin.POSITION,
        only: str | None = None,
    ) -> None:
        super().__init__(name=f"reader-{asking.stream}", daemon=True)
        self.stream = asking.stream
        self.connections = 0
        self.origin = origin
        self.finished = False
        # whether the producer that serves says that all its instances send
        self.replicated: bool | None = None
        self._asking = asking
        self._handler = handler
        self._addresses = addresses
        self._silence_ms = silence_ms
        self._only = only  # read from this address only
        self._stopping = threading.Event()
        self._call: flight.FlightStreamReader | None = None
        self._heard = steady_ms()
        self._delivering = False
        self._served_by: int | None = None
        self._standby: str | None = None
        self._serving: str | None = None
        self._dismissed = False  # whether the producer ended the last call, rather than a failure
        self._client: flight.FlightClient | None = None

    @property
    def stopped(self) -> bool:
        return self._stopping.is_set()

    def run(self) -> None:
        while not self.stopped and not self.finished:
            for address, patient in self._candidates():
                if self.stopped or self.finished or self._pull(address, patient):
                    break
            else:
                self._stopping.wait(RETRY_SECONDS)

    def _candidates(self) -> Iterator[tuple[str, bool]]:
        """The addresses to try, and whether to wait there until the instance leads."""
        if self._only is not None:
            yield self._only, True
            return
        if self._dismissed and self._serving:
            yield self._serving, False  # it ended the call by itself, so it is alive: perhaps it begins again
        known = dict.fromkeys(a for a in (self._standby, self._serving) if a)
        yield from ((a, True) for a in known)
        others = [a for a in self._addresses() if a not in known]
        yield from ((a, patient) for patient in (False, True) for a in others)

    def _pull(self, address: str, patient: bool) -> bool:
        """Reads from one address until that ends; True if it served at all."""
        served = self._dismissed = False
        client = connect(address)  # not closed here: acks may be on their way in another thread
        try:
            # a call can be cancelled only after it has begun, so a ping with a time-out goes first
            pinged = wire.say(client, Ping(), self._silence_ms / 1000)
            self._heard = steady_ms()
            meant = pinged.epoch if isinstance(pinged, Pong) else None
            if not patient and meant is None:
                return False
            self._call = client.do_get(wire.ticket(self._request(meant)))
            for waited, (rows, message) in enumerate(_messages(self._call)):
                self._heard = steady_ms()
                match message:
                    case Waiting():
                        if waited >= WAITING_LIMIT:
                            return False
                        continue
                    case SubscriptionRefused(why, replaced):
                        log.info("refused", stream=self.stream, by=address, why=why)
                        if replaced:
                            self._handler.replaced(self, why)
                        return False
                    case Batch():
                        if not served:
                            served = True
                            self._begin(address, client, message.epoch)
                        self._delivering = True
                        self._deliver(rows, message)
                        self._heard, self._delivering = steady_ms(), False
                    case _:
                        why = message.why if isinstance(message, NotUnderstood) else "it is no producer's"
                        log.error("message not understood", stream=self.stream, address=address, why=why)
                        return served
                if self.stopped or self.finished:
                    return True
            self._dismissed = served
        except (flight.FlightError, pa.ArrowException, OSError, StopIteration) as error:
            log.debug(
                "reading ended", stream=self.stream, address=address, error=str(error).split("\n")[0][:200]
            )
        except Exception:  # whatever a producer's message causes here, another attempt must follow
            log.exception(
                "a message of the producer could not be handled", stream=self.stream, address=address
            )
        finally:
            if self._call is not None:
                self._call.cancel()
            self._client = self._call = self.replicated = self._served_by = None
            self._delivering = False
        return served

    def _begin(self, address: str, client: flight.FlightClient, epoch: int) -> None:
        log.info("reading", stream=self.stream, address=address, epoch=epoch)
        self._serving, self._client = address, client
        self.connections += 1
        self._handler.redirected(self, epoch)

    def _request(self, meant: Epoch | None) -> Subscribe:
        at_position = self.origin is Origin.POSITION
        return Subscribe(
            stream=Stream(self.stream),
            consumer=Consumer(self._asking.consumer),
            origin=self.origin,
            start=Seq(self._handler.expected(self.stream)) if at_position else None,
            mark=self._handler.mark(self.stream) if at_position else None,
            epoch=Epoch(self._asking.epoch()),
            replica=self._asking.is_replica(),
            ages=self._handler.ages(self.stream),
            meant=meant,
        )

    def _deliver(self, rows: pa.Table, said: Batch) -> None:
        self._standby, self._served_by, self.replicated = said.standby, said.epoch, said.replicas
        if said.resumes is not None:
            self._handler.resumes(self, said.resumes.released, said.resumes.start)
            self.origin = Origin.POSITION
        if said.held is not None:
            self._handler.held(self, said.held.start, said.held.diverged_at, said.held.released)
            self.origin = Origin.POSITION
        message = Incoming(
            rows,
            said.epoch,
            said.progress,
            available=said.next,
            end=said.end,
            mark=said.mark,
            anew=said.diverged_at,
            share=said.share,
            still_ms=said.still_ms,
        )
        self._handler.incoming(self, message)
        if said.backup is not None:
            self._handler.backup_requested(self, said.backup, said.epoch)
        self.finished = said.end is not None

    @property
    def served_by(self) -> int | None:
        return self._served_by if steady_ms() - self._heard <= self._silence_ms else None

    def watch(self) -> None:
        """While a message is handled here, as on a slow disk, nothing is known of the producer."""
        call = self._call
        if call is not None and not self._delivering and steady_ms() - self._heard > self._silence_ms:
            log.info("producer silent", stream=self.stream, address=self._serving)
            call.cancel()

    def ack(self, acks: Levels, tree: Tree | None = None, starved: int | None = None) -> bool:
        client, asking = self._client, self._asking
        if client is None:
            return False
        said = Ack(
            stream=Stream(self.stream),
            consumer=Consumer(asking.consumer),
            levels=tuple((level, Seq(upto)) for level, upto in acks),
            epoch=Epoch(asking.epoch()),
            tree=tree,
            starved=Seq(starved) if starved is not None else None,
            ages=self._handler.ages(self.stream),
        )
        try:
            answer = wire.say(client, said, ACK_SECONDS)
        except (flight.FlightError, pa.ArrowException, StopIteration):
            return False
        if not isinstance(answer, Acked):
            return False
        if answer.replaced is not None:
            self._handler.replaced(self, answer.replaced)
        if answer.end is not None:
            self._handler.behind(self, answer.end, answer.lag_ms)
        return True

    def stop(self) -> None:
        self._stopping.set()
        call = self._call
        if call is not None:
            call.cancel()


def _messages(call: flight.FlightStreamReader) -> Iterator[tuple[pa.Table, PeerMessage | NotUnderstood]]:
    while True:
        try:
            chunk = call.read_chunk()
        except StopIteration:
            return
        yield pa.Table.from_batches([chunk.data]), wire.read(chunk.app_metadata)
