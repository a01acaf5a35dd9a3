"""Lease traffic, apart from the path of data: one thread tries, reads and watches the Lease, and reports the
results.

While this instance leads, it reads the Lease every second, and answers a question that it finds there. While
its engine has stalled, it lets other instances try first; if none does, it may be the only one with the
state.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from uuid import uuid4

import structlog

from understudy.process.ports import Surroundings, Unreachable
from understudy.protocol import commands as do
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.leasing import News, Order, carry_out

log = structlog.get_logger()
WATCH_SECONDS = 1.0
RETRY_SECONDS = 0.2
LAST_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _Store:
    """The subjob's Lease, reached through the surroundings."""

    surroundings: Surroundings
    subjob: str
    me: str
    address: str
    heard: Callable[[LeaseRecord], str | None]

    def read(self) -> LeaseRecord | None:
        return self.surroundings.read_lease(self.subjob)

    def take(self, order: do.TryLease) -> LeaseRecord | None:
        return self.surroundings.try_lease(self.subjob, order.condition(self.me), self.me, self.address)

    def ask(self, expected: LeaseRecord) -> None:
        log.info("asking the holder", subjob=self.subjob, holder=expected.holder)
        self.surroundings.ask_holder(self.subjob, expected, f"{self.me} {uuid4().hex[:8]}")

    def answer(self) -> None:
        log.info("answering a question in the lease", subjob=self.subjob)
        self.surroundings.answer(self.subjob)


class LeaseKeeper(threading.Thread):
    def __init__(
        self,
        surroundings: Surroundings,
        subjob: str,
        me: str,
        address: str,
        post: Callable[[News], None],
        watching: Callable[[], bool],
        heard: Callable[[LeaseRecord], str | None] = lambda _: None,
        unfit: Callable[[], str | None] = lambda: None,
    ) -> None:
        super().__init__(name="lease", daemon=True)
        # `heard`: which other instance hears the holder
        self._store = _Store(surroundings, subjob, me, address, heard)
        self._post = post
        self._watching = watching  # whether to read the Lease regularly: while this instance leads
        self._unfit = unfit  # why this instance could not serve
        self._orders: queue.SimpleQueue[tuple[int, Order] | None] = queue.SimpleQueue()
        self._withdrawals = 0

    def order(self, command: Order) -> None:
        self._orders.put((self._withdrawals, command))

    def withdraw(self) -> None:
        """Cancels attempts to take the Lease that are still waiting, for example while the store is
        unreachable: an instance that stepped down has no state to lead with."""
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
            if isinstance(order[1], do.TryLease) and self._unfit() is not None:
                self._let_others_try(order[0], order[1])
            while not self._withdrawn(*order) and not self._attempt(order[1]):
                threading.Event().wait(RETRY_SECONDS)

    def _withdrawn(self, number: int, command: Order) -> bool:
        return isinstance(command, do.TryLease) and number < self._withdrawals

    def _let_others_try(self, number: int, command: do.TryLease) -> None:
        """Waits until one of them holds the Lease, or LAST_SECONDS have passed."""
        for _ in range(round(LAST_SECONDS / RETRY_SECONDS)):
            with suppress(Unreachable):
                if self._store.read() != command.expected:
                    return
            if self._unfit() is None or self._withdrawn(number, command):
                return
            threading.Event().wait(RETRY_SECONDS)

    def _attempt(self, command: Order) -> bool:
        try:
            self._post(carry_out(command, self._store, self._store.me, leads=self._watching()))
        except Unreachable as error:
            log.warning("lease store unreachable", subjob=self._store.subjob, error=str(error))
            return False
        return True

    def stop(self) -> None:
        self._orders.put(None)
