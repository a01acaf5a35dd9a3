"""The secondary's end of the connection to its primary: it receives keep-alives and checkpoints, and sends
confirmations."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from typing import Any, Protocol, assert_never

import pyarrow as pa
import pyarrow.flight as flight
import structlog

from understudy.instance.checkpointformat import Unpacking, table_from_bytes
from understudy.instance.checkpoints import Message
from understudy.protocol.contact import End, Verdict, verdict
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.peermessage import (
    Beat,
    Determinants,
    Extension,
    Follow,
    FollowRefused,
    FromSecondary,
    HandOver,
    InForce,
    KeepAlive,
    MakePermanent,
    PeerMessage,
    Piece,
    Said,
    Shipped,
    Trimming,
)
from understudy.protocol.versioned import NotUnderstood
from understudy.streams import wire
from understudy.streams.connection import connect

log = structlog.get_logger()
SAY_SECONDS = 1.0


class Listener(Protocol):
    """Receives what a follower hears. Called under the lock."""

    def alive(self, said: Said) -> None:
        """A sign of life. The call for its content follows."""

    def told(self, said: InForce | Trimming | Determinants | MakePermanent) -> None: ...
    def extension(self, said: Extension, rows: pa.Table) -> None: ...
    def checkpoint(self, message: Message) -> None: ...
    def handed_over(self, lease: LeaseRecord, message: Message | None) -> None:
        """The primary asks to be succeeded. `message`: its live state, if this instance has none."""

    def ended(self, found: Verdict) -> None:
        """The connection, or the attempt to connect, has ended."""


@dataclass(frozen=True, slots=True)
class Me:
    """The instance that follows."""

    name: str
    address: str
    mode: str


class Follower(threading.Thread):
    def __init__(
        self,
        primary: LeaseRecord,
        me: Me,
        interval: Callable[[], float],
        listener: Listener,
        unpacking: Unpacking,
        lock: AbstractContextManager[Any],
        stalled: Callable[[], str | None],
    ) -> None:
        """`stalled`: why this instance's own engine has stalled; sent with every message."""
        super().__init__(name=f"follow-{primary.holder}", daemon=True)
        self.primary = primary
        self._me = me.name
        self._request = Follow(
            instance=me.name, address=me.address, mode=me.mode, epoch=primary.epoch, stalled=stalled()
        )
        self._interval = interval
        self._listener = listener
        self._unpacking = unpacking
        self._stalled = stalled
        # held while a follower is stopped: messages that arrive after that are not reported
        self._lock = lock
        self._stopped = threading.Event()
        self._call: flight.FlightStreamReader | None = None
        self._heard = False  # whether this connection has carried a keep-alive
        self._words: queue.SimpleQueue[FromSecondary] = queue.SimpleQueue()

    def run(self) -> None:
        with ExitStack() as open_until_told:  # closing a connection takes time: the end is reported before
            self._follow_to_its_end(open_until_told)

    def _follow_to_its_end(self, kept: ExitStack) -> None:
        try:
            end = self._follow(kept.enter_context(connect(self.primary.address)))
        except Exception as error:  # whatever a message of the peer causes here, the next attempt must follow
            end = self._noted(wire.end_of(error), error)
        if end is not None:
            self._report(verdict(end, heard=self._heard))

    def _noted(self, end: End, error: Exception) -> End:
        if end is End.BROKEN:
            log.error(
                "a message of the primary could not be handled", primary=self.primary.holder, exc_info=error
            )
        said = str(error).split("\n")[0][:160]
        log.info("following ended", primary=self.primary.holder, heard=self._heard, end=end.value, error=said)
        return end

    def _follow(self, client: flight.FlightClient) -> End | None:
        """How the connection ended; None if it was stopped from here."""
        self._call = client.do_get(wire.ticket(self._request))
        threading.Thread(target=self._speak, name=f"speak-{self.primary.holder}", daemon=True).start()
        while not self._stopped.is_set():
            chunk = self._call.read_chunk()
            said = wire.read(chunk.app_metadata)
            if isinstance(said, FollowRefused):
                return End.ANOTHER if said.another else End.NOT_PRIMARY
            if not isinstance(said, Said):
                return self._not_understood(said)
            with self._lock:
                if not self._stopped.is_set():
                    self._heard = True
                    self._listener.alive(said)
                    broken = self._take(said, chunk.data.column(0).to_pylist())
                    if broken is not None:
                        return self._not_understood(broken)
        return None

    def _not_understood(self, said: PeerMessage | NotUnderstood) -> End:
        why = said.why if isinstance(said, NotUnderstood) else "it is no primary's"
        log.error("message not understood", primary=self.primary.holder, why=why)
        return End.BROKEN

    def _take(self, said: Said, blobs: list[bytes]) -> NotUnderstood | None:
        found = self._unpacking.finish(blobs) if isinstance(said, Shipped | HandOver) and blobs else None
        match said:
            case _ if isinstance(found, NotUnderstood):
                return found
            case KeepAlive():
                pass
            case InForce() | Trimming() | Determinants() | MakePermanent():
                self._listener.told(said)
            case Extension():
                self._listener.extension(said, table_from_bytes(blobs[0]))
            case Piece():
                self._unpacking.add(said, blobs)
            case Shipped():
                if found is not None:
                    self._listener.checkpoint(found)
            case HandOver():
                self._listener.handed_over(said.lease, found)
            case _:
                assert_never(said)
        return None

    # --- what this instance sends, from its own thread, because sending waits for the primary

    def say(self, word: FromSecondary) -> None:
        self._words.put(word)

    def _speak(self) -> None:
        """Sends messages in their order, and a keep-alive when there is none."""
        with connect(self.primary.address) as client:
            while not self._stopped.is_set():
                try:
                    word = self._words.get(timeout=self._interval())
                except queue.Empty:
                    word = Beat()
                while not self._said(client, word) and not self._stopped.wait(self._interval()):
                    pass

    def _said(self, client: flight.FlightClient, word: FromSecondary) -> bool:
        try:
            wire.say(client, replace(word, instance=self._me, stalled=self._stalled()), SAY_SECONDS)
        except (flight.FlightError, pa.ArrowException, OSError, StopIteration, ValueError):
            return False
        return True

    def _report(self, found: Verdict) -> None:
        with self._lock:
            if not self._stopped.is_set():
                self._stopped.set()
                self._listener.ended(found)

    def stop(self) -> None:
        self._stopped.set()
        if self._call is not None:
            self._call.cancel()
