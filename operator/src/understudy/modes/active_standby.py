"""Active standby (Hwang §5.3): the secondary processes the same input in parallel and keeps its output to
itself.

Input preservation: upstream keeps a tuple until both instances have processed it; the primary acks for both.
Output preservation: the secondary drops a logged output tuple only when it is a duplicate, that is when its
high watermarks are lower than those of a tuple that all consumers have released. The primary reports these
watermarks every M in a queue-trimming message. (The paper trims at the tuples that consumers have received;
but a consumer that fails next needs again those that it has not released.) Rejoin: the primary gives a new
secondary its state, positions and sequencer, so that both assign the same seqs.

- deterministic networks: both assign the same seqs, and consumers continue where they were: precise.
- `determinants` (arbitrary, precise): the primary sends a tuple only when the secondary holds the
  determinants behind it; the secondary's non-deterministic steps wait for their determinants.
- `exact=False` (arbitrary, rollback): the secondary's output differs; at a take-over it is sent as new
  tuples.
"""

from __future__ import annotations

from understudy.modes.confirming import RESEND, Confirming
from understudy.modes.instance import Instance
from understudy.modes.leadership import Role
from understudy.modes.resuming import Resuming
from understudy.modes.transitions import State, ignored, row
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.commands import Commands
from understudy.protocol.detector import Detector
from understudy.protocol.determinants import Free
from understudy.protocol.ids import Millis, Range, Seq, Stream
from understudy.protocol.ledger import Ledger, Wiring
from understudy.protocol.timer import due
from understudy.protocol.watermarks import Marks, Step, StepLog, newest, older


