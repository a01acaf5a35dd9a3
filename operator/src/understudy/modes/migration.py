"""Operator migration with live state (Brettlecker §4.2): the phases of the side that moves away.

`moving.TRANSITIONS` says what each phase does on each event. Until the target leads, the side that moves away
stays paused and keeps its state, also when it steps down: if the target fails at once, this side can take
over from that state. A mode whose secondary runs in parallel (active standby) hands over without a pause and
never has to withdraw. `protocol.move_limits` says how long each phase may take and how a move is given up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from understudy.protocol.ids import Millis
from understudy.protocol.move_limits import PATIENCE


class Phase(Enum):
    NOT_MOVING = "not moving"
    JOINING = "joining"
    PAUSING = "pausing"
    SHIPPING = "shipping"
    HANDING_OVER = "handing over"
    WITHDRAWING = "withdrawing"


@dataclass(frozen=True, slots=True)
class Move:
    """A migration under way."""

    target: str
    why: str
    in_lease: bool = False  # the Lease names the target; when it no longer does, the move ends
    phase: Phase = Phase.JOINING
    since: Millis | None = None  # time of the first tick in this phase

    def enters(self, phase: Phase) -> Move:
        return replace(self, phase=phase, since=None)

    @property
    def handed(self) -> bool:
        """Whether the target may take the Lease."""
        return self.phase in (Phase.HANDING_OVER, Phase.WITHDRAWING)

    def seen(self, now: Millis) -> Move:
        return self if self.since is not None else replace(self, since=now)

    def overdue(self, now: Millis, tau: int) -> bool:
        waits = (
            self.phase is not Phase.WITHDRAWING
        )  # the Lease decides, however long its store is unreachable
        return waits and self.since is not None and now - self.since > PATIENCE * tau
