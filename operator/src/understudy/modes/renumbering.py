"""How the seqs of this life relate to those that earlier lives gave to their tuples.

A life that has lost its state makes other tuples than the life before it. Consumers hold tuples of that
earlier life, so new tuples must not take seqs that a consumer has seen. Which seqs are taken is settled when
the consumers have subscribed. A late consumer, which subscribes only after that, may be served with a shift.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from understudy.modes.roll import Reader
from understudy.protocol import events as on
from understudy.protocol.ids import Consumer, Seq, Stream

AckKey = tuple[Stream, Consumer, int]


@dataclass(frozen=True, slots=True)
class Numbering:
    lossy: bool = False  # this life began without the state of the life before it
    diverged_at: Mapping[Stream, Seq] = field(default_factory=dict)
    """From these seqs on, streams have other tuples than an earlier life sent."""
    resumed: Mapping[Stream, Seq] = field(default_factory=dict)
    """Positions at which this life continues from an earlier life's state. The earlier life may have got
    further."""
    # these consumers did not answer the roll call, and have not subscribed since
    late: frozenset[Reader] = frozenset()
    shifts: Mapping[Reader, int] = field(default_factory=dict)
    """How much higher a late consumer's seqs of the stream are than the seqs of this life."""
    early: Mapping[AckKey, on.Acked] = field(default_factory=dict)
    """The newest acks that came during a roll call. They count in the seqs of an earlier life."""

    def lost_state(self) -> Numbering:
        return replace(self, lossy=True)

    def diverging(self, at: Mapping[Stream, Seq]) -> Numbering:
        return replace(self, diverged_at={**self.diverged_at, **at})

    def resuming(self, at: Mapping[Stream, Seq]) -> Numbering:
        return replace(self, resumed=dict(at))

    # --- late consumers

    def without(self, silent: Iterable[Reader]) -> Numbering:
        """Ends the roll call: consumers that have not answered are late."""
        return replace(self, late=frozenset(silent))

    def back(self, reader: Reader) -> Numbering:
        return replace(self, late=self.late - {reader})

    def shifted(self, reader: Reader, by: int) -> Numbering:
        early = {key: ack for key, ack in self.early.items() if key[:2] != reader}
        return replace(self, shifts={**self.shifts, reader: by}, early=early)

    def with_shifts(self, shifts: Mapping[Stream, Mapping[Consumer, int]]) -> Numbering:
        return replace(self, shifts={(s, c): n for s, per in shifts.items() for c, n in per.items()})

    def nobody_late(self) -> Numbering:
        return replace(self, late=frozenset(), shifts={})

    def ours(self, stream: Stream, consumer: Consumer, seq: int) -> Seq:
        """This life's seq of the tuple that the consumer calls `seq`."""
        return Seq(max(0, seq - self.shifts.get((stream, consumer), 0)))

    def theirs(self, stream: Stream, consumer: Consumer, seq: int) -> Seq:
        """The consumer's seq of the tuple that this life calls `seq`."""
        return Seq(seq + self.shifts.get((stream, consumer), 0))

    @property
    def shifts_by_stream(self) -> dict[Stream, dict[Consumer, int]]:
        return {s: {c: n for (of, c), n in self.shifts.items() if of == s} for s, _ in self.shifts}

    # --- acks that came too early

    def with_early(self, ack: on.Acked) -> Numbering:
        """Keeps an ack for later: a consumer that gets no new tuples will not repeat it."""
        key = (ack.stream, ack.consumer, ack.level)
        known = self.early.get(key, ack)
        newest = max(known, ack, key=lambda each: (each.epoch, each.upto))
        return replace(self, early={**self.early, key: newest})

    def settled(self) -> tuple[Numbering, tuple[on.Acked, ...]]:
        """Ends the wait when the roll call is over: returns the early acks that count now. Those of late
        consumers keep waiting."""
        waiting = {key: ack for key, ack in self.early.items() if key[:2] in self.late}
        return replace(self, early=waiting), tuple(a for key, a in self.early.items() if key not in waiting)


NO_NUMBERING = Numbering()
