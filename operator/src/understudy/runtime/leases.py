"""Lease traffic, off the path of data: one thread that tries, reads and watches, and reports what came of it.

While this instance leads, it looks at the Lease every second, and answers a question that it finds there. While its
engine stands still it lets others try first; if none does, it may be the last that has the state."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, assert_never
from uuid import uuid4

import structlog

from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Epoch
from understudy.runtime.ports import Surroundings, Unreachable

log = structlog.get_logger()
WATCH_SECONDS = 1.0
RETRY_SECONDS = 0.2
LAST_SECONDS = 2.0

Order = do.TryLease | do.ReadLease | do.AskHolder
News = on.LeaseSeen | on.LeaseWon | on.HolderHeard


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
        self._at = surroundings
        self._subjob = subjob
        self._me = me
        self._address = address
        self._post = post
        self._watching = watching  # whether to look at the Lease unasked: while we lead
        self._heard = heard  # who else hears the holder
        self._unfit = unfit  # why this instance could not serve
        self._orders: queue.SimpleQueue[tuple[int, Order] | None] = queue.SimpleQueue()
        self._withdrawals = 0

    def order(self, command: Order) -> None:
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
            if isinstance(order[1], do.TryLease) and self._unfit() is not None:
                self._let_others_try(order[0], order[1])
            while not self._withdrawn(*order) and not self._attempt(order[1]):
                threading.Event().wait(RETRY_SECONDS)

    def _withdrawn(self, number: int, command: Order) -> bool:
        return isinstance(command, do.TryLease) and number < self._withdrawals

    def _let_others_try(self, number: int, command: do.TryLease) -> None:
        """Until one of them holds the Lease, or LAST_SECONDS have passed."""
        for _ in range(round(LAST_SECONDS / RETRY_SECONDS)):
            with suppress(Unreachable):
                if self._at.read_lease(self._subjob) != command.expected:
                    return
            if self._unfit() is None or self._withdrawn(number, command):
                return
            threading.Event().wait(RETRY_SECONDS)

    def _attempt(self, command: Order) -> bool:
        try:
            self._post(self._carry_out(command))
        except Unreachable as error:
            log.warning("lease store unreachable", subjob=self._subjob, error=str(error))
            return False
        return True

    def _carry_out(self, command: Order) -> News:
        match command:
            case do.TryLease(expected) if expected is not None and expected.question is not None:
                by = self._heard(expected)
                return on.HolderHeard(by) if by is not None else self._try(expected)
            case do.TryLease(expected):
                return self._try(expected)
            case do.AskHolder(expected, why):
                log.info("asking the holder", subjob=self._subjob, holder=expected.holder, why=why)
                self._at.ask_holder(self._subjob, expected, f"{self._me} {uuid4().hex[:8]}")
                return self._read()
            case do.ReadLease():
                return self._read()
            case _:
                assert_never(command)

    def _try(self, expected: LeaseRecord | None) -> on.LeaseSeen | on.LeaseWon:
        won = self._at.try_lease(self._subjob, expected, self._me, self._address)
        return on.LeaseWon(won) if won is not None else self._read()

    def _read(self) -> on.LeaseSeen:
        found = self._at.read_lease(self._subjob)
        if found is not None and found.question is not None and found.holder == self._me and self._watching():
            log.info("answering a question in the lease", subjob=self._subjob, question=found.question)
            self._at.answer(self._subjob)
        return on.LeaseSeen(found)

    def stop(self) -> None:
        self._orders.put(None)


def lease_to_json(lease: LeaseRecord) -> dict[str, Any]:
    return {"holder": lease.holder, "address": lease.address, "epoch": lease.epoch}


def lease_from_json(value: Mapping[str, Any]) -> LeaseRecord:
    return LeaseRecord(value["holder"], value["address"], Epoch(value["epoch"]))
