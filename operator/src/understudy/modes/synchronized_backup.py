"""Synchronized backups of neighbouring subjobs (Brettlecker §4.5, §4.6), on top of passive standby.

A backup holds no output that was made before it: the consumers' own backups cover that output. So a backup
may replace the former one only when the consumers' backups do cover it; otherwise two neighbours that fail
together would leave a gap (t_B^out > t_C^in, Figure 5c).

| phase    | primary                                    | secondary             | consumers               |
|----------|--------------------------------------------|-----------------------|-------------------------|
| planning | ships the backup, requests theirs at t^out | keeps it as temporary | cut there, back up, too |
| backup   | permanent when all acked t^out at level 1  | replaces the former   | ack a permanent backup  |
| then     | acks its own input at t^in                 |                       |                         |

A consumer that has gone past t^out backs up where it is: later is as safe (Figure 5a). The request is sent
together with the snapshot, after the tuples that it names, so that this is the exception.

Two kinds of backup contain the output that consumers have not acked. They need no ack and are permanent at
once: the first backup of a secondary, which has no other, and the backup that follows one that consumers have
not acked in time. Consumers may take any time to ack: a consumer without output, or without a standby,
releases nothing.

`extended`: a request on one input shortly after a backup for another input is served by adding the input
between the two positions to that backup, as long as this is less than the backup itself. Upstream then drops
that input, so the next backup copies the part of it that the positions have not reached.
"""

from __future__ import annotations

from dataclasses import replace

from understudy.modes.passive_standby import PassiveStandby
from understudy.modes.transitions import State, row
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.commands import Commands
from understudy.protocol.detector import Detector
from understudy.protocol.ids import Millis, Range, Seq, Stream
from understudy.protocol.ledger import Wiring


