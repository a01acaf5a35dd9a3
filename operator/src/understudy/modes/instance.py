"""What every mode has in common: who leads, who follows, and the books of the one who leads.

| role      | on                    | becomes   | does |
|-----------|-----------------------|-----------|------|
| standby   | Lease free            | standby   | tries the Lease |
| standby   | Lease held by another | standby   | follows the holder |
| standby   | Lease won             | primary   | leads from what it has stored |
| standby   | followed peer closed or silent | standby | tries the Lease (compare-and-set) |
| standby   | the same, and no state here | standby | asks the holder through the Lease, then tries it |
| standby   | the holder's process has ended | standby | tries the Lease; without state, after 6 τ |
| standby   | followed peer says that its engine stands still | standby | tries the Lease, if it has state |
| primary   | newer epoch           | standby   | steps down, forgets everything |
| standby   | handed over to        | standby   | tries the Lease |

A primary may be asked to move (`moving`), and asks for it itself when its backlog only grows (`load`).
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from understudy.modes.migration import Move, Phase
from understudy.modes.moving import Moving
from understudy.modes.roll import Reader, RollCall
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.commands import Command
from understudy.protocol.detector import Detector
from understudy.protocol.duplicates import Hole
from understudy.protocol.engine import Stand
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.events import Event
from understudy.protocol.failures import LoadWatch
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq, Stream
from understudy.protocol.inquiry import Inquiry
from understudy.protocol.ledger import Ledger, Wiring
from understudy.protocol.savepoints import Tree, Trees
from understudy.protocol.told import Told
from understudy.protocol.watermarks import Step, StepLog

Commands = tuple[Command, ...]
WAIT = 6  # times τ: so long a standby without state waits, so that one with state can win the Lease
MARKS = 1_000  # watermarks kept per input: those behind the newest tuples, and behind the last checkpoint
# milliseconds that consumers have at least to answer: they give up a silent producer after one second
ROLL = 2_000
PATIENCE = (
    6_000  # milliseconds that a holder has to answer a question in its Lease, at which it looks every second
)


class Role(Enum):
    STANDBY = "standby"
    PRIMARY = "primary"


class Instance:
    """The part of an instance that no mode changes. Modes override the hooks at the end."""

    load: LoadWatch | None = None  # None: an overload is not watched for
    sources_keep_acks = (
        False  # whether a new life needs to know what was acked to the sources that the subjob reads
    )
    sends_trees = False  # whether acks carry a savepoint tree
    ships_state = True  # whether a standby has to get a state from the primary before it can play the mode
    hold_back = False  # whether output waits until the secondary has what it came of
    replicated = False  # whether all instances send
    holds_nothing = (
        False  # whether a standby has nothing of its primary: then it must have heard it to suspect it
    )
    patience = PATIENCE
    roll_patience = ROLL
    stands_still = (
        True  # whether a move begins with a pause, and can be given up only by fencing off the target
    )

    def __init__(self, name: str, wiring: Wiring, detector: Detector) -> None:
        self.name = name
        self.wiring = wiring
        self.detector = detector
        self.moves = Moving(self)
        self._handed: on.HandedOver | None = (
            None  # as a standby: a primary stands still and wants to be succeeded
        )
        self.role = Role.STANDBY
        self.epoch = Epoch(0)
        self.lease: LeaseRecord | None = None
        self.ledger = Ledger.empty(wiring)
        self.number = 0  # of the newest state that was sent to a secondary
        self.lossy = (
            False  # this life began without the state of the one before: seqs go on from what consumers have
        )
        self.anew: dict[
            Stream, Seq
        ] = {}  # from these seqs on, streams have other tuples than an earlier life sent
        self.resumed: dict[
            Stream, Seq
        ] = {}  # where a former life's state was taken up, which may have gone further
        self.marks: dict[Stream, StepLog] = {}  # watermarks that came with the inputs
        self.trees: dict[Stream, dict[Consumer, Tree]] = {}  # savepoint trees of consumers that sent one
        self._only_here: dict[
            Stream, Seq
        ] = {}  # input before these seqs came from a producer that began anew since
        self._of_before: dict[
            Stream, Seq
        ] = {}  # what this life had of an earlier producer; until the next one sends
        self._early: dict[
            tuple[Stream, Consumer, int], on.Acked
        ] = {}  # newest acks that came during a roll call
        self.late: set[Reader] = (
            set()
        )  # consumers that said nothing in the roll call, and have not come back yet
        self.shifts: dict[
            Reader, int
        ] = {}  # late consumers that count a stream's tuples from further on, by so many
        self._trying = False
        self._contact = False  # whether the connection to the primary has carried a keep-alive
        self._inquiry = Inquiry()  # as a standby that does not hear the holder
        self._waits = False  # the holder is dead: for a standby that has its state to win the Lease
        self._waits_since: Millis | None = None

    def handle(self, event: Event) -> Commands:
        match event:
            case on.LeaseSeen():
                return self._lease_seen(event.record)
            case on.LeaseWon():
                return self._won(event.record)
            case on.FirstContact():
                return self._heard(on.KeepAlive(event.until, event.epoch))
            case on.KeepAlive():
                self.in_contact(event)
                return self._heard(event)
            case on.PeerClosed():
                return self._suspect("its connection closed: the process is dead", closed=True)
            case on.PeerUnreachable():
                return self._suspect("no connection could be made")
            case on.HolderHeard():
                return self._holder_heard(event.by)
            case on.Tick():
                return self._tick(event.now)
            case on.NewerEpoch():
                return self._newer(event.epoch)
            case on.HandedOver():
                return self._handed_over(event)
            case _ if self.role is Role.PRIMARY:
                return self._as_primary(event)
            case _:
                return self.follow(event)

    # --- Lease and suspicion

    def _lease_seen(self, record: LeaseRecord | None) -> Commands:
        self._trying = self._waits = False
        self._waits_since = None
        self.lease = record
        if self.role is Role.PRIMARY:
            return self._lease_seen_leading(record)
        self._contact = False
        self._inquiry = self._inquiry.look(record.question if record else None, self.detector.ticked)
        if record is None:
            return self._try("nobody holds the Lease")
        if record.holder == self.name:
            return self._leave_first_chance("the Lease names an earlier life of this instance")
        if record.gone:
            self.detector = self.detector.forget()
            return self._leave_first_chance("its process has ended")
        return (do.Follow(record),)

    def _lease_seen_leading(self, record: LeaseRecord | None) -> Commands:
        if record is not None and record.holder != self.name:
            return self._newer(record.epoch)
        return (*self.still_ours(), *self.moves.asked_by(record))

    def _leave_first_chance(self, why: str) -> Commands:
        """The holder is dead for certain. A standby without state waits: one with state may only be slow to
        notice."""
        if self.could_continue():
            return self._try(why)
        self._waits = True
        return ()

    def _won(self, record: LeaseRecord) -> Commands:
        self._trying = False
        if self.role is Role.PRIMARY:
            self.lease, self.epoch = record, record.epoch
            return (*self.renewed(), *self.moves.withdrawn())
        self.lease, self.epoch, self.role = record, record.epoch, Role.PRIMARY
        self.detector = self.detector.forget()
        checkpoint, live = self._inheritance(record)
        self.open_books(checkpoint)
        if checkpoint is not None and live:
            return (
                do.Lead(record.epoch, checkpoint, "continues as handed over"),
                *self.continue_moved(checkpoint),
            )
        why = f"continues from checkpoint {checkpoint.number}" if checkpoint else "starts empty"
        return (do.Lead(record.epoch, checkpoint, why), *self.start_inputs(checkpoint))

    def open_books(self, checkpoint: Checkpoint | None) -> None:
        """A new life begins with what is in the checkpoint, or with nothing."""
        self.keep_what_others_said(checkpoint)
        self.ledger = Ledger.restored(self.wiring, checkpoint) if checkpoint else Ledger.empty(self.wiring)
        self.lossy, self.anew, self.resumed, self._only_here, self._early = False, {}, {}, {}, {}
        self._of_before, self.late = {}, set()

    def _inheritance(self, record: LeaseRecord) -> tuple[Checkpoint | None, bool]:
        """What a new primary continues from, and whether that is exactly where the former one stood still.

        It is if the Lease went from hand to hand: a primary that gives up a move takes the Lease anew first.
        """
        handed, self._handed = self._handed, None
        live = handed is not None and handed.lease.epoch + 1 == record.epoch
        if live and handed is not None and handed.checkpoint is not None:
            return handed.checkpoint, True
        return self.stored(), live

    def in_contact(self, event: on.KeepAlive) -> None:
        if event.epoch >= self.epoch:
            self._contact, self._inquiry = True, Inquiry()

    def _holder_heard(self, by: str) -> Commands:
        self._trying, self._inquiry = False, Inquiry()
        return (do.ReadLease(f"{by} hears the holder: it lives"),) if self.role is Role.STANDBY else ()

    def _heard(self, event: on.KeepAlive) -> Commands:
        if event.epoch < self.epoch:
            return ()
        self.epoch = event.epoch
        self.detector = self.detector.on_keep_alive(event.now)
        if event.stalled is not None and self.role is Role.STANDBY and self.could_continue():
            return self._suspect(f"its engine stands still: {event.stalled}")
        return ()

    def _tick(self, now: Millis) -> Commands:
        if self.role is Role.PRIMARY:
            done = self.lead_tick(now)
            early = self._after_roll_call() if self._early else ()
            return (*done, *early, *self.moves.tick(now), *self.moves.watch_load(now))
        self.detector = self.detector.on_tick(now)
        if self.detector.suspects(now):
            return self._suspect(f"no keep-alive for {self.detector.tau} ms")
        if self._waits:
            return self._wait(now)
        return self.follow_tick(now)

    def _wait(self, now: Millis) -> Commands:
        self._waits_since = now if self._waits_since is None else self._waits_since
        if now - self._waits_since <= WAIT * self.detector.tau:
            return ()
        self._waits = False
        return self._try("no standby that has the state of the primary before took over")

    def _suspect(self, why: str, *, closed: bool = False) -> Commands:
        """The primary is not heard. A standby with state tries the Lease. One without state asks the holder
        through the Lease: silence proves nothing, and even a connection that was closed may have been reset
        on its way. A standby that needs no state to continue counts as one with state once it has heard the
        primary."""
        self.detector = self.detector.forget()
        if self.role is not Role.STANDBY:
            return ()
        if self.could_continue() and (closed or self._contact or not self.holds_nothing):
            return self._try(why)
        return self._ask_holder(why)

    def _ask_holder(self, why: str) -> Commands:
        if self.lease is None or self._trying:
            return ()
        if self._inquiry.unanswered >= self.patience:
            self._trying = True
            silent = f"its holder has not answered for {self._inquiry.unanswered} ms"
            return (do.TryLease(self.lease, f"{why}, and {silent}"),)
        if self._inquiry.question is None:
            return (do.AskHolder(self.lease, f"{why}, and there is nothing here to continue from"),)
        return (do.ReadLease("to see whether the holder has answered"),)

    def _try(self, why: str, *, planned: bool = False) -> Commands:
        """Whatever others have asked the holder."""
        if self._trying:
            return ()
        self._trying = True
        return (do.TryLease(replace(self.lease, question=None) if self.lease else None, why, planned),)

    def _newer(self, epoch: Epoch) -> Commands:
        if epoch <= self.epoch or self.role is not Role.PRIMARY:
            return ()
        why = f"epoch {epoch} has begun, ours was {self.epoch}"
        if self.move is None:
            self.detector = self.detector.on_false_suspicion()  # it was us, and we live: the machine is slow
        keep = self.kept_back() if self.move is not None and self.move.handed else None
        self.leave_role()
        self.forget()
        self.keep(keep)
        return (do.StepDown(why, keep), do.ReadLease("to follow the new primary"))

    def leave_role(self) -> None:
        """Nothing of what was known as a primary counts any more."""
        self.role, self.lossy, self.anew, self.resumed = Role.STANDBY, False, {}, {}
        self.ledger, self.trees, self.marks, self._only_here = Ledger.empty(self.wiring), {}, {}, {}
        self.moves.forget()
        self._inquiry, self._early, self._of_before = Inquiry(), {}, {}
        self.late, self.shifts = set(), {}

    # --- migration

    def _handed_over(self, event: on.HandedOver) -> Commands:
        if self.role is Role.PRIMARY or event.lease.epoch < self.epoch:
            return ()
        if event.checkpoint is None and not self.could_continue():
            return ()
        self.lease, self.epoch, self._handed = event.lease, event.lease.epoch, event
        kept = (do.Store(event.checkpoint),) if event.checkpoint is not None else ()
        return (
            *kept,
            *self._try(f"{event.lease.holder} hands over", planned=event.lease.successor is not None),
        )

    @property
    def move(self) -> Move | None:
        """As a primary: the move that is under way."""
        return self.moves.move

    @property
    def moving(self) -> bool:
        """Whether processing stands still for a move."""
        return self.stands_still and self.move is not None and self.move.phase is not Phase.JOINING

    @property
    def holds_what_is_only_here(self) -> bool:
        """Whether input waits here that no producer can send to another instance."""
        return any(self.ledger.position(s) < seq for s, seq in self._only_here.items())

    # --- the primary's books

    def _as_primary(self, event: Event) -> Commands:
        commands = self._in_the_books(event)
        return (*commands, *self._after_roll_call()) if self._early else commands

    def _in_the_books(self, event: Event) -> Commands:
        match event:
            case on.Arrived():
                return self._arrived(event)
            case on.Processed():
                self.book(event)
                return (*self.processed(event), *self._acked_ahead(Stream(event.element)))
            case on.Acked() if self.roll_open and event.stream in self.wiring.leaving:
                return self._too_early(event)
            case on.Acked() if (event.stream, event.consumer) in self.late:
                return self._too_early(event)
            case on.Acked():
                self.ledger, held_from = self.ledger.acked(event)
                if event.tree is not None:
                    self._keep_tree(event.stream, event.consumer, event.tree)
                return (do.Trim(event.stream, held_from), *self.acked(event))
            case on.RecoveryRequested():
                tree = self.trees.get(event.stream, {}).get(event.consumer)
                return (do.AnswerRecovery(event.stream, event.consumer, tree),)
            case on.Resumes():
                return self._resumes(event)
            case on.Subscribed() if self.ledger.queues[event.stream].replaced(event.consumer, event.epoch):
                return ()  # it may have had more than the life that has taken its place
            case on.Subscribed() if (event.stream, event.consumer) in self.late:
                return self._late_answer(event)
            case on.Subscribed():
                self.ledger = self.ledger.subscribed(event)
                return (*self._rebase(), *self.lead(event))
            case on.Redirected():
                return self._redirected(event)
            case _:
                return (*self.lead(event), *self.moves.handle(event))

    def _redirected(self, event: on.Redirected) -> Commands:
        """A producer in upstream backup makes again, when it begins anew, only what was not received."""
        self.another_producer(event)
        return self.redirected(event.stream)

    def another_producer(self, event: on.Redirected) -> None:
        before, self.ledger = self.ledger, self.ledger.redirected(event.stream, event.epoch)
        if self.ledger is not before:
            self._only_here[event.stream] = self.ledger.received(event.stream)
            if event.stream in before.producers:
                self._of_before[event.stream] = self.goes_on_from(event.stream)

    def _acked_ahead(self, stream: Stream) -> Commands:
        """An ack that was ahead of the sequencer, because an earlier life had got further, counts when that
        is reached: a consumer that has all may never ack again."""
        queue = self.ledger.queues[stream]
        if self.lossy or not queue.acks or queue.trimmed >= min(queue.released_by_all, queue.next):
            return ()
        consumer, known = min(queue.acks.items(), key=lambda item: item[1].released)
        return self._as_primary(on.Acked(stream, consumer, 1, known.released, known.epoch))

    def _too_early(self, event: on.Acked) -> Commands:
        """It speaks of the seqs of an earlier life, which are not ours yet. A quiet consumer will not repeat
        it."""
        key = (event.stream, event.consumer, event.level)
        known = self._early.get(key, event)
        self._early[key] = max(known, event, key=lambda ack: (ack.epoch, ack.upto))
        return ()

    def _after_roll_call(self) -> Commands:
        """Seqs are settled: they go on from those of the earlier life, or begin behind all that a consumer
        has."""
        if self.roll_open:
            return ()
        waiting = {key: ack for key, ack in self._early.items() if key[:2] in self.late}
        early = [ack for key, ack in self._early.items() if key not in waiting]
        self._early = waiting
        return tuple(c for event in early for c in self._in_the_books(event))

    # --- consumers that were lost in the same failure

    def without_the_silent(self, roll: RollCall | None, now: Millis) -> bool:
        """Whether a roll call ends here though some have not answered: they were lost in the same failure."""
        if roll is None or not roll.waited(now, max(WAIT * self.detector.tau, self.roll_patience)):
            return False
        self.late = roll.silent
        return True

    def _late_answer(self, event: on.Subscribed) -> Commands:
        """A consumer comes back that said nothing in the roll call. The seqs were settled without it."""
        self.late.discard((event.stream, event.consumer))
        first, held = self.anew.get(event.stream), self.ledger.queues[event.stream].held
        if event.start < held.start if first is None else event.start > first:
            return self.late_consumer_differs(event)
        self.ledger = self.ledger.subscribed(event)
        return self.lead(event)

    def late_consumer_differs(self, event: on.Subscribed) -> Commands:
        """It has tuples of the former life under seqs that this one gave to others. It counts on from there:
        what is sent to it, and what it says, is shifted."""
        reader, first = (event.stream, event.consumer), self.anew[event.stream]
        self.shifts[reader] = event.start - first
        self._early = {key: ack for key, ack in self._early.items() if key[:2] != reader}
        self.ledger = self.ledger.subscribed(replace(event, start=first))
        return ()

    def ours(self, stream: Stream, consumer: Consumer, seq: int) -> Seq:
        """What a consumer calls `seq` is this tuple here."""
        return Seq(max(0, seq - self.shifts.get((stream, consumer), 0)))

    def theirs(self, stream: Stream, consumer: Consumer, seq: int) -> Seq:
        """What is `seq` here is this tuple to the consumer."""
        return Seq(seq + self.shifts.get((stream, consumer), 0))

    def _arrived(self, event: on.Arrived) -> Commands:
        self.ledger, new = self.ledger.arrived(event)
        if new is None:
            return ()
        if event.mark is not None:
            log = self.marks.setdefault(event.stream, StepLog())
            log.append(event.mark)
            log.keep(MARKS)
        return (*self._began_anew(event), *self._take(event.stream, new))

    def _began_anew(self, event: on.Arrived) -> Commands:
        """A former life of this subjob may have had other tuples under these seqs: what is made of them now
        is new."""
        overlooked, resumed = self._overlooked(event), self.resumed.get(event.stream)
        if self.lossy or event.anew is None or resumed is None or event.anew < resumed:
            return overlooked
        self.lossy = True
        return (*overlooked, *self._rebase())

    def _overlooked(self, event: on.Arrived) -> Commands:
        """A new producer gives seqs anew that this life has had of an earlier one, because a life that was
        replaced has answered its roll call: what has them now will not be taken."""
        taken = self.taken_before(event)
        self._of_before.pop(event.stream, None)
        return (do.ReportLoss(event.stream, taken),) if taken else ()

    def taken_before(self, event: on.Arrived) -> Range | None:
        """The seqs that this life has had of an earlier producer, and that the new one gives to other tuples:
        empty if it goes on where this life stands, None if it did not begin anew."""
        had = self._of_before.get(event.stream)
        if had is None or event.anew is None or not self.ledger.admits(event.stream, event.epoch):
            return None
        return Range(Seq(min(event.anew, had)), had)

    def goes_on_from(self, stream: Stream) -> Seq:
        """What a subscription asks for. What only waits here is lost to the instance that this one moves to:
        a producer that begins anew now has to make it again."""
        return self.ledger.position(stream) if self.moving else self.ledger.received(stream)

    def anew_for(self, stream: Stream, consumer: Consumer) -> Seq | None:
        """From where on the stream has other tuples than the consumer's own consumers may have got something
        of: if it began anew, and what came after that was not released by any life of the consumer."""
        known, anew = self.ledger.queues[stream].acks.get(consumer), self.anew.get(stream)
        return anew if known is not None and anew is not None and known.released <= anew else None

    def mark_of(self, stream: Stream, position: Seq) -> Step | None:
        """What a subscription from `position` on tells the producer: the step behind the last tuple taken
        from it."""
        return self.marks[stream].before(position) if stream in self.marks else None

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
                return (*self._lost(stream, new.missing), do.Take(stream, new.arrived))
            case Range():
                return (do.Take(stream, new),) if len(new) else ()

    def _lost(self, stream: Stream, missing: Range) -> Commands:
        skip = do.Skip(stream, missing.stop)
        return (do.ReportLoss(stream, missing), skip) if len(missing) else (skip,)

    def _resumes(self, event: on.Resumes) -> Commands:
        """What lies before was lost, or is sent again under other seqs."""
        if not self.missed(event):
            return ()
        received = self.ledger.received(event.stream)
        self.ledger, self.lossy = self.ledger.moved(event.stream, event.start), True
        lost = self._lost(
            event.stream, Range(Seq(min(max(event.released, received), event.start)), event.start)
        )
        return (*self._rebase(), *lost)

    def missed(self, event: on.Resumes) -> bool:
        """Whether input is missing. One of several producers may be behind what another has sent already."""
        return event.start > self.ledger.received(event.stream)

    def _rebase(self) -> Commands:
        """Without the lost state, tuples can't be made again: new ones must not take the seqs of old ones."""
        if not self.lossy:
            return ()
        commands: list[Command] = []
        for stream in self.wiring.leaving:
            queue = self.ledger.queues[stream]
            furthest = queue.received_by_any
            if len(queue.held) and furthest > queue.next:
                commands += self.renumber(stream, furthest)
            elif furthest > queue.next:
                self.ledger = self.ledger.renumbered(stream, furthest)
            if furthest > queue.next:
                self.anew[stream] = furthest
            elif self.resumed:
                self.anew.setdefault(stream, queue.next)
        return tuple(commands)

    def send_as_new(self, roll: RollCall) -> Commands:
        """What is held, and all that follows, under seqs that no consumer has seen. If all have forgotten
        what they had, it keeps its own: they have to learn that something is missing before it."""
        held_from = {s: self.ledger.queues[s].trimmed for s in self.wiring.leaving}
        self.anew.update({s: roll.furthest(s) or held_from[s] for s in self.wiring.leaving})
        return tuple(c for s in self.wiring.leaving for c in self.renumber(s, self.anew[s]))

    def renumber(self, stream: Stream, first: Seq) -> Commands:
        """What is held of a stream, and all that follows, is sent under seqs from `first` on."""
        held = self.ledger.queues[stream].held
        self.ledger = self.ledger.renumbered(stream, first)
        return (do.Renumber(stream, held, first), self.publish(str(stream)))

    def publish(self, element: str, upto: Seq | None = None) -> do.Publish:
        queue = self.ledger.queues[Stream(element)]
        limit = queue.next if upto is None else upto
        return do.Publish(queue.stream, limit, queue.ended and limit == queue.next)

    def _keep_tree(self, stream: Stream, consumer: Consumer, tree: Tree) -> None:
        """The newest counts: a life that was replaced may still speak."""
        known = self.trees.setdefault(stream, {}).get(consumer)
        if known is None or tree.root.progress >= known.root.progress:
            self.trees[stream][consumer] = tree

    def keep_trees(self, trees: Trees) -> None:
        self.trees = {s: dict(per) for s, per in trees.items()}

    def keep_what_others_said(self, checkpoint: Checkpoint | None) -> None:
        """The watermarks of the producers and the savepoints of the consumers."""
        self.marks = {s: StepLog([m]) for s, m in checkpoint.marks.items()} if checkpoint else {}
        self.keep_trees(checkpoint.trees if checkpoint else {})
        self.shifts = (
            {(s, c): n for s, per in checkpoint.shifts.items() for c, n in per.items()} if checkpoint else {}
        )

    def kept_trees(self) -> Trees:
        """As they are now."""
        return {s: dict(per) for s, per in self.trees.items()}

    def state(self, number: int) -> Checkpoint:
        """All that another instance needs to go on from here."""
        marks = {s: m for s in self.marks if (m := self.mark_of(s, self.ledger.position(s))) is not None}
        shifts = {s: {c: n for (of, c), n in self.shifts.items() if of == s} for s, _ in self.shifts}
        books = self.ledger.checkpoint(self.epoch, number)
        return replace(books, trees=self.kept_trees(), marks=marks, shifts=shifts)

    # --- a live change of mode

    def adopt(self, former: Instance) -> None:
        """As a primary, go on with the books of an instance that played another mode."""
        self.role, self.epoch, self.lease = former.role, former.epoch, former.lease
        self.ledger, self.lossy = former.ledger, former.lossy
        self.anew, self.resumed = dict(former.anew), former.resumed
        self.late, self.shifts = set(former.late), dict(former.shifts)
        self.marks, self.trees = former.marks, former.trees
        self.number = (
            former.number
        )  # states have higher ones: a late word about one of the former mode counts for none
        self.taken_up()

    def follow_after(self, former: Instance) -> None:
        """As a standby that has nothing of the new mode yet."""
        self.epoch, self.lease = former.epoch, former.lease
        self.detector = replace(self.detector, heard=former.detector.heard, ticked=former.detector.ticked)

    def retune(self, like: Instance) -> None:
        """Take over the settings of an instance of the same mode."""
        self.detector = self.detector.retuned(like.detector)

    @property
    def settled(self) -> bool:
        """Whether the mode may be changed now. Another mode may not know that a late consumer counts
        otherwise."""
        return not self.roll_open and self.move is None and not self.late and not self.shifts

    def stand(self, *, follows: bool) -> Stand:
        """What would become of the subjob if this process ended now. `follows`: as a standby, it hears a
        primary whose engine works."""
        if self.role is Role.PRIMARY:
            return Stand(leads=True, covered=self.protected, needed=self.ships_state)
        return Stand(leads=False, covered=follows, needed=self.could_continue())

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
        return self.moves.follower == target and not self.roll_open and not self.late

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
        """As a standby again, hold on to it."""

    def steps(self) -> dict[Stream, tuple[Step, ...]]:
        """The steps behind what is in the queues, in modes that log them."""
        return {}

    def continue_moved(self, checkpoint: Checkpoint) -> Commands:
        """A new primary that was given the live state of the former one."""
        resent = tuple(self.publish(name) for name in self.wiring.inputs)
        return (*resent, *(do.ReadInput(s, checkpoint.covers(s) or Seq(0)) for s in self.wiring.entering))

    def redirected(self, stream: Stream) -> Commands:
        """A new producer of an input has not heard earlier acks: those that are not repeated anyway are sent
        again."""
        return ()

    @property
    def roll_open(self) -> bool:
        """Whether this life still has to hear from its consumers which seqs are taken."""
        return False

    def renewed(self) -> Commands:
        """The primary took the Lease anew: its epoch is now newer than any that a standby can have seen."""
        return ()

    def still_ours(self) -> Commands:
        """The primary looked at the Lease and holds it as before."""
        return ()

    def forget(self) -> None:
        """Drop what belonged to an earlier role."""

    def start_inputs(self, checkpoint: Checkpoint | None) -> Commands:
        """From where a new primary reads its inputs."""
        raise NotImplementedError

    def follow(self, event: Event) -> Commands:
        """An event at a standby."""
        return ()

    def lead(self, event: Event) -> Commands:
        """An event at a primary that the books do not handle."""
        return ()

    def lead_tick(self, now: Millis) -> Commands:
        return ()

    def follow_tick(self, now: Millis) -> Commands:
        return ()

    def mark(self, stream: Stream, position: Seq) -> Step | None:
        """The watermarks that go downstream with the tuple before `position`, in modes that forward them."""
        return None

    def processed(self, event: on.Processed) -> Commands:
        return (self.publish(event.element),)

    def acked(self, event: on.Acked) -> Commands:
        return ()