class ActiveStandby(Instance):
    resuming: Resuming

    def __init__(
        self,
        name: str,
        wiring: Wiring,
        detector: Detector,
        *,
        interval: int,
        exact: bool = True,
        determinants: bool = False,
    ) -> None:
        super().__init__(name, wiring, detector)
        self.interval = interval
        self.exact = exact or determinants
        self.resuming = Resuming(self, always_new=not self.exact)
        self.determinants = self.hold_back = determinants
        self.forget()

    def forget(self) -> None:
        super().forget()
        self.logs = {Stream(name): StepLog() for name in self.wiring.inputs}
        self.running = False  # as a secondary: it processes input in parallel
        self._heard_upto = 0  # number of the newest determinants message that arrived
        self.number = 0
        self._offered_at: Millis | None = None
        self._confirming = Confirming(self, self._offer, awaits=self.determinants)
        # the state that was sent to a new secondary and is not confirmed yet
        self._offered: Checkpoint | None = None
        self._peer: Marks | None = None  # the secondary's positions; None: no secondary runs yet
        self._told_at: Millis | None = None

    # --- secondary

    def could_continue(self) -> bool:
        return self.running

    def heard(self, event: on.KeepAlive) -> Commands:
        """Also rejoins if the primary took the Lease again: it may have run alone in the meantime, and its
        determinants of that time never came here."""
        missed = self.running and self.determinants and event.epoch > self.epoch
        again = self._rejoin("the primary has begun a new epoch") if missed else ()
        return (*super().heard(event), *again)

    @property
    def current_state(self) -> State:
        return State.RUNNING if self.running else super().current_state

    def checkpoint_arrived(self, event: on.CheckpointArrived) -> Commands:
        """Runs in parallel with the primary from this state on, unless the state's epoch is older."""
        return self._run(event.checkpoint) if event.checkpoint.epoch >= self.epoch else ()

    def arrived_beside(self, event: on.Arrived) -> Commands:
        """Takes the new tuples. Rejoins with the primary's state if the producer sends other tuples under
        seqs that were taken here."""
        if self.neighbours.taken_before(event, self.ledger):
            return self._rejoin("upstream began anew, with other tuples than those that were taken here")
        return self.arrived(event)

    def processed_beside(self, event: on.Processed) -> Commands:
        """Writes the step into the books. Its output stays inside the subjob."""
        self.book(event)
        inner = () if Stream(event.element) in self.wiring.leaving else (self.publish(event.element),)
        return (*inner, *self._release_inner())

    def element_acked(self, event: on.Acked) -> Commands:
        """Trims a queue between its own elements. Acks of consumers outside the subjob count only in the
        primary's queue-trimming message."""
        if event.consumer not in self.wiring.inputs:
            return ()
        self.ledger, held_from = self.ledger.acked(event)
        return (do.Trim(event.stream, held_from),)

    def queue_trimming(self, event: on.QueueTrimming) -> Commands:
        """Drops the output that all consumers have released."""
        if event.epoch != self.epoch:
            return ()
        self.neighbours.keep_trees(event.trees)
        return tuple(c for s, high in event.high.items() for c in self._drop_duplicates(s, high))

    def determinants_arrived(self, event: on.DeterminantsArrived) -> Commands:
        """Adopts the primary's determinants and confirms them. Rejoins with the primary's state if earlier
        ones are missing."""
        return self._follow_choices(event) if event.epoch == self.epoch else ()

    def producer_answers_beside(self, event: on.Redirected) -> Commands:
        """From now on refuses tuples of older producers of the stream."""
        self.another_producer(event)
        return ()

    def resumes_beside(self, event: on.Resumes) -> Commands:
        """Rejoins with the primary's state if the producer no longer holds the next tuples."""
        return self._rejoin("upstream no longer has what follows this state") if self.missed(event) else ()

    def _run(self, checkpoint: Checkpoint) -> Commands:
        self.forget()
        self.leadership, self.running = self.leadership.in_epoch(checkpoint.epoch), True
        self.ledger = Ledger.restored(self.wiring, checkpoint)
        self.restore_reports(checkpoint)
        done = {
            s: max(e.positions.get(s, Seq(0)) for e in checkpoint.elements.values())
            for s in self.wiring.entering
        }
        for (
            name,
            e,
        ) in checkpoint.elements.items():  # held output was made from input before `done`
            if e.held.stop:
                self.logs[Stream(name)].append(Step(Seq(0), e.held.stop, e.selection, self._zero, done))
        inputs = tuple(do.ReadInput(s, checkpoint.position(s) or Seq(0)) for s in self.wiring.entering)
        return (do.Store(checkpoint), do.Run(self.epoch, checkpoint, self.determinants), *inputs)

    def _follow_choices(self, event: on.DeterminantsArrived) -> Commands:
        if event.number != self._heard_upto + 1:
            return self._rejoin(f"determinants {self._heard_upto + 1} are missing")
        self._heard_upto = event.number
        return (do.Choose(event.determinants), do.ConfirmDeterminants(self.epoch, event.number))

    def _rejoin(self, why: str) -> Commands:
        self.forget()
        self.ledger = Ledger.empty(self.wiring)
        self.neighbours.forget_producers()
        return (do.StepDown(why), do.ReadLease("to follow anew"))

    def _drop_duplicates(self, stream: Stream, high: Marks) -> Commands:
        upto = self.ledger.queues[stream].trimmed
        log = self.logs[stream]
        while (step := log.find(upto)) is not None and older(step.high, high):
            upto = step.stop
        log.trim(upto)
        self.ledger = self.ledger.released(stream, upto)
        return (do.Trim(stream, upto),)

    def follow_tick(self, now: Millis) -> Commands:
        if not self.running or not self._due(now):
            return ()
        return (do.ReportProgress(self.epoch, self._positions()),)

    # --- take-over

    def lease_won_beside(self, event: on.LeaseWon) -> Commands:
        """Becomes primary with its running state; sends its logged output."""
        record = event.record
        self.leadership, self.running = self.leadership.won(record), False
        lead = do.Lead(record.epoch, None, "continues what it has been running", live=True)
        self.resuming.takes_up(
            {s: self.ledger.received(s) for s in self.wiring.entering}, differs=not self.exact
        )
        if not self.exact:
            return (lead,)
        return (lead, *(self.publish(str(s)) for s in self.wiring.inputs))

    def start_inputs(self, checkpoint: Checkpoint | None) -> Commands:
        """Starts from nothing: an arbitrary network now makes other tuples than an earlier life sent."""
        differs = self.determinants or not self.exact
        self.resuming.takes_up(dict.fromkeys(self.wiring.entering, Seq(0)), differs=differs)
        return tuple(do.ReadInput(s, Seq(0)) for s in self.wiring.entering)

    def sent_as_new(self) -> Commands:
        """The held tuples got new seqs. A secondary that joined during the roll call has them under the old
        seqs, so it gets a new state."""
        self._offered = self._peer = None
        return self._confirming.begin_again()

    def renumber(self, stream: Stream, first: Seq) -> Commands:
        self.logs[stream] = self.logs[stream].moved(self.ledger.queues[stream].trimmed, first)
        return super().renumber(stream, first)

    # --- migration: the secondary is live already

    stands_still = False

    def ready_for(self, target: str) -> bool:
        return self.secondary == target and self._peer is not None and self.roll is None

    # --- a live change

    @property
    def settled(self) -> bool:
        return super().settled and not self._confirming.fencing

    def retune(self, like: Instance) -> None:
        super().retune(like)
        if isinstance(like, ActiveStandby):
            self.interval = like.interval

    # --- primary

    def consumer_heard(self, event: on.Subscribed) -> Commands:
        return self.resuming.hear(event)

    def secondary_joined(self, event: on.SecondaryJoined) -> Commands:
        """Gives the secondary its state. Where determinants are logged, a former secondary is fenced off
        first."""
        self._offered = self._peer = None
        return (*self._confirming.joined(event.name), *self.moves.handle(event))

    def secondary_left(self, event: on.SecondaryLeft) -> Commands:
        """Stops releasing input. Where determinants are logged, takes the Lease again, so that the lost
        secondary cannot win it."""
        left: Commands = ()
        if event.name == self.secondary:
            self._offered = self._peer = None
            left = self._confirming.left()
        return (*left, *self.moves.handle(event))

    def checkpoint_stored(self, event: on.CheckpointStored) -> Commands:
        """The secondary has the state: from now on its positions count for acks."""
        return self._stored(event.number) if event.epoch == self.epoch else ()

    def secondary_at(self, event: on.SecondaryAt) -> Commands:
        """Notes the secondary's positions: upstream keeps what either instance still needs."""
        if event.epoch == self.epoch and self._peer is not None:
            self._peer = event.positions
        return ()

    def determinants_stored(self, event: on.DeterminantsStored) -> Commands:
        """Sends the output that waited for this confirmation."""
        if event.epoch != self.epoch:
            return ()
        return self._confirming.publish(self._confirming.pending.stored(event.number))

    def _stored(self, number: int) -> Commands:
        """The secondary has the state. Output that was made before the state and held back can be sent
        now."""
        offered = self._offered
        if offered is None or offered.number != number:
            return ()
        self._peer = {s: offered.position(s) or Seq(0) for s in self.wiring.entering}
        self._offered = None
        made = {s: offered.elements[s].held.stop for s in self.wiring.leaving if self.determinants}
        return self._confirming.publish(Free(upto=made))

    def still_ours(self) -> Commands:
        return self._confirming.still_ours()

    def renewed(self) -> Commands:
        if not self._confirming.fencing:
            return ()
        return (*self._confirming.publish(self._confirming.renewed()), *self._confirming.begin())

    def _offer(self, name: str) -> Commands:
        self._peer, self.number = None, self.number + 1
        self._offered, self._offered_at = self.state(self.number), None
        return (do.Ship(self._offered, None),)

    def _begin_again(self, now: Millis) -> Commands:
        """If a state or determinants stay unconfirmed for too long, the secondary gets a new state."""
        since = self._offered_at = now if self._offered_at is None else self._offered_at
        late = self._offered is not None and now - since > self.interval * RESEND
        if not self._confirming.overdue(now, self.interval) and not late:
            return ()
        self._offered = self._peer = None
        return self._confirming.begin_again()

    def book(self, event: on.Processed) -> Range:
        """Logs the step's watermarks as positions on the subjob's inputs: when an output tuple is released,
        the log of the elements before this one may already be trimmed. `at`: all output before the step was
        certainly made from input before these positions."""
        before = self.ledger.elements[event.element]
        made = super().book(event)
        if len(made):
            at, high = self._certain(before.positions), newest(self.logs, event.positions)
            step = Step(made.start, made.stop, before.selection, at, high)
            self.logs[Stream(event.element)].append(step)
        if self.role is Role.PRIMARY:
            self._confirming.add(event.choice, Stream(event.element), made.stop)
        return made

    def processed(self, event: on.Processed) -> Commands:
        held = self.roll is not None or self._confirming.holds
        publish = (
            () if held and Stream(event.element) in self.wiring.leaving else (self.publish(event.element),)
        )
        return (*publish, *self._release_inner())

    def acked(self, event: on.Acked) -> Commands:
        if event.stream in self.wiring.leaving:
            self.logs[event.stream].trim(self.ledger.queues[event.stream].trimmed)
        return ()

    def lead_tick(self, now: Millis) -> Commands:
        log = (*self.resuming.tick(now), *self._begin_again(now), *self._log_message())
        if not self._due(now) or self._peer is None:
            return log
        return (*log, *self._acks(self._peer), *self._queue_trimming())

    def _log_message(self) -> Commands:
        message = self._confirming.message()
        return (do.ShipDeterminants(self.epoch, *message),) if message else ()

    def _acks(self, peer: Marks) -> Commands:
        """Upstream may drop what both instances have processed. No acks after a hand-over: the target may be
        leading already."""
        if self.move is not None and self.move.handed:
            return ()
        mine = self._positions()
        return tuple(do.SendAck(s, 1, min(mine[s], peer.get(s, Seq(0)))) for s in self.wiring.external)

    def _queue_trimming(self) -> Commands:
        high = {}
        for stream in self.wiring.leaving:
            upto = self.ledger.queues[stream].trimmed
            if upto:
                high[stream] = self._input_before(stream, upto)
        return (do.SendQueueTrimming(self.epoch, high, self.neighbours.trees),) if high else ()

    def _certain(self, positions: Marks) -> dict[Stream, Seq]:
        """Maps positions on an element's inputs to positions on the subjob's inputs, rounding down:
        everything made from input before the result lies before the given positions. (A position on another
        element's stream may lie inside the output of one of that element's steps.)"""
        found: dict[Stream, Seq] = {}
        for stream, position in positions.items():
            origin = self._input_before(stream, position) if stream in self.logs else {stream: position}
            for s, p in origin.items():
                found[s] = min(found.get(s, p), p)
        return found

    def _input_before(self, stream: Stream, position: Seq) -> dict[Stream, Seq]:
        """Like `_certain`, for a position on the stream of an element: the input positions at which the step
        began that made the tuple there."""
        step = self.logs[stream].find(position)
        if step is not None:
            return dict(step.at)
        whole = (
            position >= self.ledger.queues[stream].next
        )  # False: the tuple was made in another mode, and its step is not in the log
        return self._certain(self.ledger.elements[stream].positions) if whole else self._zero

    @property
    def _zero(self) -> dict[Stream, Seq]:
        return dict.fromkeys(self.wiring.entering, Seq(0))

    # --- both

    def _release_inner(self) -> Commands:
        """Trims queues between elements of the subjob by what was processed: the elements fail only together.
        Trims their logs, too: the logs of later elements hold positions on the subjob's inputs."""
        processed = {s: self.ledger.position(s) for s in self.logs if s not in self.wiring.leaving}
        for stream, position in processed.items():
            self.logs[stream].trim(position)
        return tuple(do.SendAck(s, 1, p) for s, p in processed.items())

    def _positions(self) -> dict[Stream, Seq]:
        return {s: self.ledger.position(s) for s in self.wiring.entering}

    def _due(self, now: Millis) -> bool:
        if not due(self._told_at, now, self.interval):
            return False
        self._told_at = now
        return True

    @property
    def protected(self) -> bool:
        return self._peer is not None

    @property
    def secondary(self) -> str | None:
        return self._confirming.secondary

    TRANSITIONS = Instance.TRANSITIONS.with_state(State.RUNNING, like=State.STANDBY).extended(
        row((State.STANDBY, State.RUNNING), on.CheckpointArrived, checkpoint_arrived),
        row(State.RUNNING, on.Arrived, arrived_beside),
        row(State.RUNNING, on.Processed, processed_beside),
        row(State.RUNNING, on.Acked, element_acked),
        row(State.RUNNING, on.QueueTrimming, queue_trimming),
        row(State.RUNNING, on.DeterminantsArrived, determinants_arrived),
        row(State.RUNNING, on.Redirected, producer_answers_beside),
        row(State.RUNNING, on.Resumes, resumes_beside),
        row(State.RUNNING, on.LeaseWon, lease_won_beside),
        ignored(State.RUNNING, "only upstream backup asks for a replay", on.Released),
        ignored(State.RUNNING, "only synchronized backups answer it", on.BackupRequested),
        ignored(
            State.STANDBY, "it has no state yet to which it belongs", on.QueueTrimming, on.DeterminantsArrived
        ),
        row(State.PRIMARY, on.SecondaryJoined, secondary_joined),
        row(State.PRIMARY, on.SecondaryLeft, secondary_left),
        row(State.PRIMARY, on.CheckpointStored, checkpoint_stored),
        row(State.PRIMARY, on.SecondaryAt, secondary_at),
        row(State.PRIMARY, on.DeterminantsStored, determinants_stored),
    )
