"""Which of several operators acts: the one that holds the operators' Lease.

Clocks of two machines are never compared. A candidate takes the Lease if the Lease has not changed for
LEASE_MS on the candidate's own clock. The holder stops acting GIVE_UP_MS after it sent the last renewal that
was accepted. GIVE_UP_MS is shorter, so two operators never act at the same time, and none acts for at most
LEASE_MS plus the time between two looks. If leadership is interrupted, a new term begins: decisions of an
earlier term are not carried out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

LEASE_MS: Final = 5_000
GIVE_UP_MS: Final = 4_000
LOOK_MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class LeaseRead:
    """The Lease as it was read."""

    holder: str | None
    version: str
    """Changes with every renewal."""


@dataclass(frozen=True, slots=True)
class Candidate:
    me: str
    seen: LeaseRead | None = None
    since_ms: int = 0
    """When the Lease was first read with this content."""
    renewed_ms: int | None = None
    """When the newest accepted renewal was sent."""
    term: int = 0
    """How often this operator has begun to lead."""

    def look(self, seen: LeaseRead, now_ms: int) -> Candidate:
        return self if seen == self.seen else replace(self, seen=seen, since_ms=now_ms)

    def renewed(self, seen: LeaseRead, sent_ms: int) -> Candidate:
        term = self.term + (not self.leads(sent_ms))
        return replace(self, seen=seen, since_ms=sent_ms, renewed_ms=sent_ms, term=term)

    def may_write(self, now_ms: int) -> bool:
        """Whether this operator may write the Lease: it is its own, nobody's, or was not renewed for so long
        that its holder has stopped acting."""
        if self.seen is None:
            return False
        return self.seen.holder in (None, self.me) or now_ms - self.since_ms >= LEASE_MS

    def leads(self, now_ms: int) -> bool:
        holds = self.seen is not None and self.seen.holder == self.me
        return holds and self.renewed_ms is not None and now_ms - self.renewed_ms < GIVE_UP_MS

    def leads_since(self, term: int, now_ms: int) -> bool:
        """Whether this operator leads, and has led without a break since this term began."""
        return self.term == term and self.leads(now_ms)
