"""The output queue of a stream (Hwang §5.2.1): sending removes nothing, only a trim does.

The queue knows its consumers from the manifest, before they connect: a tuple stays until every consumer has
acked it at level 1. Level 0 says "received"; level 1 says "no longer needed to rebuild my state".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from understudy.protocol.ids import Consumer, Epoch, Range, Seq, Stream


@dataclass(frozen=True, slots=True)
class Acks:
    """The acks of one consumer, as positions: an ack of tuple n is n + 1 here."""

    received: Seq = Seq(0)  # level 0
    released: Seq = Seq(0)  # level 1
    epoch: Epoch = Epoch(0)  # of the consumer's newest ack

    def advance(self, level: int, upto: Seq, epoch: Epoch) -> Acks:
        released = self.released if level == 0 else Seq(max(self.released, upto))
        received = Seq(max(self.received, upto, released))
        return Acks(received, released, epoch)


@dataclass(frozen=True, slots=True)
class OutputQueue:
    """Which tuples of a stream its producer still holds, and what its consumers have acked."""

    stream: Stream
    trimmed: Seq  # the first tuple still held
    next: Seq  # the sequencer: the seq of the next tuple
    acks: Mapping[Consumer, Acks]
    ended: bool = False  # no tuple will follow

    @classmethod
    def empty(cls, stream: Stream, consumers: Iterable[Consumer], at: Seq = Seq(0)) -> OutputQueue:
        return cls(stream, at, at, {c: Acks(at, at) for c in consumers})

    def begun_anew(self, at: Seq) -> OutputQueue:
        """An empty queue that begins at `at`, with the same consumers. They have received everything before
        `at`, but released only what they acked."""
        acks = {c: Acks(at, Seq(min(a.released, at)), a.epoch) for c, a in self.acks.items()}
        return OutputQueue(self.stream, at, at, acks, self.ended)

    def renumbered(self, first: Seq) -> OutputQueue:
        """Gives the held tuples the seqs from `first` on. Earlier seqs are given up, and no consumer needs
        them."""
        acks = {c: Acks(first, first, a.epoch) for c, a in self.acks.items()}
        return OutputQueue(self.stream, first, Seq(first + len(self.held)), acks, self.ended)

    @property
    def held(self) -> Range:
        return Range(self.trimmed, self.next)

    @property
    def received_by_all(self) -> Seq:
        """The position that every consumer has acked at level 0."""
        return min((a.received for a in self.acks.values()), default=self.next)

    @property
    def released_by_all(self) -> Seq:
        """The position that every consumer has acked at level 1. It may be ahead of the sequencer."""
        return min((a.released for a in self.acks.values()), default=self.next)

    @property
    def received_by_any(self) -> Seq:
        return max((a.received for a in self.acks.values()), default=self.next)

    def append(self, count: int) -> tuple[OutputQueue, Range]:
        if self.ended and count:
            raise ValueError(f"{self.stream} has ended at {self.next}")
        stop = Seq(self.next + count)
        return OutputQueue(self.stream, self.trimmed, stop, self.acks, self.ended), Range(self.next, stop)

    def end(self) -> OutputQueue:
        return replace(self, ended=True)

    def acked(self, consumer: Consumer, level: int, upto: Seq, epoch: Epoch) -> OutputQueue:
        """Applies an ack. An ack of an older epoch or of an unknown consumer changes nothing. The ack may be
        ahead of the sequencer: after a take-over the consumer has tuples that this instance still has to make
        again."""
        known = self.acks.get(consumer)
        if known is None or self.replaced(consumer, epoch):
            return self
        acks = {**self.acks, consumer: known.advance(level, upto, epoch)}
        return OutputQueue(self.stream, self.trimmed, self.next, acks, self.ended)

    def replaced(self, consumer: Consumer, epoch: Epoch) -> bool:
        """Whether a newer life of the consumer than `epoch` has sent an ack."""
        known = self.acks.get(consumer)
        return known is not None and epoch < known.epoch

    def trim(self) -> tuple[OutputQueue, Seq]:
        """Drops the tuples that every consumer has released (the least level-1 ack); returns also where the
        queue begins now."""
        upto = min([a.released for a in self.acks.values()], default=self.next)
        trimmed = Seq(max(self.trimmed, min(upto, self.next)))
        return OutputQueue(self.stream, trimmed, self.next, self.acks, self.ended), trimmed

    def known_until(self, start: Seq, given_up: Range | None) -> Seq:
        """The seq up to which a consumer misses nothing if it asks for `start` and is served from the held
        tuples.

        `given_up`: seqs that a renumbering gave up; their tuples are sent again under later seqs. A consumer
        that starts at 0 also misses the tuples that were trimmed before the renumbering. (For other consumers
        this can't be known: another instance may have counted differently.)
        """
        if given_up is None:
            return start
        gone = given_up.start if start == 0 else Seq(0)
        return Seq(max(start, min(given_up.stop, self.trimmed) - gone))

    def refusal(self, start: Seq) -> str | None:
        """Why a consumer can't be served from `start`; None if it can."""
        if start < self.trimmed:
            return f"{self.stream} is held from {self.trimmed} on; {start} was trimmed"
        return None
