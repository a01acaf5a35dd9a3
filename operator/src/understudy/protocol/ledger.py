"""The books of one instance: its position on each input, and what it holds of each output.

Elements inside a subjob read each other's queues; for the books those are streams like any other, and
`Wiring` says which streams cross the subjob's border.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from understudy.protocol.checkpoint import Checkpoint, ElementState
from understudy.protocol.duplicates import DuplicateFilter, Hole
from understudy.protocol.epochs import EpochGuard
from understudy.protocol.events import Acked, Arrived, Processed, Subscribed
from understudy.protocol.ids import Consumer, Epoch, Range, Seq, Stream
from understudy.protocol.queue import OutputQueue


@dataclass(frozen=True, slots=True)
class Wiring:
    """The shape of a subjob: each element's inputs and its consumers. An element's stream has the element's
    name."""

    inputs: Mapping[str, tuple[Stream, ...]]
    consumers: Mapping[str, tuple[Consumer, ...]]
    # sources read inside the subjob: they have no producer to ack to
    replayable: frozenset[Stream] = frozenset()
    external: tuple[Stream, ...] = field(init=False)
    """Streams read from another subjob, in the manifest's order."""
    entering: tuple[Stream, ...] = field(init=False)
    """All streams from outside the subjob: those of other subjobs, and sources."""
    leaving: tuple[Stream, ...] = field(init=False)
    """Streams that consumers outside the subjob read."""

    def __post_init__(self) -> None:
        seen = dict.fromkeys(s for ins in self.inputs.values() for s in ins)
        entering = tuple(s for s in seen if s not in self.inputs)
        leaving = tuple(Stream(n) for n, readers in self.consumers.items() if set(readers) - set(self.inputs))
        object.__setattr__(self, "entering", entering)
        object.__setattr__(self, "external", tuple(s for s in entering if s not in self.replayable))
        object.__setattr__(self, "leaving", leaving)

    @property
    def chain(self) -> bool:
        """Whether each stream has one reader in the subjob."""
        read = [s for ins in self.inputs.values() for s in ins]
        return len(read) == len(set(read))

    def readers(self, stream: Stream) -> Iterator[str]:
        return (name for name, ins in self.inputs.items() if stream in ins)


@dataclass(frozen=True, slots=True)
class Inputs:
    positions: Mapping[Stream, Seq]
    selection: Mapping[Stream, Seq]


