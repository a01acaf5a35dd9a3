"""Which of several operators acts: the holder of a Lease of their own.

Clocks of two machines are never compared. A candidate takes the Lease when it has not seen it change for
LEASE_MS by its own clock; the holder counts itself out GIVE_UP_MS after it sent its last renewal that was
accepted. The second is shorter, so there is never a moment with two leaders, and at most LEASE_MS and a look
without one. A leadership that was interrupted is another term when it goes on: what was decided in an earlier
term is not carried out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

LEASE_MS: Final = 5_000
GIVE_UP_MS: Final = 4_000
LOOK_MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Sight:
    """The Lease as it was read."""

    holder: str | None
    version: str
    """Changes with every renewal."""


@dataclass(frozen=True, slots=True)
class Candidate:
    me: str
    seen: Sight | None = None
    since_ms: int = 0
    """When the Lease was first seen like this."""
    renewed_ms: int | None = None
    """When the newest renewal that was accepted had been sent."""
    term: int = 0
    """Counts the times that we began to lead."""

    def look(self, seen: Sight, now_ms: int) -> Candidate:
        return self if seen == self.seen else replace(self, seen=seen, since_ms=now_ms)

    def renewed(self, seen: Sight, sent_ms: int) -> Candidate:
        term = self.term + (not self.leads(sent_ms))
        return replace(self, seen=seen, since_ms=sent_ms, renewed_ms=sent_ms, term=term)

    def may_write(self, now_ms: int) -> bool:
        """Ours, nobody's, or not renewed for so long that its holder has counted itself out."""
        if self.seen is None:
            return False
        return self.seen.holder in (None, self.me) or now_ms - self.since_ms >= LEASE_MS

    def leads(self, now_ms: int) -> bool:
        holds = self.seen is not None and self.seen.holder == self.me
        return holds and self.renewed_ms is not None and now_ms - self.renewed_ms < GIVE_UP_MS

    def leads_since(self, term: int, now_ms: int) -> bool:
        """Still, and without a break."""
        return self.term == term and self.leads(now_ms)
