"""What every mode has in common: leadership (who holds the Lease), following, and the primary's books
(positions and output queues).

`TRANSITIONS` says what each role does on each event; a mode replaces rows and adds its own. A primary moves
when it is asked to (`moving`), and asks for a move itself when its backlog keeps growing.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import ClassVar

from understudy.modes import suspicion
from understudy.modes.books import Books
from understudy.modes.leadership import PATIENCE, WAIT, Claim, Leadership, Role
from understudy.modes.moving import Move, Moving, Phase
from understudy.modes.neighbours import Neighbours
from understudy.modes.renumbering import Numbering
from understudy.modes.resuming import Resuming
from understudy.modes.roll import RollCall
from understudy.modes.transitions import Impossible, LastEvents, State, Table, answer, ignored, row
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.commands import Commands
from understudy.protocol.delivered_acks import DeliveredAcks
from understudy.protocol.detector import Detector
from understudy.protocol.duplicates import Hole
from understudy.protocol.engine import Stand
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.events import Event
from understudy.protocol.failures import LoadWatch
from understudy.protocol.ids import Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Ledger, Wiring
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
# a roll call waits at least this many milliseconds: consumers give up a silent producer after one second
ROLL = 2_000


class Instance:
    """The part of an instance that no mode changes. Modes override the hooks at the end."""

    resuming: Resuming | None = None  # only in modes that continue from the state of a former life
    load: LoadWatch | None = None  # None: overload is not watched
    # whether a new life needs to know what was acked to the sources that the subjob reads
    sources_keep_acks = False
    sends_trees = False  # whether acks carry a savepoint tree
    ships_state = True  # whether a standby must receive state from the primary before it can take over
    ships_checkpoints = False  # whether the primary ships checkpoints again and again
    hold_back = False  # whether output waits until the secondary has the state or determinants behind it
    replicated = False  # whether all instances send output
    # whether a standby stores nothing of the primary: then it may suspect only a primary that it has heard
    holds_nothing = False
    # milliseconds that the holder of the Lease has to answer a question that was put into the Lease
    patience = PATIENCE
    roll_patience = ROLL
    # whether a move begins with a pause, and can be given up only by fencing off the target
    stands_still = True

    def __init__(self, name: str, wiring: Wiring, detector: Detector) -> None:
        self.leadership = Leadership(name, detector)
        self.wiring = wiring
        self.moves = Moving(self)
        self._last_events = LastEvents()
        self.books = Books.empty(wiring)
        self.number = 0  # number of the newest state that was sent to a secondary
        # not None: this life still waits for its consumers to say which seqs are taken
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
        """On which grounds this instance, as a standby, may try the Lease."""
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
        """Looks up the handler of the event in the mode's table. A pair of state and event without an entry
        raises."""
        self._last_events.note(event)
        state = self.current_state
        commands = answer(self, self.TRANSITIONS, state, event)
        if commands is None:
            raise self.impossible(state, event)
        early = self.numbering.early and state is self.current_state is State.PRIMARY
        return (*commands, *self._after_roll_call()) if early else commands

    def impossible(self, state: Enum, event: Event) -> Impossible:
        return Impossible(self.name, self.role.value, self.epoch, state, event, self._last_events.all)

    # --- Lease and suspicion

    def lease_seen_leading(self, event: on.LeaseSeen) -> Commands:
        """Steps down if another instance holds the Lease. Otherwise begins or ends the move that the Lease
        names."""
        self.leadership = self.leadership.saw(event.record)
        if event.record is not None and event.record.holder != self.name:
            return self._step_down(event.record.epoch)
        return (*self.still_ours(), *self.moves.handle(event))

    def lease_won(self, event: on.LeaseWon) -> Commands:
        """Becomes primary: with the state that was handed over, with the state that is stored here, or with
        none."""
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
        """A new life begins with the content of the checkpoint, or with nothing."""
        self.books = Books.of_new_life(self.wiring, checkpoint)
        self.neighbours.restore(checkpoint)
        self.neighbours.forget_producers()

    def _inheritance(self, record: LeaseRecord) -> tuple[Checkpoint | None, bool]:
        """What a new primary continues from, and whether that is exactly the state in which the former
        primary paused."""
        order = self.moves.inherited(record)
        self.moves.forget_order()
        if order is not None and order.checkpoint is not None:
            return order.checkpoint, True
        return self.stored(), order is not None

    def heard(self, event: on.KeepAlive) -> Commands:
        """Counts the keep-alive as a sign of life, unless it comes from an older epoch."""
        if event.epoch < self.epoch:
            return ()
        self.leadership = self.leadership.heard(event.now, event.epoch)
        if event.stalled is not None and self.role is Role.STANDBY and self.could_continue():
            return self.suspect(f"its engine stands still: {event.stalled}")
        return ()

    def tick_leading(self, event: on.Tick) -> Commands:
        """Does what is due: acks, checkpoints, the end of a roll call, the next phase of a move."""
        done = self.lead_tick(event.now)
        return (*done, *self._after_roll_call(), *self.moves.handle(event), *self.moves.watch_load(event.now))

    def newer_epoch(self, event: on.NewerEpoch) -> Commands:
        """If the reported epoch is newer than this instance's, steps down and drops all its state."""
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
        """Drops everything that only a primary knows."""
        self.leadership = self.leadership.left()
        self.books, self.neighbours = Books.empty(self.wiring), Neighbours()
        self.moves.forget()

    # --- migration

    def handed_over(self, event: on.HandedOver) -> Commands:
        """Tries the Lease: the primary has paused and asks this instance to succeed it."""
        if event.lease.epoch < self.epoch:
            return ()
        if event.checkpoint is None and not self.could_continue():
            return ()
        self.moves.ordered(event)
        self.leadership = self.leadership.with_lease(event.lease).in_epoch(event.lease.epoch)
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
        """Whether processing is paused for a move."""
        return self.stands_still and self.move is not None and self.move.phase is not Phase.JOINING

    # --- the primary's books

    @property
    def ledger(self) -> Ledger:
        return self.books.ledger

    @ledger.setter
    def ledger(self, ledger: Ledger) -> None:
        self.books = self.books.with_ledger(ledger)

    @property
    def numbering(self) -> Numbering:
        return self.books.numbering

    @numbering.setter
    def numbering(self, numbering: Numbering) -> None:
        self.books = self.books.with_numbering(numbering)

    def micro_batch_done(self, event: on.Processed) -> Commands:
        """Writes the step into the books. Sends its output, if the mode allows it at once."""
        self.book(event)
        commands, ahead = self.processed(event), self.books.ack_ahead(Stream(event.element))
        return (*commands, *self.consumer_acked(ahead)) if ahead is not None else commands

    def consumer_acked(self, event: on.Acked) -> Commands:
        """Trims the output queue. During a roll call the ack waits, because it counts in the seqs of an
        earlier life."""
        if self.books.too_early(event, roll_open=self.roll_open):
            self.numbering = self.numbering.with_early(event)
            return ()
        self.ledger, held_from = self.ledger.acked(event)
        if event.tree is not None:
            self.neighbours.acked_with(event.stream, event.consumer, event.tree)
        return (do.Trim(event.stream, held_from), *self.acked(event))

    def recovery_requested(self, event: on.RecoveryRequested) -> Commands:
        """Answers with the savepoint tree that came with the consumer's newest ack."""
        tree = self.neighbours.tree_of(event.stream, event.consumer)
        return (do.AnswerRecovery(event.stream, event.consumer, tree),)

    def consumer_subscribed(self, event: on.Subscribed) -> Commands:
        """Notes the consumer's position. During a roll call that is its answer; a late consumer may get a
        shift."""
        if self.ledger.queues[event.stream].replaced(event.consumer, event.epoch):
            return ()  # the consumer was replaced: it may have received more than its successor
        if (event.stream, event.consumer) in self.numbering.late:
            return self._late_answer(event)
        self.ledger = self.ledger.subscribed(event)
        return (*self._rebase(), *self.consumer_heard(event))

    def producer_answers(self, event: on.Redirected) -> Commands:
        """From now on refuses tuples of older producers of the stream. Repeats to the new producer the acks
        that it has not received."""
        self.another_producer(event)
        return self.redirected(event.stream)

    def secondary_joined(self, event: on.SecondaryJoined) -> Commands:
        """Notes the standby: it may be the target of a move."""
        return self.moves.handle(event)

    def secondary_left(self, event: on.SecondaryLeft) -> Commands:
        """Gives up a move to the standby that left."""
        return self.moves.handle(event)

    def asked_to_move(self, event: on.MigrationRequested) -> Commands:
        """Begins a move, unless one is under way."""
        return self.moves.handle(event)

    def paused(self, event: on.Paused) -> Commands:
        """Continues the move, because processing has paused."""
        return self.moves.handle(event)

    def another_producer(self, event: on.Redirected) -> None:
        before, self.ledger = self.ledger, self.ledger.redirected(event.stream, event.epoch)
        if self.ledger is not before:
            asked = self.goes_on_from(event.stream) if event.stream in before.producers else None
            self.neighbours.producer_replaced(event.stream, self.ledger.received(event.stream), asked)

    def _after_roll_call(self) -> Commands:
        """Applies the acks that came early, once the roll call is over and the seqs are settled."""
        if self.roll_open or not self.numbering.early:
            return ()
        self.numbering, early = self.numbering.settled()
        return tuple(c for event in early for c in self.consumer_acked(event))

    # --- consumers that were lost in the same failure

    def without_the_silent(self, now: Millis) -> bool:
        """Whether the roll call ends now although some consumers have not answered: they failed together with
        the former primary."""
        if self.roll is None:
            return False
        self.roll = self.roll.looked_at(now)
        if not self.roll.waited(now, max(WAIT * self.detector.tau, self.roll_patience)):
            return False
        self.numbering = self.numbering.without(self.roll.silent)
        return True

    def _late_answer(self, event: on.Subscribed) -> Commands:
        """A late consumer subscribes again, after the seqs were settled without it: serves it as it is, or
        with a shift if its tuples differ."""
        self.numbering = self.numbering.back((event.stream, event.consumer))
        if self.books.has_other_tuples(event):
            return self.late_consumer_differs(event)
        self.ledger = self.ledger.subscribed(event)
        return self.consumer_heard(event)

    def late_consumer_differs(self, event: on.Subscribed) -> Commands:
        """The late consumer has other tuples than this life under the same seqs: serves it with a shift."""
        self.books = self.books.with_shift(event)
        return ()

    def arrived(self, event: on.Arrived) -> Commands:
        """Takes the tuples that are new, and reports the tuples that are missing before them."""
        self.ledger, new = self.ledger.arrived(event)
        if new is None:
            return ()
        if event.mark is not None:
            self.neighbours.marked(event.stream, event.mark)
        return (*self.producer_diverges(event), *self._take(event.stream, new))

    def producer_diverges(self, event: on.Arrived) -> Commands:
        """Marks this life's state as lost if the producer has diverged from what an earlier life received."""
        overlooked = self._overlooked(event)
        if not self.books.diverges_with(event):
            return overlooked
        self.numbering = self.numbering.lost_state()
        return (*overlooked, *self._rebase())

    def _overlooked(self, event: on.Arrived) -> Commands:
        """The new producer reuses seqs that were received here for other tuples, because the producer's roll
        call was answered by a life of this subjob that has since been replaced. The other tuples under these
        seqs will not be taken: they are lost."""
        taken = self.neighbours.taken_before(event, self.ledger)
        self.neighbours.producer_spoke(event.stream)
        return (do.ReportLoss(event.stream, taken),) if taken else ()

    def goes_on_from(self, stream: Stream) -> Seq:
        """Where a subscription begins: after the received tuples; during a move at the position, because
        input that was received but not processed does not go to the target. So a producer that loses its
        state now has to make that input again."""
        return self.ledger.position(stream) if self.moving else self.ledger.received(stream)

    def book(self, event: on.Processed) -> Range:
        """Writes a step into the books: positions, selection, and the tuples that it emitted."""
        self.ledger, made = self.ledger.processed(event)
        return made

    def book_with_step(self, event: on.Processed, log: StepLog) -> Range:
        """Like `book`, and also logs which input the step took for the tuples that it emitted."""
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
        """Reports input that no process holds any longer, and continues after it."""
        skip = do.Skip(stream, missing.stop)
        return (do.ReportLoss(stream, missing), skip) if len(missing) else (skip,)

    def resumes(self, event: on.Resumes) -> Commands:
        """Continues where the producer can; reports as lost what the producer no longer holds."""
        if not self.missed(event):
            return ()
        self.books, gone = self.books.after_gap(event)
        return (*self._rebase(), *self.lost(event.stream, gone))

    def missed(self, event: on.Resumes) -> bool:
        """Whether input is missing. It is not, if another producer of the stream has sent it already."""
        return event.start > self.ledger.received(event.stream)

    def _rebase(self) -> Commands:
        """After a loss of state, lets new tuples take seqs that no consumer has received: the former tuples
        can't be made again."""
        if self.resuming is not None:
            self.resuming.call_roll_if_lossy()
            if self.roll is not None:
                return ()
        if not self.numbering.lossy:
            return ()
        return tuple(c for stream in self.wiring.leaving for c in self._rebase_one(stream))

    def _rebase_one(self, stream: Stream) -> Commands:
        self.books, first = self.books.after_loss(stream)
        return self.renumber(stream, first) if first is not None else ()

    def send_as_new(self, roll: RollCall) -> Commands:
        """Renumbers the held tuples, and all that follow, to seqs that no consumer has seen."""
        first = self.books.first_unseen(roll)
        self.numbering = self.numbering.diverging(first)
        return tuple(c for s in self.wiring.leaving for c in self.renumber(s, first[s]))

    def renumber(self, stream: Stream, first: Seq) -> Commands:
        """Gives the held tuples of a stream, and all that follow, seqs from `first` on."""
        held = self.ledger.queues[stream].held
        self.ledger = self.ledger.renumbered(stream, first)
        return (do.Renumber(stream, held, first), self.publish(str(stream)))

    def publish(self, element: str, upto: Seq | None = None) -> do.Publish:
        return self.books.publish(Stream(element), upto)

    def restore_reports(self, checkpoint: Checkpoint | None) -> None:
        """Restores what neighbours had reported to the life that made the checkpoint."""
        self.neighbours.restore(checkpoint)
        self.numbering = self.numbering.with_shifts(checkpoint.shifts if checkpoint else {})

    def state(self, number: int) -> Checkpoint:
        """All that another instance needs to continue from here."""
        trees, marks = self.neighbours.trees, self.neighbours.marks_at(self.ledger)
        books = self.ledger.checkpoint(self.epoch, number)
        return replace(books, trees=trees, marks=marks, shifts=self.numbering.shifts_by_stream)

    # --- a live change of mode

    def retune(self, like: Instance) -> None:
        """Takes over the settings of an instance of the same mode."""
        self.leadership = self.leadership.retuned(like.detector)

    @property
    def settled(self) -> bool:
        """Whether the mode may be changed now: no roll call, no move, no late consumer and no shift, which
        another mode might not know how to handle."""
        waits = self.roll_open or self.move is not None
        return not waits and not self.numbering.late and not self.numbering.shifts

    def stand(self, *, follows: bool) -> Stand:
        """What would happen to the subjob if this process ended now. `follows`: this standby hears a primary
        whose engine works."""
        if self.role is Role.PRIMARY:
            return Stand(leads=True, covered=self.protected, needed=self.ships_state)
        needed = not self.holds_nothing and self.could_continue()
        return Stand(leads=False, covered=follows, needed=needed)

    @property
    def warmed_up(self) -> bool:
        """Whether this mode has run long enough since it took over the books of another mode."""
        return True

    def taken_up(self) -> None:
        """Called after the books of another mode have been taken over."""

    # --- hooks

    @property
    def protected(self) -> bool:
        """As a primary: whether another instance could take over now with the mode's full guarantee."""
        return False

    @property
    def secondary(self) -> str | None:
        """As a primary: the instance that would take over."""
        return self.moves.follower

    def stored(self) -> Checkpoint | None:
        """The checkpoint that a new primary continues from."""
        return None

    def could_continue(self) -> bool:
        """As a standby: whether a take-over by this instance would lose nothing."""
        return True

    def ready_for(self, target: str) -> bool:
        """As a primary: whether a move to this instance can begin."""
        return self.moves.follower == target and not self.roll_open and not self.numbering.late

    def replays_from(self, stream: Stream, delivered: DeliveredAcks) -> Seq:
        """As a primary: where on an input a replay would begin if a standby took over now."""
        return self.ledger.position(stream)

    def loses_from(self, stream: Stream) -> Seq | None:
        """As a primary: from which position on the input would be lost if the subjob failed now. None in
        modes that lose nothing."""
        return None

    @property
    def unanswered(self) -> tuple[Stream, ...]:
        """Inputs whose producers have not answered a request yet, in modes that ask them for a savepoint."""
        return ()

    @property
    def awaits_numbers(self) -> bool:
        """Whether elements wait for the seqs at which they continue."""
        return False

    def move_state(self) -> Commands:
        """Called when processing has paused: gives the state to the target. A live state has number 0,
        because it is no checkpoint."""
        return self.moves.hand_over(replace(self.state(0), steps=self.steps()))

    def kept_back(self) -> Checkpoint | None:
        """As a primary that has handed over: the state from which it can continue if the target fails at
        once."""
        return None

    def keep(self, checkpoint: Checkpoint | None) -> None:
        """As a standby again, keeps the state that `kept_back` returned."""

    def steps(self) -> dict[Stream, tuple[Step, ...]]:
        """The steps that made the tuples in the output queues, in modes that log steps."""
        return {}

    def continue_moved(self, checkpoint: Checkpoint) -> Commands:
        """Continues as the new primary, with the live state that the former primary gave away."""
        resent = tuple(self.publish(name) for name in self.wiring.inputs)
        return (*resent, *(do.ReadInput(s, checkpoint.covers(s) or Seq(0)) for s in self.wiring.entering))

    def redirected(self, stream: Stream) -> Commands:
        """Sends a new producer of an input the acks that are not repeated regularly: it has not received
        earlier ones."""
        return ()

    @property
    def roll_open(self) -> bool:
        """Whether this life still waits for its consumers to say which seqs are taken."""
        return self.roll is not None

    def sent_as_new(self) -> Commands:
        """Called when the roll call is over and held tuples got new seqs."""
        return ()

    def renewed(self) -> Commands:
        """Called when the primary has taken the Lease again: its epoch is newer than any that a standby has
        seen."""
        return ()

    def still_ours(self) -> Commands:
        """Called when the primary has read the Lease and still holds it."""
        return ()

    def forget(self) -> None:
        """Drops all state of an earlier role."""
        self.roll = None
        if self.resuming is not None:
            self.resuming.forget()

    def start_inputs(self, checkpoint: Checkpoint | None) -> Commands:
        """Where a new primary begins to read its inputs."""
        raise NotImplementedError

    def consumer_heard(self, event: on.Subscribed) -> Commands:
        """Called when a consumer has reported its position."""
        return ()

    def lead_tick(self, now: Millis) -> Commands:
        return ()

    def follow_tick(self, now: Millis) -> Commands:
        return ()

    def mark(self, stream: Stream, position: Seq) -> Step | None:
        """The watermarks that are sent with the tuple before `position`, in modes that forward them."""
        return None

    def processed(self, event: on.Processed) -> Commands:
        held = self.resuming is not None and self.resuming.holds(Stream(event.element))
        return () if held else (self.publish(event.element),)

    def acked(self, event: on.Acked) -> Commands:
        return ()

    TRANSITIONS: ClassVar[Table[State]] = Table(
        row(State.STANDBY, on.LeaseSeen, suspicion.lease_seen_following),
        row(State.STANDBY, on.LeaseWon, lease_won),
        row(State.STANDBY, on.HolderHeard, suspicion.holder_heard),
        row(BOTH, on.FirstContact, suspicion.first_contact),
        row(BOTH, on.KeepAlive, suspicion.keep_alive),
        row(State.STANDBY, on.PeerClosed, suspicion.peer_closed),
        row(State.STANDBY, on.PeerUnreachable, suspicion.peer_unreachable),
        row(State.STANDBY, on.HandedOver, handed_over),
        row(State.STANDBY, on.Tick, suspicion.tick_following),
        ignored(State.STANDBY, "it does not lead", on.NewerEpoch, on.MigrationRequested),
        ignored(State.STANDBY, "it serves no consumers", on.Acked, on.Subscribed, on.RecoveryRequested),
        ignored(State.STANDBY, "it has no secondary", on.SecondaryJoined, on.SecondaryLeft, *OF_A_SECONDARY),
        ignored(State.STANDBY, "it reads no input", on.BackupRequested, on.RecoveryNotified),
        ignored(State.STANDBY, "the mode that sent it is not in force any more", *OF_A_PRIMARY),
        row(State.PRIMARY, on.LeaseSeen, lease_seen_leading),
        row(State.PRIMARY, on.LeaseWon, lease_renewed),
        row(State.PRIMARY, on.HolderHeard, suspicion.holder_lives),
        row(State.PRIMARY, on.PeerClosed, suspicion.former_primary_gone),
        row(State.PRIMARY, on.PeerUnreachable, suspicion.former_primary_gone),
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