@dataclass(frozen=True, slots=True)
class Ledger:
    wiring: Wiring
    elements: Mapping[str, Inputs]
    queues: Mapping[Stream, OutputQueue]
    filters: Mapping[Stream, DuplicateFilter] = field(default_factory=dict)
    producers: Mapping[Stream, EpochGuard] = field(default_factory=dict)

    @classmethod
    def empty(cls, wiring: Wiring) -> Ledger:
        zero = {name: dict.fromkeys(ins, Seq(0)) for name, ins in wiring.inputs.items()}
        return cls(
            wiring,
            {name: Inputs(z, z) for name, z in zero.items()},
            {Stream(n): OutputQueue.empty(Stream(n), wiring.consumers[n]) for n in wiring.inputs},
        )

    @classmethod
    def restored(cls, wiring: Wiring, checkpoint: Checkpoint) -> Ledger:
        """The books as of a checkpoint. Consumers have released at least the tuples before its queues."""
        queues = {}
        for name, element in checkpoint.elements.items():
            queue = OutputQueue.empty(Stream(name), wiring.consumers[name], element.held.start)
            queues[Stream(name)] = replace(queue, next=element.held.stop, ended=element.ended)
        elements = {n: Inputs(e.positions, e.selection) for n, e in checkpoint.elements.items()}
        filters = {s: DuplicateFilter(p) for s in wiring.external if (p := checkpoint.covers(s)) is not None}
        return cls(wiring, elements, queues, filters)

    def arrived(self, event: Arrived) -> tuple[Ledger, Range | Hole | None]:
        """The new part of an arrival; None if it comes from a fenced producer."""
        guard, admitted = self.producers.get(event.stream, EpochGuard()).admit(event.epoch)
        if not admitted:
            return self, None
        filter_, new = self.filters.get(event.stream, DuplicateFilter()).accept(event.range)
        filters = {**self.filters, event.stream: filter_}
        producers = {**self.producers, event.stream: guard}
        return Ledger(self.wiring, self.elements, self.queues, filters, producers), new

    def admits(self, stream: Stream, epoch: Epoch) -> bool:
        """Whether messages of a producer of this epoch count for the stream."""
        _, admitted = self.producers.get(stream, EpochGuard()).admit(epoch)
        return admitted

    def redirected(self, stream: Stream, epoch: Epoch) -> Ledger:
        guard, _ = self.producers.get(stream, EpochGuard()).admit(epoch)
        if guard is self.producers.get(stream):
            return self
        return replace(self, producers={**self.producers, stream: guard})

    def skipped_to(self, stream: Stream, seq: Seq) -> Ledger:
        """Accepts a gap: the next tuple expected on the stream is `seq`."""
        return replace(self, filters={**self.filters, stream: DuplicateFilter(seq)})

    def rebased(self, stream: Stream, at: Seq) -> Ledger:
        """Lets an empty queue continue at `at`, the end that an earlier life had reached."""
        queue = self.queues[stream]
        if len(queue.held) or at <= queue.next:
            return self
        return replace(self, queues={**self.queues, stream: queue.begun_anew(at)})

    def subscribed(self, event: Subscribed) -> Ledger:
        """A consumer that asks from `start` on has received all tuples before: this counts as a level-0
        ack."""
        queue = self.queues[event.stream].acked(event.consumer, 0, event.start, event.epoch)
        return replace(self, queues={**self.queues, event.stream: queue})

    def moved(self, stream: Stream, seq: Seq) -> Ledger:
        """The elements that read `stream` start at `seq`: they need no tuple before it."""
        elements = dict(self.elements)
        for name in self.wiring.readers(stream):
            at = elements[name]
            ahead = Seq(max(at.positions[stream], seq))
            kept = Seq(max(at.selection[stream], seq))
            elements[name] = Inputs({**at.positions, stream: ahead}, {**at.selection, stream: kept})
        return replace(self.skipped_to(stream, seq), elements=elements)

    def placed(self, element: str, at: Mapping[Stream, Seq]) -> Ledger:
        """The element starts at these positions: it needs no tuple before them."""
        return replace(self, elements={**self.elements, element: Inputs(at, at)})

    def position(self, stream: Stream) -> Seq:
        """The end of what the subjob has processed of a stream: the least position of the elements that read
        it."""
        return min(self.elements[name].positions[stream] for name in self.wiring.readers(stream))

    def received(self, stream: Stream) -> Seq:
        return self.filters.get(stream, DuplicateFilter()).expected

    def released(self, stream: Stream, upto: Seq) -> Ledger:
        """Drops the tuples of a standby's queue before `upto`: the primary has reported that all consumers
        released them."""
        queue = self.queues[stream]
        trimmed = Seq(min(max(queue.trimmed, upto), queue.next))
        acks = {c: a.advance(1, trimmed, a.epoch) for c, a in queue.acks.items()}
        return replace(self, queues={**self.queues, stream: replace(queue, trimmed=trimmed, acks=acks)})

    def renumbered(self, stream: Stream, first: Seq) -> Ledger:
        """Gives the held tuples of a stream the seqs from `first` on."""
        return replace(self, queues={**self.queues, stream: self.queues[stream].renumbered(first)})

    def processed(self, event: Processed) -> tuple[Ledger, Range]:
        stream = Stream(event.element)
        queue, emitted = self.queues[stream].append(event.emitted)
        if event.ended:
            queue = queue.end()
        elements = {**self.elements, event.element: Inputs(event.positions, event.selection)}
        queues = {**self.queues, stream: queue}
        return Ledger(self.wiring, elements, queues, self.filters, self.producers), emitted

    def acked(self, event: Acked) -> tuple[Ledger, Seq]:
        """Applies an ack and trims; returns also where the queue begins now."""
        before = self.queues[event.stream]
        queue, held_from = before.acked(event.consumer, event.level, event.upto, event.epoch).trim()
        if queue is before:
            return self, held_from
        queues = {**self.queues, event.stream: queue}
        return Ledger(self.wiring, self.elements, queues, self.filters, self.producers), held_from

    def checkpoint(self, epoch: Epoch, number: int) -> Checkpoint:
        states = {}
        for name, at in self.elements.items():
            queue = self.queues[Stream(name)]
            states[name] = ElementState(at.positions, at.selection, queue.held, queue.ended)
        return Checkpoint(epoch, number, states)
