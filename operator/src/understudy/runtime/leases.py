"""Lease traffic, off the path of data: one thread that tries, reads and watches, and reports what came of it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from typing import Any

import structlog

from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Epoch
from understudy.runtime.ports import Surroundings, Unreachable

log = structlog.get_logger()
WATCH_SECONDS = 1.0
RETRY_SECONDS = 0.2


class LeaseKeeper(threading.Thread):
    def __init__(
        self,
        surroundings: Surroundings,
        subjob: str,
        me: str,
        address: str,
        post: Callable[[on.LeaseSeen | on.LeaseWon], None],
        watching: Callable[[], bool],
    ) -> None:
        super().__init__(name="lease", daemon=True)
        self._at = surroundings
        self._subjob = subjob
        self._me = me
        self._address = address
        self._post = post
        self._watching = watching  # whether to look at the Lease unasked: while we lead
        self._orders: queue.SimpleQueue[tuple[int, do.TryLease | do.ReadLease] | None] = queue.SimpleQueue()
        self._withdrawals = 0

    def order(self, command: do.TryLease | do.ReadLease) -> None:
        self._orders.put((self._withdrawals, command))

    def withdraw(self) -> None:
        """Who stepped down has nothing to lead with: what it tried before, while the store was away, is not tried."""
        self._withdrawals += 1

    def run(self) -> None:
        while True:
            try:
                order = self._orders.get(timeout=WATCH_SECONDS)
            except queue.Empty:
                if self._watching():
                    self._attempt(do.ReadLease("to see whether it is still ours"))
                continue
            if order is None:
                return
            while not self._withdrawn(*order) and not self._attempt(order[1]):
                threading.Event().wait(RETRY_SECONDS)

    def _withdrawn(self, number: int, command: do.TryLease | do.ReadLease) -> bool:
        return isinstance(command, do.TryLease) and number < self._withdrawals

    def _attempt(self, command: do.TryLease | do.ReadLease) -> bool:
        try:
            self._post(self._carry_out(command))
        except Unreachable as error:
            log.warning("lease store unreachable", subjob=self._subjob, error=str(error))
            return False
        return True

    def _carry_out(self, command: do.TryLease | do.ReadLease) -> on.LeaseSeen | on.LeaseWon:
        if isinstance(command, do.TryLease):
            won = self._at.try_lease(self._subjob, command.expected, self._me, self._address)
            if won is not None:
                return on.LeaseWon(won)
        return on.LeaseSeen(self._at.read_lease(self._subjob))

    def stop(self) -> None:
        self._orders.put(None)


def lease_to_json(lease: LeaseRecord) -> dict[str, Any]:
    return {"holder": lease.holder, "address": lease.address, "epoch": lease.epoch}


def lease_from_json(value: Mapping[str, Any]) -> LeaseRecord:
    return LeaseRecord(value["holder"], value["address"], Epoch(value["epoch"]))
