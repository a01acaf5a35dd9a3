"""What a primary does about a move, in every mode: the table of `migration`, by its side that moves away.

A move is asked for from outside, by the Lease or by an event; or by the primary itself, when its backlog only
grows: a resource failure is noticed by the side that it affects.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from understudy.modes.migration import Move, Phase
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.events import Event
from understudy.protocol.ids import Millis, Stream

if TYPE_CHECKING:
    from understudy.modes.instance import Commands, Instance


class Moving:
    def __init__(self, core: Instance) -> None:
        self._core = core
        self.move: Move | None = None  # under way
        self.follower: str | None = None  # who joined last

    def forget(self) -> None:
        self.move = self.follower = None

    def handle(self, event: Event) -> Commands:
        match event:
            case on.MigrationRequested() if self.move is None:
                return self._begin(Move(event.target, event.why))
            case on.Paused() if self.move is not None and self.move.phase is Phase.PAUSING:
                return self._core.move_state()
            case on.SecondaryJoined(name):
                self.follower = name
                return self._advance()
            case on.SecondaryLeft(name):
                self.follower = None if name == self.follower else self.follower
                return self._target_left() if self.move is not None and self.move.target == name else ()
            case _:
                return ()

    def asked_by(self, record: LeaseRecord | None) -> Commands:
        """Whoever deploys the job writes into the Lease to which instance its holder should move, and takes
        that back when it gives the move up."""
        named = record.successor if record is not None else None
        if self.move is not None:
            return self._give_up() if self.move.in_lease and named != self.move.target else ()
        if named in (None, self._core.name):
            return ()
        return self._begin(Move(str(named), "the Lease names it as successor", in_lease=True))

    def tick(self, now: Millis) -> Commands:
        if self.move is None:
            return ()
        self.move = self.move.seen(now)
        return self._give_up() if self.move.overdue(now, self._core.detector.tau) else self._advance()

    # --- the phases

    def _begin(self, move: Move) -> Commands:
        self.move = move
        return self._advance()

    def _advance(self) -> Commands:
        """Begin the move as soon as the target is ready for it, and producers can send it what waits here."""
        move, core = self.move, self._core
        if move is None or move.phase is not Phase.JOINING or not core.ready_for(move.target):
            return ()
        if not core.stands_still:
            return self.hand_over(None)
        if core.holds_what_is_only_here:
            return ()
        self.enter(Phase.PAUSING)
        return (do.Pause(f"moves to {move.target}: {move.why}"),)

    def enter(self, phase: Phase) -> None:
        self.move = self.move.enters(phase) if self.move is not None else None

    def hand_over(self, checkpoint: Checkpoint | None) -> Commands:
        if self.move is None or self._core.lease is None:
            return ()
        self.enter(Phase.HANDING_OVER)
        lease = replace(self._core.lease, successor=self.move.target if self.move.in_lease else None)
        return (do.HandOver(self.move.target, lease, checkpoint),)

    def _target_left(self) -> Commands:
        """It failed, or it leads already: then the Lease says so."""
        if self.move is not None and self.move.handed and not self._core.stands_still:
            return (do.ReadLease("to see whether the target has taken over"),)
        return self._give_up()

    def _give_up(self) -> Commands:
        move = self.move
        if move is None or move.phase is Phase.WITHDRAWING:
            return ()
        if move.handed and self._core.stands_still:
            self.enter(Phase.WITHDRAWING)
            return (do.TryLease(self._core.lease, f"to fence off {move.target}, which did not take over"),)
        self.move = None
        return () if move.phase is Phase.JOINING else (do.Resume(f"{move.target} did not take over"),)

    def withdrawn(self) -> Commands:
        """The Lease was taken anew."""
        if self.move is None or self.move.phase is not Phase.WITHDRAWING:
            return ()
        move, self.move = self.move, None
        return (do.Resume(f"{move.target} is fenced off"),)

    # --- overload

    def watch_load(self, now: Millis) -> Commands:
        core = self._core
        if core.load is None or self.move is not None:
            return ()
        backlog = max((self._backlog(ins) for ins in core.wiring.inputs.values()), default=0)
        core.load, overload = core.load.look(now, backlog)
        return (do.RequestMigration(overload.why),) if overload is not None else ()

    def _backlog(self, inputs: tuple[Stream, ...]) -> int:
        """What waits on every input from outside: a tuple that waits for another input is no load."""
        outside = [s for s in inputs if s in self._core.wiring.external]
        ledger = self._core.ledger
        return min((ledger.received(s) - ledger.position(s) for s in outside), default=0)
