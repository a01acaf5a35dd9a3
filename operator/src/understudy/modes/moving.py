"""Operator migration with live state (Brettlecker §4.2): what a primary does about a move, in every mode, as
a table of transitions.

A move is requested from outside, by the Lease or by an event, or by the primary itself when its backlog keeps
growing: the instance that lacks a resource is the one that notices.

Until the target leads, the side that moves away stays paused and keeps its state, also when it steps down: if
the target fails at once, this side can take over from that state. A mode whose secondary runs in parallel
(active standby) hands over without a pause and never has to withdraw. `protocol.move_limits` says how long
each phase may take and how a move is given up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from understudy.modes.transitions import Table, answer, ignored, row
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.commands import Commands
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.events import Event
from understudy.protocol.ids import Millis, Stream
from understudy.protocol.move_limits import PATIENCE

if TYPE_CHECKING:
    from understudy.modes.instance import Instance


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


class Moving:
    def __init__(self, core: Instance) -> None:
        self._core = core
        self.move: Move | None = None  # the move that is under way
        self.follower: str | None = None  # the standby that joined last
        # as a standby: the order by which a paused primary asked this instance to succeed it
        self._order: on.HandedOver | None = None

    def forget(self) -> None:
        self.move = self.follower = None

    @property
    def phase(self) -> Phase:
        return self.move.phase if self.move is not None else Phase.NOT_MOVING

    def handle(self, event: Event) -> Commands:
        """Looks up the handler of the event in the table of the current phase."""
        commands = answer(self, TRANSITIONS, self.phase, event)
        if commands is None:
            raise self._core.impossible(self.phase, event)
        return commands

    def requested(self, event: on.MigrationRequested) -> Commands:
        """Begins the move: waits until the target follows, then pauses."""
        return self._begin(Move(event.target, event.why))

    def named(self, event: on.LeaseSeen) -> Commands:
        """Begins the move if the Lease names another instance as successor."""
        successor = event.record.successor if event.record is not None else None
        if successor in (None, self._core.name):
            return ()
        return self._begin(Move(str(successor), "the Lease names it as successor", in_lease=True))

    def still_named(self, event: on.LeaseSeen) -> Commands:
        """Gives the move up if it began because of the Lease, and the Lease no longer names the target."""
        successor = event.record.successor if event.record is not None else None
        if self.move is None or not self.move.in_lease or successor == self.move.target:
            return ()
        return self._give_up()

    def paused(self, event: on.Paused) -> Commands:
        """Gives the state away. After the pause the state consists of positions, tails and queues only.
        Passive standby ships its last checkpoint first."""
        return self._core.move_state()

    def joined(self, event: on.SecondaryJoined) -> Commands:
        """Notes the follower. A move that waits for this instance continues: with a pause, or directly with
        the hand-over in modes that need no pause."""
        self.follower = event.name
        return self._advance()

    def left(self, event: on.SecondaryLeft) -> Commands:
        """If the target has left, gives the move up. After the hand-over the Lease decides: the primary takes
        it again, so that the target cannot win it, or only reads it in modes that need no pause."""
        self.follower = None if event.name == self.follower else self.follower
        return self._target_left() if self.move is not None and self.move.target == event.name else ()

    def tick(self, event: on.Tick) -> Commands:
        """Continues as soon as the target is ready. Gives the move up when it has taken too long."""
        if self.move is None:
            return ()
        self.move = self.move.seen(event.now)
        return self._give_up() if self.move.overdue(event.now, self._core.detector.tau) else self._advance()

    def withdrawn(self, event: on.LeaseWon) -> Commands:
        """Continues processing: the target cannot win the Lease any more."""
        if self.move is None:
            return ()
        move, self.move = self.move, None
        return (do.Resume(f"{move.target} is fenced off"),)

    # --- the target

    def ordered(self, event: on.HandedOver) -> None:
        self._order = event

    def forget_order(self) -> None:
        self._order = None

    def inherited(self, record: LeaseRecord) -> on.HandedOver | None:
        """The order, if its state is exactly the state in which the former primary paused: the Lease went
        directly from that primary to this instance. A primary that gives up a move takes the Lease again
        first, so the epochs then differ by more than one."""
        order = self._order
        return order if order is not None and order.lease.epoch + 1 == record.epoch else None

    # --- the phases

    def _begin(self, move: Move) -> Commands:
        self.move = move
        return self._advance()

    def _advance(self) -> Commands:
        """Begins the move as soon as the target is ready, and producers can send it the input that waits
        here."""
        move, core = self.move, self._core
        if move is None or move.phase is not Phase.JOINING or not core.ready_for(move.target):
            return ()
        if not core.stands_still:
            return self.hand_over(None)
        if core.neighbours.holds_unreplayable(core.ledger):
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
        """The target has failed, or it leads already: in that case the Lease names it."""
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

    # --- overload

    def watch_load(self, now: Millis) -> Commands:
        core = self._core
        if core.load is None or self.move is not None:
            return ()
        backlog = max((self._backlog(ins) for ins in core.wiring.inputs.values()), default=0)
        core.load, overload = core.load.look(now, backlog)
        return (do.RequestMigration(overload.why),) if overload is not None else ()

    def _backlog(self, inputs: tuple[Stream, ...]) -> int:
        """Tuples that wait on every external input. A tuple that only waits for another input is no load."""
        outside = [s for s in inputs if s in self._core.wiring.external]
        ledger = self._core.ledger
        return min((ledger.received(s) - ledger.position(s) for s in outside), default=0)


UNDER_WAY = (Phase.JOINING, Phase.PAUSING, Phase.SHIPPING, Phase.HANDING_OVER, Phase.WITHDRAWING)
TRANSITIONS: Table[Phase] = Table(
    row(Phase.NOT_MOVING, on.MigrationRequested, Moving.requested),
    row(Phase.NOT_MOVING, on.LeaseSeen, Moving.named),
    row((Phase.NOT_MOVING, *UNDER_WAY), on.SecondaryJoined, Moving.joined),
    row((Phase.NOT_MOVING, *UNDER_WAY), on.SecondaryLeft, Moving.left),
    ignored(Phase.NOT_MOVING, "there is nothing to go on with", on.Tick),
    ignored(UNDER_WAY, "there is one move at a time", on.MigrationRequested),
    row(UNDER_WAY, on.LeaseSeen, Moving.still_named),
    row(UNDER_WAY, on.Tick, Moving.tick),
    row(Phase.PAUSING, on.Paused, Moving.paused),
    row(Phase.WITHDRAWING, on.LeaseWon, Moving.withdrawn),
    ignored((Phase.NOT_MOVING, Phase.JOINING), "the move that paused has been given up", on.Paused),
    ignored((Phase.SHIPPING, Phase.HANDING_OVER, Phase.WITHDRAWING), "it stands still already", on.Paused),
    ignored(
        (Phase.NOT_MOVING, Phase.JOINING, Phase.PAUSING, Phase.SHIPPING, Phase.HANDING_OVER),
        "the Lease was taken again to fence off a former secondary, not the target",
        on.LeaseWon,
    ),
)
