"""When a primary stores the acks for the sources that it reads.

A source is read inside the subjob and stores no acks. So the surroundings store them: on the Lease, or in a
file. Each write costs the API server a transaction. An ack that is not stored yet is like an ack that is
still on its way: a source can be read again from any seq, and every mode keeps its guarantee however late an
ack arrives. The next life continues to number from the same old savepoint, or drops the tuples that its
consumers have, by their watermarks or its log. So a late ack costs only replay, and without precise recovery
also the duplicates of that replay.

| acks are stored | because |
|---|---|
| at once, if this life has stored none in this mode | older acks are stale, and a change of mode waits |
| at once, when the process stops or moves away | the next life begins where this one ended |
| every second, when the stream has ended | they change a few last times, and then never again |
| otherwise every `interval` | a next life reads at most so many seconds of input again |

An element that keeps up reads the input of an interval again in less than an interval. So the interval may be
at most half of `maxRecovery`; without `maxRecovery` it is 10 s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import Final

from understudy.protocol.ids import Millis, Seq, Stream
from understudy.protocol.savepoints import Tree

LONGEST: Final = Millis(10_000)
SHORTEST: Final = Millis(1_000)
NEVER: Final = Millis(0)


@dataclass(frozen=True, slots=True)
class SourceAcks:
    """What a new life has to know about the sources: the seq from which each is needed, and the savepoints
    that need it."""

    released: Mapping[Stream, Seq] = field(default_factory=dict)
    tree: Tree | None = None

    def acked(self, source: Stream, upto: Seq, tree: Tree | None) -> SourceAcks:
        return SourceAcks({**self.released, source: upto}, tree)


class Phase(StrEnum):
    """The phase of a primary's life."""

    FLOWING = "tuples flow"
    ENDED = "its streams have ended"
    LEAVING = "it stops, or moves away"


@dataclass(frozen=True, slots=True)
class Keeping:
    """What one life has stored, and when."""

    kept: SourceAcks | None = None
    at: Millis = NEVER

    def due(self, acks: SourceAcks, phase: Phase, now: Millis, interval: Millis) -> bool:
        if not acks.released or acks == self.kept:
            return False
        if self.kept is None or phase is Phase.LEAVING:
            return True
        return now - self.at >= (SHORTEST if phase is Phase.ENDED else interval)

    def written(self, acks: SourceAcks, now: Millis) -> Keeping:
        return replace(self, kept=acks, at=now)


def interval_for(max_recovery: timedelta | None) -> Millis:
    """The longest time between two writes while tuples flow."""
    if max_recovery is None:
        return LONGEST
    return Millis(min(LONGEST, max(SHORTEST, int(max_recovery.total_seconds() * 500))))
