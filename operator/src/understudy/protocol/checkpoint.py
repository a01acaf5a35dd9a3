"""What a primary ships to a passive standby (Hwang §5.1, Zhang): positions, the tail before each, the output
queues.

A checkpoint names ranges; the shell attaches the rows. Input that was received but not processed is not part
of it: that input is still in the upstream output queue, because only a stored checkpoint acks it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from understudy.protocol.determinants import Determinant
from understudy.protocol.ids import Consumer, Epoch, Range, Seq, Stream
from understudy.protocol.savepoints import Trees
from understudy.protocol.watermarks import Step


@dataclass(frozen=True, slots=True)
class ElementState:
    """One element between two micro-batches: selector, tail and sequencer."""

    positions: Mapping[Stream, Seq]  # next tuple of each input
    selection: Mapping[Stream, Seq]  # first tuple of each input that the state still needs
    held: Range  # its output queue; held.stop is the sequencer
    ended: bool = False

    def tail(self, stream: Stream) -> Range:
        return Range(min(self.selection[stream], self.positions[stream]), self.positions[stream])


@dataclass(frozen=True, slots=True)
class Checkpoint:
    epoch: Epoch
    number: int
    elements: Mapping[str, ElementState]
    marks: Mapping[Stream, Step] = field(
        default_factory=dict
    )  # watermarks that upstream sent with the last tuples
    trees: Trees = field(default_factory=dict)  # savepoint trees of consumers
    steps: Mapping[Stream, tuple[Step, ...]] = field(
        default_factory=dict
    )  # of the tuples in the output queues, where a mode logs steps
    log: tuple[Determinant, ...] = ()  # where a mode logs determinants to repeat its steps
    extended: Mapping[Stream, Seq] = field(
        default_factory=dict
    )  # end of the input that is kept beyond a position (Brettlecker §4.6)
    shifts: Mapping[Stream, Mapping[Consumer, int]] = field(
        default_factory=dict
    )  # of late consumers that keep their own count

    def position(self, stream: Stream) -> Seq | None:
        """The position on a subjob input that this checkpoint covers: the least of all elements that read
        it."""
        found = [e.positions[stream] for e in self.elements.values() if stream in e.positions]
        return min(found) if found else None

    def covers(self, stream: Stream) -> Seq | None:
        """Upstream need not keep input before this seq: it is processed, or the checkpoint contains it."""
        at = self.position(stream)
        return at if at is None else Seq(max(at, self.extended.get(stream, at)))

    @property
    def tuples(self) -> int:
        """How many tuples the checkpoint contains."""
        tails = sum(len(e.tail(s)) for e in self.elements.values() for s in e.positions)
        ahead = sum(upto - (self.position(s) or 0) for s, upto in self.extended.items())
        return tails + ahead + sum(len(e.held) for e in self.elements.values())


def missing(wanted: Range, stored: Range | None) -> Range:
    """The part of `wanted` that a receiver needs if it has `stored`. Queues and tails grow only at their
    end."""
    if stored is None or stored.start > wanted.start:
        return wanted
    return wanted.from_(stored.stop)
