"""How an order about the Lease is carried out, and its result: the real shell and the simulated one use this
function.

| order     | does                                                      | event for the core        |
|-----------|-----------------------------------------------------------|---------------------------|
| TryLease  | compare-and-set                                           | LeaseWon, or LeaseSeen    |
| the same with a question | first asks the others whether they hear the holder | HolderHeard, if one does |
| AskHolder | writes a question, then reads                             | LeaseSeen                 |
| ReadLease | reads; a holder that leads answers a question found there | LeaseSeen                 |

If the store can't be reached, it raises an exception that its shell recognises. Then nothing is known, not
even whether a write took place, and the same order is carried out again.
"""

from __future__ import annotations

from typing import Protocol, assert_never

from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.epochs import LeaseRecord

Order = do.TryLease | do.ReadLease | do.AskHolder
News = on.LeaseSeen | on.LeaseWon | on.HolderHeard


class LeaseStore(Protocol):
    """The Lease of one subjob, as one instance reaches it."""

    def read(self) -> LeaseRecord | None: ...

    def take(self, order: do.TryLease) -> LeaseRecord | None:
        """The new record, if the Lease was as the order expects (`order.condition`)."""

    def ask(self, expected: LeaseRecord) -> None: ...

    def answer(self) -> None: ...

    def heard(self, lease: LeaseRecord) -> str | None:
        """The name of another instance that hears the holder, if there is one."""


def carry_out(order: Order, store: LeaseStore, me: str, *, leads: bool) -> News:
    match order:
        case do.TryLease(expected):
            by = store.heard(expected) if expected is not None and expected.question is not None else None
            return on.HolderHeard(by) if by is not None else _try(order, store, me, leads)
        case do.AskHolder(expected):
            store.ask(expected)
            return _read(store, me, leads)
        case do.ReadLease():
            return _read(store, me, leads)
        case _:
            assert_never(order)


def _try(order: do.TryLease, store: LeaseStore, me: str, leads: bool) -> News:
    won = store.take(order)
    return on.LeaseWon(won) if won is not None else _read(store, me, leads)


def _read(store: LeaseStore, me: str, leads: bool) -> on.LeaseSeen:
    found = store.read()
    if found is not None and found.question is not None and found.holder == me and leads:
        store.answer()
    return on.LeaseSeen(found)