class SynchronizedBackup(PassiveStandby):
    def __init__(
        self,
        name: str,
        wiring: Wiring,
        detector: Detector,
        *,
        interval: int,
        extended: bool = False,
        exact: bool = True,
    ) -> None:
        self.extended = extended
        super().__init__(name, wiring, detector, interval=interval, exact=exact)

    def forget(self) -> None:
        super().forget()
        self._temporary: Checkpoint | None = None  # as a secondary: a backup that is not in force yet
        self._requested: dict[Stream, Seq] = {}  # positions at which producers request a backup
        self._cuts: dict[Stream, Seq] = {}
        self._extension: Checkpoint | None = (
            None  # the confirmed backup with more input, until the addition is confirmed
        )
        self._asked = False  # the secondary was asked to make the backup in flight permanent
        # the next backup contains its queue, because consumers did not ack the former one
        self._unmatched = False
        self._released: dict[Stream, Seq] = {}  # upstream has dropped the input before these positions

    # --- secondary

    def checkpoint_arrived(self, event: on.CheckpointArrived) -> Commands:
        """Keeps the backup as temporary, unless its epoch is older."""
        if event.checkpoint.epoch < self.epoch:
            return ()
        self.leadership = self.leadership.in_epoch(event.checkpoint.epoch)
        self._temporary = event.checkpoint
        return (do.KeepTemporary(event.checkpoint),)

    def permanent_requested(self, event: on.PermanentRequested) -> Commands:
        """Lets the temporary backup replace the permanent one, if it is the backup named and is complete."""
        found = self._temporary
        if found is None or (found.epoch, found.number, found.extended) != (
            event.epoch,
            event.number,
            event.extended,
        ):
            return ()  # a part was lost on the way: the primary will ship another backup
        self._kept, self._temporary = replace(found, trees=event.trees), None
        return (do.Store(self._kept),)

    def backup_extended(self, event: on.BackupExtended) -> Commands:
        """Adds the input to the backup that it belongs to, temporary or permanent."""
        if (found := self._temporary) is not None and _is(found, event):
            self._temporary = _extended(found, event.stream, event.range.stop)
            return (do.KeepTemporary(self._temporary),)
        if (found := self._kept) is not None and _is(found, event):
            self._kept = _extended(found, event.stream, event.range.stop)
            return (do.Store(self._kept),)
        return ()

    # --- primary: planning phase

    def ship(self, elements: tuple[str, ...]) -> Commands:
        base = None if self._unmatched else self._confirmed
        super().ship(elements)
        assert self._in_flight is not None
        self._asked, self._extension, self._unmatched = False, None, False
        if base is not None:
            self._in_flight = self._without_output(self._in_flight)
        ship = (do.Ship(self._in_flight, base), *self._take_over_input(self._in_flight))
        requests = tuple(do.RequestBackup(s, self.ledger.queues[s].next) for s in self.wiring.leaving)
        return (*ship, *requests, *self._backup_phase())

    def _without_output(self, backup: Checkpoint) -> Checkpoint:
        states = dict(backup.elements)
        for stream in self.wiring.leaving:
            at = states[stream].held.stop
            states[stream] = replace(states[stream], held=Range(at, at))
        return replace(backup, elements=states)

    def unconfirmed(self) -> None:
        """If the secondary was not asked to make this backup permanent, it still has the former one."""
        former = None if self._asked else self._confirmed
        super().unconfirmed()
        self._confirmed, self._unmatched = former, True

    def _take_over_input(self, backup: Checkpoint) -> Commands:
        """Copies the input that upstream has dropped and the positions have not reached: only the former
        backup holds it."""
        dropped = ((s, _covered(backup, s), upto) for s, upto in self._released.items())
        lacking = {s: Range(at, upto) for s, at, upto in dropped if at < upto}
        for stream, missing in lacking.items():
            backup = _extended(backup, stream, missing.stop)
        self._in_flight = backup
        return tuple(do.ExtendBackup(self.epoch, backup.number, s, missing) for s, missing in lacking.items())

    def ship_final(self) -> Commands:
        """Before a hand-over consumers are not asked: the backup has the whole queue, and is permanent at
        once."""
        commands = super().ship(tuple(self.wiring.inputs))
        assert self._in_flight is not None
        self._asked, self._extension = True, None
        more = self._take_over_input(self._in_flight)
        return (*commands, *more, self._permanent(self._in_flight))

    def kept_back(self) -> Checkpoint | None:
        state = super().kept_back()
        whole = state is not None and all(_covered(state, s) >= upto for s, upto in self._released.items())
        return state if whole else None

    def start_inputs(self, checkpoint: Checkpoint | None) -> Commands:
        self._released = dict(checkpoint.extended) if checkpoint is not None else {}
        return super().start_inputs(checkpoint)

    def release(self, checkpoint: Checkpoint) -> Commands:
        released = self._released
        self._released = {
            s: max(_covered(checkpoint, s), released.get(s, Seq(0))) for s in self.wiring.external
        }
        return super().release(checkpoint)

    def lead_tick(self, now: Millis) -> Commands:
        return (*super().lead_tick(now), *self._serve())

    # --- primary: backup phase

    def acked(self, event: on.Acked) -> Commands:
        return (*super().acked(event), *self._backup_phase())

    def _backup_phase(self) -> Commands:
        if self._in_flight is None or self._asked or not self.matched(self._in_flight):
            return ()
        self._asked = True
        return (self._permanent(self._in_flight),)

    def _permanent(self, backup: Checkpoint) -> do.MakePermanent:
        """Makes the backup permanent, with the consumers' newest savepoints: they come with the acks that
        allow it, and are newer than those of the snapshot."""
        return do.MakePermanent(self.epoch, backup.number, backup.extended, self.neighbours.trees)

    def matched(self, backup: Checkpoint) -> bool:
        """Whether all consumers have acked the output that this backup does not hold."""
        return all(
            self.ledger.queues[s].released_by_all >= backup.elements[s].held.start
            for s in self.wiring.leaving
        )

    def confirm(self, number: int) -> Commands:
        extension = self._extension
        if extension is not None and self._in_flight is None and extension.number == number:
            self._confirmed, self._extension = extension, None
            released = self.release(extension)
        else:
            released = super().confirm(number)
        # a backup shipped here contains the queues as they were before the acks
        return (*self._serve(), *released)

    # --- primary: requests of producers

    def backup_requested(self, event: on.BackupRequested) -> Commands:
        """Backs up at that position, unless a backup covers it already; then acks the position."""
        asked = self._requested.get(event.stream, Seq(0))
        self._requested[event.stream] = max(asked, event.upto)
        return self._serve()

    def secondary_joined(self, event: on.SecondaryJoined) -> Commands:
        """Ships a whole backup to the new secondary, which is permanent at once."""
        self._forget_requests_under_way()
        return super().secondary_joined(event)

    def secondary_left(self, event: on.SecondaryLeft) -> Commands:
        """Stops shipping backups."""
        self._forget_requests_under_way()
        return super().secondary_left(event)

    def _forget_requests_under_way(self) -> None:
        self._extension, self._asked, self._cuts = None, False, {}

    def processed(self, event: on.Processed) -> Commands:
        return (*super().processed(event), *self._serve())

    def _serve(self) -> Commands:
        served = [self._serve_one(s, upto) for s, upto in tuple(self._requested.items())]
        return tuple(c for commands in served for c in commands)

    def _serve_one(self, stream: Stream, upto: Seq) -> Commands:
        if self._secondary is None or self.roll_open or self.moving:
            return ()
        if _covered(self._confirmed, stream) >= upto:
            del self._requested[stream]
            return (do.SendAck(stream, 1, _covered(self._confirmed, stream)),)
        if _covered(self._in_flight or self._extension, stream) >= upto:
            return ()  # the backup is in flight
        if (backup := self._extendable(stream, upto)) is not None:
            return self._extend(backup, stream, upto)
        if self._in_flight is not None:
            return ()
        if self.ledger.position(stream) >= upto:
            return self.ship(tuple(self.wiring.inputs))
        if self._cuts.get(stream) == upto:
            return ()
        self._cuts[stream] = upto
        return (do.CutAt(stream, upto),)

    def _extendable(self, stream: Stream, upto: Seq) -> Checkpoint | None:
        """The backup that can take in the input up to `upto`: the pending one, else the permanent one."""
        backup = self._in_flight if self._in_flight is not None else self._confirmed
        busy = self._asked if self._in_flight is not None else self._extension is not None
        if not self.extended or len(self.wiring.external) < 2 or backup is None or busy:
            return None
        more = upto - _covered(backup, stream)
        return backup if more <= max(backup.tuples, 1) and upto <= self.ledger.received(stream) else None

    def _extend(self, backup: Checkpoint, stream: Stream, upto: Seq) -> Commands:
        added = Range(_covered(backup, stream), upto)
        if backup is self._in_flight:
            self._in_flight = _extended(backup, stream, upto)
        else:
            self._extension = _extended(backup, stream, upto)
        return (do.ExtendBackup(self.epoch, backup.number, stream, added),)

    TRANSITIONS = PassiveStandby.TRANSITIONS.extended(
        row(State.STANDBY, on.CheckpointArrived, checkpoint_arrived),
        row(State.STANDBY, on.PermanentRequested, permanent_requested),
        row(State.STANDBY, on.BackupExtended, backup_extended),
        row(State.PRIMARY, on.BackupRequested, backup_requested),
        row(State.PRIMARY, on.SecondaryJoined, secondary_joined),
        row(State.PRIMARY, on.SecondaryLeft, secondary_left),
    )


def _covered(backup: Checkpoint | None, stream: Stream) -> Seq:
    return (backup.covers(stream) if backup else None) or Seq(0)


def _is(backup: Checkpoint, event: on.BackupExtended) -> bool:
    """Whether the extension belongs to this backup, and follows its input without a hole."""
    same = (backup.epoch, backup.number) == (event.epoch, event.number)
    return same and _covered(backup, event.stream) == event.range.start


def _extended(backup: Checkpoint, stream: Stream, upto: Seq) -> Checkpoint:
    return replace(backup, extended={**backup.extended, stream: upto})
