"""The secondary's end of the connection to its primary: keep-alives and checkpoints come, confirmations
go."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight
import structlog

from understudy.instance.checkpoints import Message, Unpacking, table_from_bytes
from understudy.instance.leases import lease_from_json
from understudy.protocol.contact import End, Verdict, verdict
from understudy.protocol.epochs import LeaseRecord
from understudy.streams import wire

log = structlog.get_logger()
SAY_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the follower reports."""

    alive: Callable[[int, dict[str, int], str | None, int], None]
    """Epoch, input positions, why the primary's engine stalls, for how long its output has stood still."""
    dictated: Callable[[dict[str, Any]], None]  # the settings that are in force
    checkpoint: Callable[[Message], None]
    permanent: Callable[
        [int, int, dict[str, int], dict[str, Any]], None
    ]  # epoch, number, how far extended, trees
    extension: Callable[
        [int, int, str, pa.Table], None
    ]  # epoch, number, stream, its input beyond the position
    handed: Callable[[LeaseRecord, Message | None], None]  # the primary wants to be succeeded; its live state
    trimming: Callable[
        [int, dict[str, dict[str, int]], dict[str, Any]], None
    ]  # epoch, high watermarks, trees
    determinants: Callable[[dict[str, Any]], None]  # the message
    ended: Callable[[Verdict], None]  # the connection, or the attempt to make one, is over


@dataclass(frozen=True, slots=True)
class Me:
    """Who follows."""

    name: str
    address: str
    mode: str


class Follower(threading.Thread):
    def __init__(
        self,
        primary: LeaseRecord,
        me: Me,
        interval: Callable[[], float],
        hooks: Hooks,
        unpacking: Unpacking,
        lock: AbstractContextManager[Any],
        stalled: Callable[[], str | None],
    ) -> None:
        """`stalled`: why our own engine stands still, for every word that we say."""
        super().__init__(name=f"follow-{primary.holder}", daemon=True)
        self.primary = primary
        self._me = me.name
        asking = {"instance": me.name, "address": me.address, "mode": me.mode, "engine": stalled()}
        self._ticket = wire.ticket("follow", **asking, epoch=primary.epoch)
        self._interval = interval
        self._hooks = hooks
        self._unpacking = unpacking
        self._stalled = stalled
        self._lock = lock  # held by whoever stops a follower: what it hears after that is not reported
        self._stopped = threading.Event()
        self._call: flight.FlightStreamReader | None = None
        self._heard = False  # whether this connection has carried a keep-alive
        self._words: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def run(self) -> None:
        with ExitStack() as open_until_told:  # to close a connection takes time, in which nobody would know
            self._follow_to_its_end(open_until_told)

    def _follow_to_its_end(self, kept: ExitStack) -> None:
        try:
            end = self._follow(kept.enter_context(wire.connect(self.primary.address)))
        except Exception as error:  # whatever a peer's message does here, the next attempt must follow
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
        """How it ended; None if it was stopped here."""
        self._call = client.do_get(self._ticket)
        threading.Thread(target=self._speak, name=f"speak-{self.primary.holder}", daemon=True).start()
        while not self._stopped.is_set():
            chunk = self._call.read_chunk()
            meta = wire.unpack(chunk.app_metadata)
            if "refused" in meta:
                return End.ANOTHER if meta.get("another") else End.NOT_PRIMARY
            with self._lock:
                if not self._stopped.is_set():
                    self._heard = True
                    still = meta.get("still", 0)
                    self._hooks.alive(meta["epoch"], meta.get("positions", {}), meta.get("engine"), still)
                    self._take(meta, chunk.data)
        return None

    def _take(self, meta: dict[str, Any], data: pa.RecordBatch) -> None:
        if "ha" in meta:
            self._hooks.dictated(meta["ha"])
        if "trimming" in meta:
            self._hooks.trimming(meta["epoch"], meta["trimming"], meta["trees"])
        if "determinants" in meta:
            self._hooks.determinants(meta)
        if "permanent" in meta:
            self._hooks.permanent(meta["epoch"], meta["permanent"], meta["extended"], meta["trees"])
        blobs = data.column(0).to_pylist()
        if "extends" in meta:
            self._hooks.extension(meta["epoch"], meta["number"], meta["extends"], table_from_bytes(blobs[0]))
        message = self._unpacking.take(meta, blobs)
        if "piece" in meta:
            return
        if "handOver" in meta:
            self._hooks.handed(lease_from_json(meta["handOver"]), message)
        elif message is not None:
            self._hooks.checkpoint(message)

    # --- what we say, off this thread: it waits for the primary

    def say(self, kind: str, **words: Any) -> None:
        self._words.put({"kind": kind, **words})

    def _speak(self) -> None:
        """Words in their order; where there are none, that we live."""
        with wire.connect(self.primary.address) as client:
            while not self._stopped.is_set():
                try:
                    words = self._words.get(timeout=self._interval())
                except queue.Empty:
                    words = {"kind": "beat"}
                while not self._said(client, words) and not self._stopped.wait(self._interval()):
                    pass

    def _said(self, client: flight.FlightClient, words: dict[str, Any]) -> bool:
        try:
            wire.do(client, timeout=SAY_SECONDS, instance=self._me, engine=self._stalled(), **words)
        except (flight.FlightError, pa.ArrowException, OSError, StopIteration, ValueError):
            return False
        return True

    def _report(self, found: Verdict) -> None:
        with self._lock:
            if not self._stopped.is_set():
                self._stopped.set()
                self._hooks.ended(found)

    def stop(self) -> None:
        self._stopped.set()
        if self._call is not None:
            self._call.cancel()
