"""Replica backup (Xiao): no primary and no secondary. Both replicas send; a consumer takes each tuple from
the replica that delivers it first.

The replicas send each other keep-alives with their positions; upstream keeps what either still needs. When
one is silent, the other continues and has a replacement elected (CLEA). The replacement takes the survivor's
state and runs in parallel, so that the next failure is survived, too. A single replica releases nothing,
because no other process holds its state.

Where there is a Lease, its holder is the replica that a newcomer joins. A survivor takes the Lease again.
From the new epoch a replica that was only silent learns that it has been replaced.
"""

from __future__ import annotations

from understudy.modes.instance import BOTH, Instance
from understudy.modes.leadership import Role
from understudy.modes.resuming import Resuming
from understudy.modes.suspicion import tick_following
from understudy.modes.transitions import State, row
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.commands import Commands
from understudy.protocol.detector import Detector
from understudy.protocol.ids import Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Ledger, Wiring
from understudy.protocol.timer import due
from understudy.protocol.watermarks import Marks

# times τ: so long a newcomer may take to confirm the state that it was given; the state may be large
CONFIRM = 100


class ReplicaBackup(Instance):
    replicated = True

    resuming: Resuming

    def __init__(self, name: str, wiring: Wiring, detector: Detector, *, interval: int) -> None:
        super().__init__(name, wiring, detector)
        self.interval = interval
        self.resuming = Resuming(self)
        self.forget()

    def forget(self) -> None:
        super().forget()
        self.number = 0
        # the state that was sent to a joining replica and is not confirmed yet
        self._offered: Checkpoint | None = None
        self._offered_at: Millis | None = None
        self._peer: Marks | None = None
        self._electing = False
        self._secondary: str | None = None  # the replica that joined this one
        self._joined = False  # this replica took its state from the peer and has run beside it ever since
        self._told_at: Millis | None = None

    # --- the Lease

    def lease_seen_beside(self, event: on.LeaseSeen) -> Commands:
        """Steps down if another instance holds the Lease in a newer epoch. Tries the Lease again while a
        replica is missing."""
        record = event.record
        if record is None:
            return self.lease_seen_leading(event)
        self.leadership = self.leadership.with_lease(record)
        if record.holder != self.name and record.epoch > self.epoch:
            return self._step_down(record.epoch)
        elected = self._elect("a replica is needed") if self._electing else ()
        return (*elected, *(self.moves.handle(event) if record.holder == self.name else ()))

    def lease_won_first(self, event: on.LeaseWon) -> Commands:
        """Begins as the first replica, with empty state."""
        self.leadership = self.leadership.renewed(event.record)
        return self.started(on.Started(event.record.epoch, fresh=True))

    def lease_won_alone(self, event: on.LeaseWon) -> Commands:
        """Continues alone in the new epoch. A replica that joined in the epoch before must join again."""
        record = event.record
        self.leadership = self.leadership.renewed(record).not_watching()
        self._electing = self._joined = False
        self._peer = self._offered = self._secondary = None
        return (do.Lead(record.epoch, None, "goes on alone until a replica joins it", live=True),)

    def first_contact(self, event: on.FirstContact) -> Commands:
        """The connection to the peer is being made. Until it exists, silence is no reason for suspicion."""
        if event.epoch < self.epoch:
            return ()
        return self._heard_peer(on.KeepAlive(event.until, event.epoch))

    def keep_alive(self, event: on.KeepAlive) -> Commands:
        """The peer is alive. It counts as lost if its engine has stalled. If the peer has taken the Lease in
        a newer epoch, it has given this replica up, which steps down."""
        if self._replaced_in(event.epoch):
            return self._step_down(event.epoch)
        if event.epoch < self.epoch:
            return ()
        self.leadership = self.leadership.connected(event.epoch)
        return self._heard_peer(event)

    def _replaced_in(self, epoch: Epoch) -> bool:
        """Whether the peer's keep-alive shows that it took the Lease again and has given this replica up."""
        return self.role is Role.PRIMARY and self.lease is not None and epoch > self.epoch

    def peer_closed(self, event: on.PeerClosed) -> Commands:
        """The peer is lost: has another replica elected. A replica that has not joined the peer yet may have
        to replace it, and tries the Lease."""
        why = "its connection closed: the process is dead"
        if self.role is Role.STANDBY and self.lease is not None:
            return self.suspect(why, closed=True)
        return self._alone(why)

    def peer_unreachable_beside(self, event: on.PeerUnreachable) -> Commands:
        """The peer is lost: has another replica elected."""
        return self._alone("no connection could be made")

    def secondary_left(self, event: on.SecondaryLeft) -> Commands:
        """The peer is lost: has another replica elected."""
        return self._alone("it left")

    def resumes_or_rejoins(self, event: on.Resumes) -> Commands:
        """Begins again with the peer's state if input is missing here that the peer has."""
        if self.missed(event) and self._peer_has(event):
            return self._rejoin("upstream no longer has what follows this state, but the peer has")
        return self.resumes(event)

    def arrived_beside(self, event: on.Arrived) -> Commands:
        """Takes the new tuples. A replica that joined its peer begins again with the peer's state if the
        producer gives known seqs to other tuples."""
        if self._joined and (taken := self.neighbours.taken_before(event, self.ledger)) is not None:
            return (*self._given_up(event.stream, taken), *self._rejoin("upstream began anew"))
        return self.arrived(event)

    def could_continue(self) -> bool:
        return self.role is Role.PRIMARY

    # --- migration: the newcomer leads beside this replica already, only the Lease changes hands

    stands_still = False

    def ready_for(self, target: str) -> bool:
        return self._secondary == target and self._peer is not None

    def handed_over_beside(self, event: on.HandedOver) -> Commands:
        """Tries the Lease: the other replica moves, and this one already runs."""
        if event.lease.epoch < self.epoch:
            return ()
        self.leadership = self.leadership.with_lease(event.lease)
        planned = event.lease.successor is not None
        return (do.TryLease(event.lease, f"{event.lease.holder} hands over", planned),)

    # --- life

    def started(self, event: on.Started) -> Commands:
        """Starts empty with the job. A replacement waits for the survivor's state."""
        self.leadership = self.leadership.in_epoch(event.epoch)
        if not event.fresh:
            return ()
        self.leadership = self.leadership.in_role(Role.PRIMARY)
        self.resuming.takes_up(dict.fromkeys(self.wiring.entering, Seq(0)))
        inputs = tuple(do.ReadInput(s, Seq(0)) for s in self.wiring.entering)
        return (do.Lead(self.epoch, None, "starts empty, as its peer does"), *inputs)

    def checkpoint_arrived(self, event: on.CheckpointArrived) -> Commands:
        """Runs in parallel with the peer, from the peer's state."""
        return self._join(event.checkpoint) if event.checkpoint.epoch >= self.epoch else ()

    def _join(self, checkpoint: Checkpoint) -> Commands:
        self.leadership = self.leadership.in_epoch(checkpoint.epoch).in_role(Role.PRIMARY)
        self._joined = True
        self.ledger = Ledger.restored(self.wiring, checkpoint)
        self.restore_reports(checkpoint)
        inputs = tuple(do.ReadInput(s, checkpoint.position(s) or Seq(0)) for s in self.wiring.entering)
        lead = do.Lead(self.epoch, checkpoint, "runs beside the survivor", beside=True)
        return (do.Store(checkpoint), lead, *(self.publish(n) for n in self.wiring.inputs), *inputs)

    def _heard_peer(self, event: on.KeepAlive) -> Commands:
        if event.stalled is not None and self.role is Role.PRIMARY:
            return self._alone(f"its engine stands still: {event.stalled}")
        self.leadership = self.leadership.heard(event.now, event.epoch)
        self._electing = (
            False  # a peer exists or is starting; if it falls silent too, a replica is elected again
        )
        if event.positions is not None and self._offered is None:
            self._peer = event.positions
        return ()

    def _rejoin(self, why: str) -> Commands:
        """Begins again with the peer's state. If the Lease names this replica, the peer must take it
        first."""
        self.leave_role()
        self.forget()
        return (do.StepDown(why), do.ReadLease("to join the peer"))

    def _given_up(self, stream: Stream, taken: Range) -> Commands:
        """Reports input that is given up when this replica rejoins. The peer may have taken other tuples
        under the same seqs, and consumers may have output of either: only if both replicas continue from one
        state do they assign the same seqs. Output made from the given-up input counts as output of the tuples
        that replace it."""
        return (do.ReportLoss(stream, taken),) if taken else ()

    def _peer_has(self, event: on.Resumes) -> bool:
        """Whether the peer has the input that this replica misses: the peer has processed it, or this
        replica's state came from the peer, and the producer diverged after what the peer had received but not
        processed then. If neither replica knows, only the one that joined begins again."""
        return self._joined or (
            self._peer is not None and self._peer.get(event.stream, Seq(0)) >= event.start
        )

    def _alone(self, why: str) -> Commands:
        self.leadership = self.leadership.not_watching()
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

    def consumer_heard(self, event: on.Subscribed) -> Commands:
        return self.resuming.hear(event)

    def secondary_joined(self, event: on.SecondaryJoined) -> Commands:
        """Gives the joining replica the state. If a roll call is open, the replica gets it afterwards."""
        self._peer, self._secondary = None, event.name
        offer = self._offer() if not self.roll_open else ()
        return (*offer, *self.moves.handle(event))

    def secondary_at(self, event: on.SecondaryAt) -> Commands:
        """Notes the peer's positions: upstream keeps what either replica still needs."""
        if event.epoch == self.epoch and self._offered is None:
            self._peer = event.positions
        return ()

    def checkpoint_stored(self, event: on.CheckpointStored) -> Commands:
        """The peer has the state: from now on its positions count for acks."""
        offered = self._offered
        if offered is not None and event.epoch == self.epoch and offered.number == event.number:
            self._peer = {s: offered.position(s) or Seq(0) for s in self.wiring.entering}
            self._offered = None
        return ()

    def _offer(self) -> Commands:
        self.number += 1
        self._offered, self._offered_at = self.state(self.number), None
        return (do.Ship(self._offered, None),)

    def sent_as_new(self) -> Commands:
        """Gives a replica that joined during the roll call its state, now that the seqs are settled."""
        return self._offer() if self._secondary is not None else ()

    def tick_joining(self, event: on.Tick) -> Commands:
        """Suspects a peer that has been silent for longer than τ. Where there is a Lease, this replica may
        have to take it in the peer's place."""
        return tick_following(self, event) if self.lease is not None else self.tick_beside(event)

    def tick_beside(self, event: on.Tick) -> Commands:
        """Suspects a peer that has been silent for longer than τ. Reports this replica's positions, and acks
        what neither replica needs."""
        now = event.now
        self.leadership = self.leadership.ticked(now)
        if self.detector.suspects(now):
            return self._alone(f"no heart-beat for {self.detector.tau} ms")
        if self._is_refused(now):
            return self._alone("it does not confirm the state that it was given")
        if self.role is not Role.PRIMARY:
            return ()
        moves = self.moves.handle(event)
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

    TRANSITIONS = Instance.TRANSITIONS.extended(
        row(State.STANDBY, on.Started, started),
        row(State.STANDBY, on.LeaseWon, lease_won_first),
        row(State.STANDBY, on.CheckpointArrived, checkpoint_arrived),
        row(BOTH, on.FirstContact, first_contact),
        row(BOTH, on.KeepAlive, keep_alive),
        row(BOTH, on.PeerClosed, peer_closed),
        row(BOTH, on.SecondaryLeft, secondary_left),
        row(State.STANDBY, on.Tick, tick_joining),
        row(State.PRIMARY, on.LeaseSeen, lease_seen_beside),
        row(State.PRIMARY, on.LeaseWon, lease_won_alone),
        row(State.PRIMARY, on.PeerUnreachable, peer_unreachable_beside),
        row(State.PRIMARY, on.HandedOver, handed_over_beside),
        row(State.PRIMARY, on.Tick, tick_beside),
        row(State.PRIMARY, on.Arrived, arrived_beside),
        row(State.PRIMARY, on.Resumes, resumes_or_rejoins),
        row(State.PRIMARY, on.SecondaryJoined, secondary_joined),
        row(State.PRIMARY, on.SecondaryAt, secondary_at),
        row(State.PRIMARY, on.CheckpointStored, checkpoint_stored),
    )
