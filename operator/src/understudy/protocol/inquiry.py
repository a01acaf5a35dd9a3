"""Does the holder of a Lease live, though we do not hear it?

A standby that does not hear the holder, and has nothing to continue from, writes a question into the Lease. A
holder that lives looks at its Lease every second, and answers by removing the question. Nobody's clock is
compared with another's: the standby counts, on its own clock, for how long it has seen the same question
stand there.

Time in which the standby could not look at the Lease counts little: perhaps the holder could not answer,
either.
"""

from __future__ import annotations

from dataclasses import dataclass

from understudy.protocol.ids import Millis

LONGEST = 3_000  # milliseconds between two looks that count at the most


@dataclass(frozen=True, slots=True)
class Inquiry:
    question: str | None = None
    looked: Millis | None = None
    unanswered: int = 0  # milliseconds

    def look(self, question: str | None, now: Millis | None) -> Inquiry:
        """The question that stands in the Lease now."""
        if question is None or question != self.question:
            return Inquiry(question, now)
        passed = now - self.looked if now is not None and self.looked is not None else 0
        return Inquiry(question, now, self.unanswered + min(max(0, passed), LONGEST))
