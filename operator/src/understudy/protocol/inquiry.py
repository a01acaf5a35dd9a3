"""A question to the holder of a Lease: is it alive, although this standby does not hear it?

A standby that does not hear the holder, and has no state to continue from, writes a question into the Lease.
A living holder looks at its Lease every second, and answers by removing the question. Clocks of different
machines are never compared: the standby measures, on its own clock, how long the same question stays there.

Time in which the standby could not read the Lease counts only a little: perhaps the holder could not reach
the Lease either.
"""

from __future__ import annotations

from dataclasses import dataclass

from understudy.protocol.ids import Millis

LONGEST = 3_000  # milliseconds between two looks that count at most


@dataclass(frozen=True, slots=True)
class Inquiry:
    question: str | None = None
    looked: Millis | None = None
    unanswered: int = 0  # milliseconds

    def look(self, question: str | None, now: Millis | None) -> Inquiry:
        """Notes a look at the Lease. `question`: the one that the Lease has now."""
        if question is None or question != self.question:
            return Inquiry(question, now)
        passed = now - self.looked if now is not None and self.looked is not None else 0
        return Inquiry(question, now, self.unanswered + min(max(0, passed), LONGEST))
