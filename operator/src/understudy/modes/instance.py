"""What every mode has in common: who leads, who follows, and the books of the primary.

`TRANSITIONS` says what each role does on each event; a mode replaces rows and adds its own. A primary may
be asked to move (`moving`), and asks for it itself when its backlog only grows (`load`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from enum import Enum
from typing import ClassVar

from understudy.modes.leadership import PATIENCE, WAIT, Claim, Leadership, Role
from understudy.modes.migration import Move, Phase
from understudy.modes.moving import Moving
from understudy.modes.neighbours import Neighbours
from understudy.modes.renumbering import Numbering
from understudy.modes.resuming import Resuming
from understudy.modes.roll import RollCall
from understudy.modes.transitions import SHOWN, Impossible, State, Table, answer, ignored, row
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.commands import Commands
from understudy.protocol.detector import Detector
from understudy.protocol.duplicates import Hole
from understudy.protocol.engine import Stand
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.events import Event
from understudy.protocol.failures import LoadWatch
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Ledger, Wiring
from understudy.protocol.told import Told
from understudy.protocol.watermarks import Step, StepLog

BOTH = (State.STANDBY, State.PRIMARY)
OF_A_PRIMARY = (
    on.CheckpointArrived,
    on.QueueTrimming,
    on.DeterminantsArrived,
    on.PermanentRequested,
    on.BackupExtended,
)
OF_A_SECONDARY = (on.CheckpointStored, on.SecondaryAt, on.DeterminantsStored)
# milliseconds that consumers have at least to answer: they give up a silent producer after one second
ROLL = 2_000


class Instance:
    """The part of an instance that no mode changes. Modes override the hooks at the end."""

    resuming: Resuming | None = None  # of modes that take up the state of a former life
    load: LoadWatch | None = None  # None: an overload is not watched for
    # whether a new life needs to know what was acked to the sources that the subjob reads
    sources_keep_acks = False
    sends_trees = False  # whether acks carry a savepoint tree
    ships_state = True  # whether a standby has to get a state from the primary before it can play the mode
    hold_back = False  # whether output waits until the secondary has what it came of
    replicated = False  # whether all instances send
    # whether a standby has nothing of its primary: then it must have heard the primary to suspect it
    holds_nothing = False
    patience = PATIENCE  # milliseconds that a holder has to answer a question in its Lease
    roll_patience = ROLL
    # whether a move begins with a pause, and can be given up only by fencing off the target
    stands_still = True

    def __init__(self, name: str, wiring: Wiring, detector: Detector) -> None:
        self.leadership = Leadership(name, detector)
        self.wiring = wiring
        self.moves = Moving(self)
        # as a standby: the primary stands still and wants to be succeeded
        self._handed: on.HandedOver | None = None
        self._last_events: deque[Event] = deque(maxlen=SHOWN)
        self.ledger = Ledger.empty(wiring)
        self.number = 0  # of the newest state that was sent to a secondary
        self.numbering = Numbering()
        # this life still has to hear from its consumers which seqs are taken
        self.roll: RollCall | None = None
        self.neighbours = Neighbours()

    # --- leadership

    @property
    def name(self) -> str:
        return self.leadership.name

    @property
    def role(self) -> Role:
        return self.leadership.role

    @property
    def epoch(self) -> Epoch:
        return self.leadership.epoch

    @property
    def lease(self) -> LeaseRecord | None:
        return self.leadership.lease

    @property
    def detector(self) -> Detector:
        return self.leadership.detector

    def claim(self) -> Claim:
        """As a standby: what it may claim the Lease with."""
        return Claim(self.could_continue(), self.holds_nothing, self.patience)

    def decided(self, decision: tuple[Leadership, Commands]) -> Commands:
        self.leadership, commands = decision
        return commands

    def suspect(self, why: str, *, closed: bool = False) -> Commands:
        return self.decided(self.leadership.suspects(why, self.claim(), closed=closed))

    # --- events

    @property
    def current_state(self) -> State:
        return State.PRIMARY if self.leadership.role is Role.PRIMARY else State.STANDBY

    def handle(self, event: Event) -> Commands:
        """Look the event up in the table of the mode. A pair that is not there raises."""
        self._note(event)
        state = self.current_state
        commands = answer(self, self.TRANSITIONS, state, event)
        if commands is None:
            raise self.impossible(state, event)
        early = self.numbering.early and state is self.current_state is State.PRIMARY
        return (*commands, *self._after_roll_call()) if early else commands

    def _note(self, event: Event) -> None:
        """Of ticks in a row only the last is kept."""
        events = self._last_events
        if isinstance(event, on.Tick) and events and isinstance(events[-1], on.Tick):
            events.pop()
        events.append(event)

    def impossible(self, state: Enum, event: Event) -> Impossible:
        return Impossible(self.name, self.role.value, self.epoch, state, event, tuple(self._last_events))

    # --- Lease and suspicion

    def lease_seen_following(self, event: on.LeaseSeen) -> Commands:
        """Follows the holder. Tries the Lease if it is free, or if its holder's process has ended; without
        state here, only after 6 τ."""
        return self.decided(self.leadership.follows(event.record, self.claim()))

    def lease_seen_leading(self, event: on.LeaseSeen) -> Commands:
        """Steps down if another holds the Lease. Else begins or ends the move that the Lease names."""
        self.leadership = self.leadership.saw(event.record)
        if event.record is not None and event.record.holder != self.name:
            return self._step_down(event.record.epoch)
        return (*self.still_ours(), *self.moves.handle(event))

    def lease_won(self, event: on.LeaseWon) -> Commands:
        """Leads: with the state that was handed over, with the state that is stored here, or with none."""
        record = event.record
        self.leadership = self.leadership.won(record)
        checkpoint, live = self._inheritance(record)
        self.open_books(checkpoint)
        if checkpoint is not None and live:
            return (
                do.Lead(record.epoch, checkpoint, "continues as handed over"),
                *self.continue_moved(checkpoint),
            )
        why = f"continues from checkpoint {checkpoint.number}" if checkpoint else "starts empty"
        return (do.Lead(record.epoch, checkpoint, why), *self.start_inputs(checkpoint))

    def lease_renewed(self, event: on.LeaseWon) -> Commands:
        """Continues to lead in the new epoch: an instance that it fences off can no longer win the Lease."""
        self.leadership = self.leadership.renewed(event.record)
        return (*self.renewed(), *self.moves.handle(event))

    def open_books(self, checkpoint: Checkpoint | None) -> None:
        """A new life begins with what is in the checkpoint, or with nothing."""
        self.numbering = Numbering()
        self.told_before(checkpoint)
        self.ledger = Ledger.restored(self.wiring, checkpoint) if checkpoint else Ledger.empty(self.wiring)
        self.neighbours.forget_producers()

    def _inheritance(self, record: LeaseRecord) -> tuple[Checkpoint | None, bool]:
        """What a new primary continues from, and whether that is exactly where the former one stood still.

        It is if the Lease went from hand to hand: a primary that gives up a move takes the Lease again first.
        """
        handed, self._handed = self._handed, None
        live = handed is not None and handed.lease.epoch + 1 == record.epoch
        if live and handed is not None and handed.checkpoint is not None:
            return handed.checkpoint, True
        return self.stored(), live

    def holder_heard(self, event: on.HolderHeard) -> Commands:
        """Reads the Lease again: its holder lives, another instance hears it."""
        self.holder_lives(event)
        return (do.ReadLease(f"{event.by} hears the holder: it lives"),)

    def holder_lives(self, event: on.HolderHeard) -> Commands:
        """No longer tries the Lease."""
        self.leadership = self.leadership.holder_lives()
        return ()

    def first_contact(self, event: on.FirstContact) -> Commands:
        """The connection is being made: until then silence means nothing."""
        return self.heard(on.KeepAlive(event.until, event.epoch))

    def keep_alive(self, event: on.KeepAlive) -> Commands:
        """The primary lives. A standby with state tries the Lease if the primary's engine stands still."""
        self.leadership = self.leadership.connected(event.epoch)
        return self.heard(event)

    def heard(self, event: on.KeepAlive) -> Commands:
        """A sign of life, if it is not of an older epoch."""
        if event.epoch < self.epoch:
            return ()
        self.leadership = self.leadership.heard(event.now, event.epoch)
        if event.stalled is not None and self.role is Role.STANDBY and self.could_continue():
            return self.suspect(f"its engine stands still: {event.stalled}")
        return ()

    def peer_closed(self, event: on.PeerClosed) -> Commands:
        """Suspects the primary: its process is dead. With state here, tries the Lease; else asks the
        holder."""
        return self.suspect("its connection closed: the process is dead", closed=True)

    def peer_unreachable(self, event: on.PeerUnreachable) -> Commands:
        """Suspects the primary: no connection could be made. With state here, tries the Lease; else asks the
        holder."""
        return self.suspect("no connection could be made")

    def former_primary_gone(self, event: on.PeerClosed | on.PeerUnreachable) -> Commands:
        """Watches the former primary no longer."""
        self.leadership = self.leadership.not_watching()
        return ()

    def tick_following(self, event: on.Tick) -> Commands:
        """Suspects a primary that has been silent for longer than τ."""
        now = event.now
        self.leadership = self.leadership.ticked(now)
        if self.detector.suspects(now):
            return self.suspect(f"no keep-alive for {self.detector.tau} ms")
        if self.leadership.holder_ended:
            return self.decided(self.leadership.waits(now))
        return self.follow_tick(now)

    def tick_leading(self, event: on.Tick) -> Commands:
        """Does what is due: acks, checkpoints, the end of a roll call, the next phase of a move."""
        done = self.lead_tick(event.now)
        return (*done, *self._after_roll_call(), *self.moves.handle(event), *self.moves.watch_load(event.now))

    def newer_epoch(self, event: on.NewerEpoch) -> Commands:
        """Steps down and forgets everything, if the epoch is newer than its own."""
        return self._step_down(event.epoch)

    def _step_down(self, epoch: Epoch) -> Commands:
        if epoch <= self.epoch:
            return ()
        why = f"epoch {epoch} has begun, ours was {self.epoch}"
        if self.move is None:
            self.leadership = self.leadership.suspected_in_vain()
        keep = self.kept_back() if self.move is not None and self.move.handed else None
        self.leave_role()
        self.forget()
        self.keep(keep)
        return (do.StepDown(why, keep), do.ReadLease("to follow the new primary"))

    def leave_role(self) -> None:
        """Nothing of what was known as a primary counts any more."""
        self.leadership = self.leadership.left()
        self.ledger, self.neighbours, self.numbering = Ledger.empty(self.wiring), Neighbours(), Numbering()
        self.moves.forget()

    # --- migration

    def handed_over(self, event: on.HandedOver) -> Commands:
        """Tries the Lease: the primary stands still and wants to be succeeded."""
        if event.lease.epoch < self.epoch:
            return ()
        if event.checkpoint is None and not self.could_continue():
            return ()
        self.leadership, self._handed = (
            self.leadership.with_lease(event.lease).in_epoch(event.lease.epoch),
            event,
        )
        kept = (do.Store(event.checkpoint),) if event.checkpoint is not None else ()
        why = f"{event.lease.holder} hands over"
        return (
            *kept,
            *self.decided(self.leadership.tries(why, planned=event.lease.successor is not None)),
        )

    @property
    def move(self) -> Move | None:
        """As a primary: the move that is under way."""
        return self.moves.move

    @property
    def moving(self) -> bool:
        """Whether processing stands still for a move."""
        return self.stands_still and self.move is not None and self.move.phase is not Phase.JOINING

    # --- the primary's books

    def micro_batch_done(self, event: on.Processed) -> Commands:
        """Writes the step into the books; sends its output, if the mode lets it go at once."""
        self.book(event)
        return (*self.processed(event), *self._acked_ahead(Stream(event.element)))

    def consumer_acked(self, event: on.Acked) -> Commands:
        """Trims the output queue. During a roll call the ack waits: it speaks of the seqs of an earlier
        life."""
        if self.roll_open and event.stream in self.wiring.leaving:
            return self._too_early(event)
        if (event.stream, event.consumer) in self.numbering.late:
            return self._too_early(event)
        self.ledger, held_from = self.ledger.acked(event)
        if event.tree is not None:
            self.neighbours.acked_with(event.stream, event.consumer, event.tree)
        return (do.Trim(event.stream, held_from), *self.acked(event))

    def recovery_requested(self, event: on.RecoveryRequested) -> Commands:
        """Answers with the savepoint tree that came with the consumer's newest ack."""
        tree = self.neighbours.tree_of(event.stream, event.consumer)
        return (do.AnswerRecovery(event.stream, event.consumer, tree),)

    def consumer_subscribed(self, event: on.Subscribed) -> Commands:
        """Notes what the consumer has. In a roll call that is its answer; a late consumer may be given a
        shift."""
        if self.ledger.queues[event.stream].replaced(event.consumer, event.epoch):
            return ()  # it may have had more than the life that has taken its place
        if (event.stream, event.consumer) in self.numbering.late:
            return self._late_answer(event)
        self.ledger = self.ledger.subscribed(event)
        return (*self._rebase(), *self.consumer_heard(event))

    def producer_answers(self, event: on.Redirected) -> Commands:
        """From here on refuses what older producers of the stream still send; repeats the acks that the new
        one has not heard."""
        self.another_producer(event)
        return self.redirected(event.stream)

    def secondary_joined(self, event: on.SecondaryJoined) -> Commands:
        """It may be the target of a move."""
        return self.moves.handle(event)

    def secondary_left(self, event: on.SecondaryLeft) -> Commands:
        """A move to it is given up."""
        return self.moves.handle(event)

    def asked_to_move(self, event: on.MigrationRequested) -> Commands:
        """Begins a move, if none is under way."""
        return self.moves.handle(event)

    def paused(self, event: on.Paused) -> Commands:
        """Goes on with the move: processing stands still now."""
        return self.moves.handle(event)

    def another_producer(self, event: on.Redirected) -> None:
        before, self.ledger = self.ledger, self.ledger.redirected(event.stream, event.epoch)
        if self.ledger is not before:
            asked = self.goes_on_from(event.stream) if event.stream in before.producers else None
            self.neighbours.producer_replaced(event.stream, self.ledger.received(event.stream), asked)

    def _acked_ahead(self, stream: Stream) -> Commands:
        """An ack that was ahead of the sequencer, because an earlier life had got further, counts when that
        is reached: a consumer that has all may never ack again."""
        queue = self.ledger.queues[stream]
        if self.numbering.lossy or not queue.acks or queue.trimmed >= min(queue.released_by_all, queue.next):
            return ()
        consumer, known = min(queue.acks.items(), key=lambda item: item[1].released)
        return self.consumer_acked(on.Acked(stream, consumer, 1, known.released, known.epoch))

    def _too_early(self, event: on.Acked) -> Commands:
        self.numbering = self.numbering.with_early(event)
        return ()

    def _after_roll_call(self) -> Commands:
        """Seqs are settled: early acks count now."""
        if self.roll_open or not self.numbering.early:
            return ()
        self.numbering, early = self.numbering.settled()
        return tuple(c for event in early for c in self.consumer_acked(event))

    # --- consumers that were lost in the same failure

    def without_the_silent(self, roll: RollCall | None, now: Millis) -> bool:
        """Whether a roll call ends here though some have not answered: they were lost in the same failure."""
        if roll is None or not roll.waited(now, max(WAIT * self.detector.tau, self.roll_patience)):
            return False
        self.numbering = self.numbering.without(roll.silent)
        return True

    def _late_answer(self, event: on.Subscribed) -> Commands:
        """A late consumer comes back. The seqs were settled without it."""
        self.numbering = self.numbering.back((event.stream, event.consumer))
        first, held = self.numbering.diverged_at.get(event.stream), self.ledger.queues[event.stream].held
        if event.start < held.start if first is None else event.start > first:
            return self.late_consumer_differs(event)
        self.ledger = self.ledger.subscribed(event)
        return self.consumer_heard(event)

    def late_consumer_differs(self, event: on.Subscribed) -> Commands:
        """The late consumer has tuples of the former life under seqs that this life gave to other tuples.
        It keeps its own count: the seqs of what is sent to it, and of its acks, are shifted."""
        reader, first = (event.stream, event.consumer), self.numbering.diverged_at[event.stream]
        self.numbering = self.numbering.shifted(reader, event.start - first)
        self.ledger = self.ledger.subscribed(replace(event, start=first))
        return ()

    def arrived(self, event: on.Arrived) -> Commands:
        """Takes what is new, and reports what is missing before it."""
        self.ledger, new = self.ledger.arrived(event)
        if new is None:
            return ()
        if event.mark is not None:
            self.neighbours.marked(event.stream, event.mark)
        return (*self.producer_diverges(event), *self._take(event.stream, new))

    def producer_diverges(self, event: on.Arrived) -> Commands:
        """The producer may send other tuples than an earlier life of this subjob had under these seqs:
        then what is made of them is new, too."""
        overlooked, resumed = self._overlooked(event), self.numbering.resumed.get(event.stream)
        if self.numbering.lossy or event.anew is None or resumed is None or event.anew < resumed:
            return overlooked
        self.numbering = self.numbering.lost_state()
        return (*overlooked, *self._rebase())

    def _overlooked(self, event: on.Arrived) -> Commands:
        """The new producer gives known seqs to other tuples, because a life of this subjob that was
        replaced has answered the producer's roll call. The other tuples under these seqs will not be
        taken: they are lost."""
        taken = self.neighbours.taken_before(event, self.ledger)
        self.neighbours.producer_spoke(event.stream)
        return (do.ReportLoss(event.stream, taken),) if taken else ()

    def goes_on_from(self, stream: Stream) -> Seq:
        """Where a subscription begins. During a move that is the position: input that only waits here does
        not go along, so a producer that loses its state now has to make it again."""
        return self.ledger.position(stream) if self.moving else self.ledger.received(stream)

    def diverged_for(self, stream: Stream, consumer: Consumer) -> Seq | None:
        """From this seq on the stream has other tuples than the consumer's own consumers may have got
        something of: it diverged, and no life of the consumer has released anything behind that."""
        known, at = self.ledger.queues[stream].acks.get(consumer), self.numbering.diverged_at.get(stream)
        return at if known is not None and at is not None and known.released <= at else None

    def book(self, event: on.Processed) -> Range:
        """Write a step into the books: positions, selection, and what it emitted."""
        self.ledger, made = self.ledger.processed(event)
        return made

    def book_with_step(self, event: on.Processed, log: StepLog) -> Range:
        """As `book`; and note in the log which input the step took for what it emitted."""
        before = self.ledger.elements[event.element]
        self.ledger, made = self.ledger.processed(event)
        if len(made):
            log.append(Step(made.start, made.stop, before.selection, before.positions, event.positions))
        return made

    def _take(self, stream: Stream, new: Range | Hole) -> Commands:
        match new:
            case Hole():
                self.ledger = self.ledger.skipped_to(stream, new.arrived.stop)
                return (*self.lost(stream, new.missing), do.Take(stream, new.arrived))
            case Range():
                return (do.Take(stream, new),) if len(new) else ()

    def lost(self, stream: Stream, missing: Range) -> Commands:
        """Goes on behind input that nobody has any more."""
        skip = do.Skip(stream, missing.stop)
        return (do.ReportLoss(stream, missing), skip) if len(missing) else (skip,)

    def resumes(self, event: on.Resumes) -> Commands:
        """Goes on where the producer can; reports as lost what the producer no longer has."""
        if not self.missed(event):
            return ()
        received = self.ledger.received(event.stream)
        self.ledger, self.numbering = (
            self.ledger.moved(event.stream, event.start),
            self.numbering.lost_state(),
        )
        lost = self.lost(
            event.stream, Range(Seq(min(max(event.released, received), event.start)), event.start)
        )
        return (*self._rebase(), *lost)

    def missed(self, event: on.Resumes) -> bool:
        """Whether input is missing. It is not if another producer of the stream has sent it already."""
        return event.start > self.ledger.received(event.stream)

    def _rebase(self) -> Commands:
        """Without the lost state, tuples can't be made again: new ones must not take the seqs of old ones."""
        if self.resuming is not None:
            self.resuming.call_roll_if_lossy()
            if self.roll is not None:
                return ()
        if not self.numbering.lossy:
            return ()
        return tuple(c for stream in self.wiring.leaving for c in self._rebase_one(stream))

    def _rebase_one(self, stream: Stream) -> Commands:
        """Numbers on behind what any consumer has received."""
        queue = self.ledger.queues[stream]
        furthest = queue.received_by_any
        if furthest <= queue.next:
            if self.numbering.resumed and stream not in self.numbering.diverged_at:
                self.numbering = self.numbering.diverging({stream: queue.next})
            return ()
        self.numbering = self.numbering.diverging({stream: furthest})
        if len(queue.held):
            return self.renumber(stream, furthest)
        self.ledger = self.ledger.renumbered(stream, furthest)
        return ()

    def send_as_new(self, roll: RollCall) -> Commands:
        """Renumbers what is held, and all that follows, so that no consumer has seen the seqs. If all have
        forgotten what they had, seqs stay: consumers have to learn that something is missing before."""
        held_from = {s: self.ledger.queues[s].trimmed for s in self.wiring.leaving}
        first = {s: roll.furthest(s) or held_from[s] for s in self.wiring.leaving}
        self.numbering = self.numbering.diverging(first)
        return tuple(c for s in self.wiring.leaving for c in self.renumber(s, first[s]))

    def renumber(self, stream: Stream, first: Seq) -> Commands:
        """Gives the held tuples of a stream, and all that follow, seqs from `first` on."""
        held = self.ledger.queues[stream].held
        self.ledger = self.ledger.renumbered(stream, first)
        return (do.Renumber(stream, held, first), self.publish(str(stream)))

    def publish(self, element: str, upto: Seq | None = None) -> do.Publish:
        queue = self.ledger.queues[Stream(element)]
        limit = queue.next if upto is None else upto
        return do.Publish(queue.stream, limit, queue.ended and limit == queue.next)

    def told_before(self, checkpoint: Checkpoint | None) -> None:
        """What neighbours have told the life that made the checkpoint."""
        self.neighbours.restore(checkpoint)
        self.numbering = self.numbering.with_shifts(checkpoint.shifts if checkpoint else {})

    def state(self, number: int) -> Checkpoint:
        """All that another instance needs to go on from here."""
        trees, marks = self.neighbours.trees, self.neighbours.marks_at(self.ledger)
        books = self.ledger.checkpoint(self.epoch, number)
        return replace(books, trees=trees, marks=marks, shifts=self.numbering.shifts_by_stream)

    # --- a live change of mode

    def adopt(self, former: Instance) -> None:
        """As a primary, go on with the books of an instance that played another mode."""
        self.leadership = self.leadership.in_role(former.role)
        self.same_lease_as(former)
        self.ledger, self.numbering = former.ledger, replace(former.numbering, early={})
        self.neighbours = former.neighbours.without_producers()
        # new states get higher numbers, so a late confirmation of a former mode's state confirms none of them
        self.number = former.number
        if self.resuming is not None:
            self.resuming.adopt(former)
        self.taken_up()

    def follow_after(self, former: Instance) -> None:
        """As a standby that has nothing of the new mode yet."""
        self.same_lease_as(former)
        self.leadership = self.leadership.watching_as(former.detector)

    def same_lease_as(self, former: Instance) -> None:
        self.leadership = self.leadership.with_lease(former.lease).in_epoch(former.epoch)

    def retune(self, like: Instance) -> None:
        """Take over the settings of an instance of the same mode."""
        self.leadership = self.leadership.retuned(like.detector)

    @property
    def settled(self) -> bool:
        """Whether the mode may be changed now. Another mode may not know that a late consumer counts
        otherwise."""
        waits = self.roll_open or self.move is not None
        return not waits and not self.numbering.late and not self.numbering.shifts

    def stand(self, *, follows: bool) -> Stand:
        """What would become of the subjob if this process ended now. `follows`: as a standby, it hears a
        primary whose engine works."""
        if self.role is Role.PRIMARY:
            return Stand(leads=True, covered=self.protected, needed=self.ships_state)
        needed = not self.holds_nothing and self.could_continue()
        return Stand(leads=False, covered=follows, needed=needed)

    @property
    def warmed_up(self) -> bool:
        """Whether this mode has seen enough since it took up the books of another."""
        return True

    def taken_up(self) -> None:
        """The books of another mode have been taken over."""

    # --- hooks

    @property
    def protected(self) -> bool:
        """As a primary: whether somebody could take over now, with all that the mode promises."""
        return False

    @property
    def secondary(self) -> str | None:
        """As a primary: who would take over."""
        return self.moves.follower

    def stored(self) -> Checkpoint | None:
        """What a new primary continues from."""
        return None

    def could_continue(self) -> bool:
        """Whether a take-over by this standby would lose nothing."""
        return True

    def ready_for(self, target: str) -> bool:
        """Whether a move to this instance can begin."""
        return self.moves.follower == target and not self.roll_open and not self.numbering.late

    def replays_from(self, stream: Stream, told: Told) -> Seq:
        """As a primary: the position on an input at which a take-over at this moment would begin."""
        return self.ledger.position(stream)

    def move_state(self) -> Commands:
        """Processing stands still: give the state away. The number of a live state is 0: it is no
        checkpoint."""
        return self.moves.hand_over(replace(self.state(0), steps=self.steps()))

    def kept_back(self) -> Checkpoint | None:
        """After a hand-over: the state that can be taken up again if the target fails at once."""
        return None

    def keep(self, checkpoint: Checkpoint | None) -> None:
        """As a standby again, keep this state: it is what `kept_back` gave."""

    def steps(self) -> dict[Stream, tuple[Step, ...]]:
        """The steps behind what is in the queues, in modes that log them."""
        return {}

    def continue_moved(self, checkpoint: Checkpoint) -> Commands:
        """Go on as the new primary, with the live state that the former one gave away."""
        resent = tuple(self.publish(name) for name in self.wiring.inputs)
        return (*resent, *(do.ReadInput(s, checkpoint.covers(s) or Seq(0)) for s in self.wiring.entering))

    def redirected(self, stream: Stream) -> Commands:
        """A new producer of an input has not heard earlier acks. Send those again that are not repeated
        anyway."""
        return ()

    @property
    def roll_open(self) -> bool:
        """Whether this life still has to hear from its consumers which seqs are taken."""
        return self.roll is not None

    def sent_as_new(self) -> Commands:
        """The roll call is over, and held tuples have other seqs than before."""
        return ()

    def renewed(self) -> Commands:
        """The primary took the Lease again: its epoch is now newer than any that a standby can have seen."""
        return ()

    def still_ours(self) -> Commands:
        """The primary looked at the Lease and holds it as before."""
        return ()

    def forget(self) -> None:
        """Drop what belonged to an earlier role."""
        self.roll = None
        if self.resuming is not None:
            self.resuming.forget()

    def start_inputs(self, checkpoint: Checkpoint | None) -> Commands:
        """From where a new primary reads its inputs."""
        raise NotImplementedError

    def consumer_heard(self, event: on.Subscribed) -> Commands:
        """A consumer has said what it has."""
        return ()

    def lead_tick(self, now: Millis) -> Commands:
        return ()

    def follow_tick(self, now: Millis) -> Commands:
        return ()

    def mark(self, stream: Stream, position: Seq) -> Step | None:
        """The watermarks that go downstream with the tuple before `position`, in modes that forward them."""
        return None

    def processed(self, event: on.Processed) -> Commands:
        held = self.resuming is not None and self.resuming.holds(Stream(event.element))
        return () if held else (self.publish(event.element),)

    def acked(self, event: on.Acked) -> Commands:
        return ()

    TRANSITIONS: ClassVar[Table[State]] = Table(
        row(State.STANDBY, on.LeaseSeen, lease_seen_following),
        row(State.STANDBY, on.LeaseWon, lease_won),
        row(State.STANDBY, on.HolderHeard, holder_heard),
        row(BOTH, on.FirstContact, first_contact),
        row(BOTH, on.KeepAlive, keep_alive),
        row(State.STANDBY, on.PeerClosed, peer_closed),
        row(State.STANDBY, on.PeerUnreachable, peer_unreachable),
        row(State.STANDBY, on.HandedOver, handed_over),
        row(State.STANDBY, on.Tick, tick_following),
        ignored(State.STANDBY, "it does not lead", on.NewerEpoch, on.MigrationRequested),
        ignored(State.STANDBY, "it serves no consumers", on.Acked, on.Subscribed, on.RecoveryRequested),
        ignored(State.STANDBY, "it has no secondary", on.SecondaryJoined, on.SecondaryLeft, *OF_A_SECONDARY),
        ignored(State.STANDBY, "it reads no input", on.BackupRequested, on.RecoveryNotified),
        ignored(State.STANDBY, "the mode that sent it is not in force any more", *OF_A_PRIMARY),
        row(State.PRIMARY, on.LeaseSeen, lease_seen_leading),
        row(State.PRIMARY, on.LeaseWon, lease_renewed),
        row(State.PRIMARY, on.HolderHeard, holder_lives),
        row(State.PRIMARY, on.PeerClosed, former_primary_gone),
        row(State.PRIMARY, on.PeerUnreachable, former_primary_gone),
        row(State.PRIMARY, on.NewerEpoch, newer_epoch),
        row(State.PRIMARY, on.Tick, tick_leading),
        row(State.PRIMARY, on.Arrived, arrived),
        row(State.PRIMARY, on.Processed, micro_batch_done),
        row(State.PRIMARY, on.Acked, consumer_acked),
        row(State.PRIMARY, on.Subscribed, consumer_subscribed),
        row(State.PRIMARY, on.RecoveryRequested, recovery_requested),
        row(State.PRIMARY, on.Redirected, producer_answers),
        row(State.PRIMARY, on.Resumes, resumes),
        row(State.PRIMARY, on.SecondaryJoined, secondary_joined),
        row(State.PRIMARY, on.SecondaryLeft, secondary_left),
        row(State.PRIMARY, on.MigrationRequested, asked_to_move),
        row(State.PRIMARY, on.Paused, paused),
        ignored(
            State.PRIMARY, "the former primary sent it before this one led", on.HandedOver, *OF_A_PRIMARY
        ),
        ignored(State.PRIMARY, "the mode that sent it is not in force any more", *OF_A_SECONDARY),
        ignored(State.PRIMARY, "only upstream backup asks for a replay", on.Released),
        ignored(State.PRIMARY, "only synchronized backups answer it", on.BackupRequested),
        ignored(State.PRIMARY, "only savepoint mode waits for it", on.RecoveryNotified),
    )
