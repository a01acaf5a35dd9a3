"""The times of a take-over as the new primary saw them, and of a move as the old one saw them.

Times are kept on the steady clock, so that the differences are right, and shown as wall-clock milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from understudy.process.clock import Anchor, steady_ms
from understudy.protocol import statuspage
from understudy.protocol.ids import Millis, WallMillis


@dataclass(slots=True)
class TakeOver:
    """Output stands still from `stopped` on: from the last tuple that any consumer received of the former
    primary, or from its last sign of life if that came later. Output flows again when the first tuple is sent
    to a consumer that lacks it, or when all waiting input is processed and no consumer lacks a tuple
    (`idle`)."""

    from_: str
    cause: str
    detected: Millis = field(default_factory=steady_ms)
    heard: Millis | None = None  # the last sign of life of the failed primary at this instance
    stopped: Millis | None = None
    lease: Millis | None = None
    promoted: Millis | None = None
    restored: Millis | None = None
    first_output: Millis | None = None
    caught_up: Millis | None = None
    idle: Millis | None = None
    replayed: int = 0
    lost: int = 0
    duplicated: int = 0
    planned: bool = False  # the former primary handed over
    received: bool = False  # whether a consumer has reported the first output
    # input positions at which the take-over has caught up
    targets: dict[str, int] = field(default_factory=dict)
    anchor: Anchor = field(default_factory=Anchor.now)
    made_output: bool = False  # something new was made, whether or not it was already sent

    def __post_init__(self) -> None:
        self.note_life(self.heard)

    @property
    def flows(self) -> Millis | None:
        """When output began to flow again."""
        return min((at for at in (self.first_output, self.idle) if at is not None), default=None)

    @property
    def over(self) -> bool:
        return self.flows is not None

    @property
    def recovery_ms(self) -> int | None:
        """How long the recovery took; None while output stands still."""
        flows = self.flows
        if flows is None:
            return None
        return max(0, flows - (self.detected if self.stopped is None else self.stopped))

    def still_ms(self, now: Millis) -> int:
        """How long output has stood still."""
        return 0 if self.over else now - (self.detected if self.stopped is None else self.stopped)

    def note_life(self, at: Millis | None) -> None:
        """Notes when a consumer last received a tuple or a sign of life of the former primary. The report may
        come late."""
        if at is not None and (self.flows is None or at <= self.flows):
            self.stopped = at if self.stopped is None else max(self.stopped, at)

    def note_output(self, now: Millis) -> None:
        """Notes that new output is available to consumers. If no consumer asks for it because the only sink
        is gone, that is the sink's failure."""
        if self.first_output is None and self.promoted is not None:
            self.first_output = now

    def note_received(self, at: Millis | None) -> None:
        """Notes when a consumer, running since before the failure, received the first tuple that was new to
        it."""
        if at is not None and self.first_output is not None and not self.received:
            self.first_output, self.received = max(self.first_output, at), True

    def note_idle(self, now: Millis) -> None:
        """Notes that no input waits to be processed, and no consumer lacks a tuple."""
        if self.idle is None and self.caught_up is not None and not self.over:
            self.idle = now

    def note_positions(self, positions: Mapping[str, int], now: Millis) -> None:
        """Notes when the take-over has caught up: every input is processed up to what was available when this
        instance took over."""
        known = self.promoted is not None and positions.keys() <= self.targets.keys()
        if self.caught_up is None and known and all(n >= self.targets[s] for s, n in positions.items()):
            self.caught_up = now

    def shown(self) -> statuspage.TakeOver:
        return statuspage.TakeOver(
            gone=self.from_,
            cause=self.cause,
            heard=_shown(self.anchor, self.heard),
            stopped=_shown(self.anchor, self.stopped),
            detected=_shown(self.anchor, self.detected),
            lease=_shown(self.anchor, self.lease),
            promoted=_shown(self.anchor, self.promoted),
            restored=_shown(self.anchor, self.restored),
            first_output=_shown(self.anchor, self.first_output),
            caught_up=_shown(self.anchor, self.caught_up),
            recovery_ms=self.recovery_ms,
            replayed=self.replayed,
            lost=self.lost,
            duplicated=self.duplicated,
            planned=self.planned,
        )


@dataclass(slots=True)
class Departure:
    """A move away from this instance."""

    target: str
    why: str
    requested: Millis
    paused: Millis | None = None  # from here on no micro-batch begins
    settled: Millis | None = None  # no micro-batch is running any more
    handed: Millis | None = None
    left: Millis | None = None  # the target leads
    given_up: str | None = None
    bytes: int = 0  # all that was sent to the target up to the end of the move
    anchor: Anchor = field(default_factory=Anchor.now)

    def shown(self) -> statuspage.Departure:
        return statuspage.Departure(
            target=self.target,
            why=self.why,
            requested=_shown(self.anchor, self.requested),
            paused=_shown(self.anchor, self.paused),
            settled=_shown(self.anchor, self.settled),
            handed_over=_shown(self.anchor, self.handed),
            left=_shown(self.anchor, self.left),
            given_up=self.given_up,
            bytes=self.bytes,
        )


def _shown(anchor: Anchor, moment: Millis | None) -> WallMillis | None:
    return anchor.shown(moment) if moment is not None else None
