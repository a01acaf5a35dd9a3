"""Replica backup (Xiao): no primary and no secondary. Both replicas send; a consumer uses whichever tuple
comes first.

Peers heartbeat each other and say how far they have come; upstream keeps what either still needs. When one is
silent, the other goes on and has a replacement elected (CLEA); the replacement takes the survivor's state and
runs beside it, so that the next failure is survived too. While a replica is alone it releases nothing: no one
else holds its state.

Where there is a Lease, its holder is the replica that a newcomer joins. A survivor takes it anew: the epoch
that begins then is what tells a replica that was only silent that it has been replaced.
"""

from __future__ import annotations

from understudy.modes.instance import Commands, Instance, Role
from understudy.modes.resuming import Resuming
from understudy.modes.roll import RollCall
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.detector import Detector
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.events import Event
from understudy.protocol.ids import Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Ledger, Wiring
from understudy.protocol.timer import due
from understudy.protocol.watermarks import Marks

CONFIRM = 100  # times τ in which a newcomer confirms the state that it was given: it may be large


class ReplicaBackup(Resuming):
    replicated = True

    def __init__(self, name: str, wiring: Wiring, detector: Detector, *, interval: int) -> None:
        super().__init__(name, wiring, detector)
        self.interval = interval
        self.forget()

    def forget(self) -> None:
        super().forget()
        self.number = 0
        self._offered: Checkpoint | None = None  # the state on its way to a replica that joins
        self._offered_at: Millis | None = None
        self._peer: Marks | None = None
        self._electing = False
        self._secondary: str | None = None  # the replica that joined this one
        self._joined = False  # with the state of a peer that has run beside this replica ever since
        self._told_at: Millis | None = None

    def handle(self, event: Event) -> Commands:
        match event:
            case on.Started():
                return self._started(event)
            case on.CheckpointArrived(checkpoint) if (
                self.role is Role.STANDBY and checkpoint.epoch >= self.epoch
            ):
                return self._join(checkpoint)
            case on.FirstContact() if event.epoch >= self.epoch:
                return self._heard_peer(on.KeepAlive(event.until, event.epoch))
            case on.KeepAlive() if self._replaced_in(event.epoch):
                return self._newer(event.epoch)
            case on.KeepAlive() if event.epoch >= self.epoch:
                self.in_contact(event)
                return self._heard_peer(event)
            case on.KeepAlive():
                return ()
            case on.PeerClosed():
                return self._closed("its connection closed: the process is dead")
            case on.PeerUnreachable() if self.role is Role.STANDBY:
                return self._suspect("no connection could be made")
            case on.PeerUnreachable():
                return self._alone("no connection could be made")
            case on.HolderHeard():
                return self._holder_heard(event.by)
            case on.SecondaryLeft():
                return self._alone("it left")
            case on.HandedOver():
                return self._succeed(event)
            case on.LeaseSeen():
                return self._lease_seen(event.record)
            case on.LeaseWon():
                return self._won(event.record)
            case on.Tick():
                return self._beat(event.now)
            case on.NewerEpoch():
                return self._newer(event.epoch)
            case on.Resumes() if self.role is Role.PRIMARY and self.missed(event) and self._peer_has(event):
                return self._rejoin("upstream no longer has what follows this state, but the peer has")
            case on.Arrived() if self._joined and (taken := self.taken_before(event)) is not None:
                return (*self._given_up(event.stream, taken), *self._rejoin("upstream began anew"))
            case _ if self.role is Role.PRIMARY:
                return self._as_primary(event)
            case _:
                return ()

    # --- the Lease

    def _lease_seen(self, record: LeaseRecord | None) -> Commands:
        if self.role is Role.STANDBY or record is None:
            return super()._lease_seen(record)
        self.lease = record
        if record.holder != self.name and record.epoch > self.epoch:
            return self._newer(record.epoch)
        elected = self._elect("a replica is needed") if self._electing else ()
        return (*elected, *(self.moves.asked_by(record) if record.holder == self.name else ()))

    def _won(self, record: LeaseRecord) -> Commands:
        self._trying, self.lease = False, record
        if self.role is Role.STANDBY:
            return self._started(on.Started(record.epoch, fresh=True))
        self.epoch, self._electing, self._joined = record.epoch, False, False
        self._peer = self._offered = self._secondary = None  # who joined the epoch before must join this one
        self.detector = self.detector.forget()
        return (do.Lead(record.epoch, None, "goes on alone until a replica joins it", live=True),)

    def _replaced_in(self, epoch: Epoch) -> bool:
        """Whether the peer, by its keep-alive, has taken the Lease anew: it no longer counts on this
        replica."""
        return self.role is Role.PRIMARY and self.lease is not None and epoch > self.epoch

    def _closed(self, why: str) -> Commands:
        """The peer is gone. Who has not joined it yet may have to begin in its place."""
        if self.role is Role.STANDBY and self.lease is not None:
            return self._suspect(why, closed=True)
        return self._alone(why)

    def could_continue(self) -> bool:
        return self.role is Role.PRIMARY

    # --- migration: the newcomer leads beside this replica already, only the Lease changes hands

    stands_still = False

    def ready_for(self, target: str) -> bool:
        return self._secondary == target and self._peer is not None

    def _succeed(self, event: on.HandedOver) -> Commands:
        if self.role is not Role.PRIMARY or event.lease.epoch < self.epoch:
            return ()
        self.lease = event.lease
        planned = event.lease.successor is not None
        return (do.TryLease(event.lease, f"{event.lease.holder} hands over", planned),)

    # --- life

    def _started(self, event: on.Started) -> Commands:
        self.epoch = event.epoch
        if not event.fresh:
            return ()  # the survivor will send its state
        self.role = Role.PRIMARY
        self.takes_up(dict.fromkeys(self.wiring.entering, Seq(0)))
        inputs = tuple(do.ReadInput(s, Seq(0)) for s in self.wiring.entering)
        return (do.Lead(self.epoch, None, "starts empty, as its peer does"), *inputs)

    def _join(self, checkpoint: Checkpoint) -> Commands:
        self.epoch, self.role, self._joined = checkpoint.epoch, Role.PRIMARY, True
        self.ledger = Ledger.restored(self.wiring, checkpoint)
        self.keep_what_others_said(checkpoint)
        inputs = tuple(do.ReadInput(s, checkpoint.position(s) or Seq(0)) for s in self.wiring.entering)
        lead = do.Lead(self.epoch, checkpoint, "runs beside the survivor", beside=True)
        return (do.Store(checkpoint), lead, *(self.publish(n) for n in self.wiring.inputs), *inputs)

    def _heard_peer(self, event: on.KeepAlive) -> Commands:
        if event.stalled is not None and self.role is Role.PRIMARY:
            return self._alone(f"its engine stands still: {event.stalled}")
        self.epoch = event.epoch
        self.detector = self.detector.on_keep_alive(event.now)
        self._electing = (
            False  # there is a peer, or one is starting; if it falls silent too, another is needed
        )
        if event.positions is not None and self._offered is None:
            self._peer = event.positions
        return ()

    def _rejoin(self, why: str) -> Commands:
        """Begin anew with the peer's state. A Lease that names this replica is left to the peer first."""
        self.leave_role()
        self.forget()
        return (do.StepDown(why), do.ReadLease("to join the peer"))

    def _given_up(self, stream: Stream, taken: Range) -> Commands:
        """The peer may have taken other tuples under seqs of before, and consumers what was made of either:
        only if both go on from one state do they number alike. What was made of these counts as that of their
        successors."""
        return (do.ReportLoss(stream, taken),) if taken else ()

    def _peer_has(self, event: on.Resumes) -> bool:
        """Whether the peer has the input that this replica misses: it has passed it, or this replica's state
        came from it, and the producer began anew behind what the peer had received but not processed then. Of
        two that can't tell, only the one that joined gives way."""
        return self._joined or (
            self._peer is not None and self._peer.get(event.stream, Seq(0)) >= event.start
        )

    def _alone(self, why: str) -> Commands:
        self.detector = self.detector.forget()
        self._peer = self._offered = None
        self._secondary = self.moves.move = None
        self._joined = False
        if self.role is not Role.PRIMARY or self._electing:
            return ()
        self._electing = True
        return self._elect(f"a replica is needed: {why}")

    def _elect(self, why: str) -> Commands:
        return (do.Elect(why, self.lease),)

    # --- both replicas, alike

    def lead(self, event: Event) -> Commands:
        match event:
            case on.Subscribed():
                return self.hear(event)
            case on.SecondaryJoined(name):
                self._peer, self._secondary = None, name
                return self._offer() if not self.roll_open else ()
            case on.SecondaryAt() if event.epoch == self.epoch and self._offered is None:
                self._peer = event.positions
                return ()
            case on.CheckpointStored(epoch, number) if self._offered is not None and epoch == self.epoch:
                if self._offered.number == number:
                    self._peer = {s: self._offered.position(s) or Seq(0) for s in self.wiring.entering}
                    self._offered = None
                return ()
            case _:
                return ()

    def _offer(self) -> Commands:
        self.number += 1
        self._offered, self._offered_at = self.state(self.number), None
        return (do.Ship(self._offered, None),)

    def _send_as_new(self, roll: RollCall) -> Commands:
        """Who joined meanwhile waits for a state with the seqs that are settled now."""
        sent = super()._send_as_new(roll)
        return (*sent, *(self._offer() if self._secondary is not None else ()))

    def _beat(self, now: Millis) -> Commands:
        if self.role is Role.STANDBY and self.lease is not None:
            return self._tick(now)
        self.detector = self.detector.on_tick(now)
        if self.detector.suspects(now):
            return self._alone(f"no heart-beat for {self.detector.tau} ms")
        if self._is_refused(now):
            return self._alone("it does not confirm the state that it was given")
        if self.role is not Role.PRIMARY:
            return ()
        moves = self.moves.tick(now)
        if not due(self._told_at, now, self.interval):
            return moves
        self._told_at = now
        mine = {s: self.ledger.position(s) for s in self.wiring.entering}
        return (*moves, do.ReportProgress(self.epoch, mine), *self._acks(mine))

    def _is_refused(self, now: Millis) -> bool:
        if self._offered is None:
            return False
        self._offered_at = now if self._offered_at is None else self._offered_at
        return now - self._offered_at > CONFIRM * self.detector.tau

    def _acks(self, mine: Marks) -> Commands:
        inner = tuple(do.SendAck(s, 1, self.ledger.position(s)) for s in self._inner())
        peer = self._peer
        if peer is None:
            return inner
        return (*inner, *(do.SendAck(s, 1, min(mine[s], peer.get(s, Seq(0)))) for s in self.wiring.external))

    def retune(self, like: Instance) -> None:
        super().retune(like)
        if isinstance(like, ReplicaBackup):
            self.interval = like.interval

    def _inner(self) -> tuple[Stream, ...]:
        return tuple(Stream(n) for n in self.wiring.inputs if Stream(n) not in self.wiring.leaving)

    @property
    def protected(self) -> bool:
        return self._peer is not None

    @property
    def secondary(self) -> str | None:
        return self._secondary
