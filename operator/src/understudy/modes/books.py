"""A primary's books: its positions and output queues (the ledger), and how its seqs relate to those that
earlier lives gave to their tuples (the numbering).

`Books` is frozen. A function returns the next books, or answers a question about these. `Instance` calls
them, and between them the hooks of its mode.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from understudy.modes.renumbering import NO_NUMBERING, Numbering
from understudy.modes.roll import RollCall
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.ids import Consumer, Range, Seq, Stream
from understudy.protocol.ledger import Ledger, Wiring


@dataclass(frozen=True, slots=True)
class Books:
    ledger: Ledger
    numbering: Numbering = NO_NUMBERING

    @classmethod
    def empty(cls, wiring: Wiring) -> Books:
        return cls(Ledger.empty(wiring))

    @classmethod
    def of_new_life(cls, wiring: Wiring, checkpoint: Checkpoint | None) -> Books:
        """A new life begins with the content of the checkpoint, or with nothing."""
        if checkpoint is None:
            return cls.empty(wiring)
        return cls(Ledger.restored(wiring, checkpoint), NO_NUMBERING.with_shifts(checkpoint.shifts))

    def with_ledger(self, ledger: Ledger) -> Books:
        return Books(ledger, self.numbering)

    def with_numbering(self, numbering: Numbering) -> Books:
        return Books(self.ledger, numbering)

    def for_another_mode(self) -> Books:
        return self.with_numbering(replace(self.numbering, early={}))

    # --- output

    def publish(self, stream: Stream, upto: Seq | None) -> do.Publish:
        """Lets consumers have the stream up to `upto`; None: all of it."""
        queue = self.ledger.queues[stream]
        limit = queue.next if upto is None else upto
        return do.Publish(stream, limit, queue.ended and limit == queue.next)

    def diverged_for(self, stream: Stream, consumer: Consumer) -> Seq | None:
        """The seq from which the stream differs from what the consumer's own consumers may have used. None if
        the stream did not diverge, or if a life of the consumer has released something after the
        divergence."""
        known, at = self.ledger.queues[stream].acks.get(consumer), self.numbering.diverged_at.get(stream)
        return at if known is not None and at is not None and known.released <= at else None

    # --- acks

    def too_early(self, ack: on.Acked, *, roll_open: bool) -> bool:
        """Whether the ack counts in the seqs of an earlier life: the roll call is open, or this consumer has
        not answered it yet."""
        asked = roll_open and ack.stream in self.ledger.wiring.leaving
        return asked or (ack.stream, ack.consumer) in self.numbering.late

    def ack_ahead(self, stream: Stream) -> on.Acked | None:
        """An ack that was ahead of the sequencer (an earlier life had got further), once the sequencer has
        reached it. A consumer that has received everything may never repeat its ack."""
        queue = self.ledger.queues[stream]
        if self.numbering.lossy or not queue.acks or queue.trimmed >= min(queue.released_by_all, queue.next):
            return None
        consumer, known = min(queue.acks.items(), key=lambda item: item[1].released)
        return on.Acked(stream, consumer, 1, known.released, known.epoch)

    # --- late consumers

    def has_other_tuples(self, late: on.Subscribed) -> bool:
        """Whether the late consumer has tuples of the former life under seqs that this life gave to other
        tuples, or that this life no longer holds."""
        first = self.numbering.diverged_at.get(late.stream)
        if first is None:
            return late.start < self.ledger.queues[late.stream].held.start
        return late.start > first

    def with_shift(self, late: on.Subscribed) -> Books:
        """The late consumer keeps its own count: the seqs of tuples sent to it, and of its acks, are
        shifted."""
        first = self.numbering.diverged_at[late.stream]
        numbering = self.numbering.shifted((late.stream, late.consumer), late.start - first)
        return Books(self.ledger.subscribed(replace(late, start=first)), numbering)

    # --- input that differs, or is gone

    def diverges_with(self, event: on.Arrived) -> bool:
        """Whether the producer has diverged from what an earlier life of this subjob received: then the
        output made from its tuples is new, too."""
        resumed = self.numbering.resumed.get(event.stream)
        if self.numbering.lossy or event.anew is None or resumed is None:
            return False
        return event.anew >= resumed

    def after_gap(self, event: on.Resumes) -> tuple[Books, Range]:
        """Continues where the producer can. Returns also the input that is lost."""
        received = self.ledger.received(event.stream)
        begin = Seq(min(max(event.released, received), event.start))
        ledger = self.ledger.moved(event.stream, event.start)
        return Books(ledger, self.numbering.lost_state()), Range(begin, event.start)

    # --- seqs after a loss of state

    def after_loss(self, stream: Stream) -> tuple[Books, Seq | None]:
        """Continues to number after everything that any consumer has received. Returns also the first seq for
        the held tuples, if they need others."""
        queue, numbering = self.ledger.queues[stream], self.numbering
        furthest = queue.received_by_any
        if furthest <= queue.next:
            if numbering.resumed and stream not in numbering.diverged_at:
                return self.with_numbering(numbering.diverging({stream: queue.next})), None
            return self, None
        after = numbering.diverging({stream: furthest})
        if len(queue.held):
            return self.with_numbering(after), furthest
        return Books(self.ledger.renumbered(stream, furthest), after), None

    def first_unseen(self, roll: RollCall) -> dict[Stream, Seq]:
        """For each stream the first seq that no consumer has seen. If every consumer has lost what it
        received, the seqs stay: consumers must first learn that something is missing."""
        return {s: roll.furthest(s) or self.ledger.queues[s].trimmed for s in self.ledger.wiring.leaving}
