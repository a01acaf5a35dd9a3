"""The secondary's end of the connection to its primary: keep-alives and checkpoints come, confirmations go."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight
import structlog

from understudy.protocol.epochs import LeaseRecord
from understudy.runtime import wire
from understudy.runtime.checkpoints import Message, decode

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the follower reports."""

    alive: Callable[[int, dict[str, int]], None]  # epoch, the primary's input positions
    checkpoint: Callable[[Message], bool]  # True: stored, confirm it
    trimming: Callable[[int, dict[str, dict[str, int]]], None]  # epoch, high watermarks per output
    closed: Callable[[], None]  # the primary's process is gone
    refused: Callable[[], None]  # it is no primary (any more)


class Follower(threading.Thread):
    def __init__(self, primary: LeaseRecord, me: str, my_address: str, hooks: Hooks) -> None:
        super().__init__(name=f"follow-{primary.holder}", daemon=True)
        self.primary = primary
        self._ticket = wire.ticket("follow", instance=me, address=my_address, epoch=primary.epoch)
        self._hooks = hooks
        self._stopped = False
        self._call: flight.FlightStreamReader | None = None
        self._client: flight.FlightClient | None = None

    def run(self) -> None:
        try:
            with wire.connect(self.primary.address) as client:
                self._follow(client)
        except flight.FlightUnavailableError as error:
            log.info("primary gone", primary=self.primary.holder, error=str(error).split("\n")[0][:160])
            self._report(self._hooks.closed)
        except (flight.FlightError, pa.ArrowException, OSError, StopIteration) as error:
            log.info("following ended", primary=self.primary.holder, error=str(error).split("\n")[0][:160])
            self._report(self._hooks.refused)

    def _follow(self, client: flight.FlightClient) -> None:
        self._call, self._client = client.do_get(self._ticket), client
        while not self._stopped:
            chunk = self._call.read_chunk()
            meta = wire.unpack(chunk.app_metadata)
            if "refused" in meta:
                return self._report(self._hooks.refused)
            if not self._stopped:
                self._hooks.alive(meta["epoch"], meta.get("positions", {}))
                self._take(client, meta, chunk.data)

    def _take(self, client: flight.FlightClient, meta: dict[str, Any], data: pa.RecordBatch) -> None:
        if "trimming" in meta:
            self._hooks.trimming(meta["epoch"], meta["trimming"])
        if "header" not in meta:
            return
        message = decode(meta["header"], data.column(0).to_pylist())
        if self._hooks.checkpoint(message):
            at = message.checkpoint
            wire.do(client, "stored", 2.0, epoch=at.epoch, number=at.number)

    def report(self, epoch: int, positions: dict[str, int]) -> None:
        """Say how far we have come; off this thread, which waits for the primary. Lost words are said again."""
        threading.Thread(target=self._say, args=(epoch, positions), daemon=True).start()

    def _say(self, epoch: int, positions: dict[str, int]) -> None:
        client = self._client
        if client is not None:
            with contextlib.suppress(flight.FlightError, pa.ArrowException, StopIteration):
                wire.do(client, "progress", 1.0, epoch=epoch, positions=positions)

    def _report(self, hook: Callable[[], None]) -> None:
        if not self._stopped:
            hook()

    def stop(self) -> None:
        self._stopped = True
        if self._call is not None:
            self._call.cancel()
