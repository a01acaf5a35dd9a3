"""Determinants (Hwang §6): what a non-deterministic step chose, so that another replica can do the same.

For a union the choice is the interleaving, for a random filter one bit per tuple; the core only carries it.
With a determinant goes where the step started and ended, so that a replica applies it to the same input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from understudy.protocol.ids import Range, Seq, Stream

NOTHING = Range(Seq(0), Seq(0))


@dataclass(frozen=True, slots=True)
class Determinant:
    """The last three are for upstream backup, whose log has to say more: a replica there has not been at
    work."""

    element: str
    at: Mapping[Stream, Seq]  # positions before the step
    to: Mapping[Stream, Seq]  # positions after it
    choice: tuple[int, ...]  # empty where nothing was left to chance
    low: Mapping[Stream, Seq] = field(default_factory=dict)  # the selection before the step
    kept: Mapping[Stream, Seq] = field(default_factory=dict)  # the selection after it
    made: Range = NOTHING  # the seqs that its output got

    @property
    def end(self) -> Determinant:
        """The place where it ended."""
        made = Range(self.made.stop, self.made.stop)
        return Determinant(self.element, self.to, self.to, (), self.kept, self.kept, made)


@dataclass(frozen=True, slots=True)
class Free:
    """What the secondary has confirmed, or nobody has to: steps, and the output positions that may be
    sent."""

    steps: tuple[Determinant, ...] = ()
    upto: Mapping[Stream, Seq] = field(default_factory=dict)


class Pending:
    """What the primary may not send yet: outputs whose determinants the secondary has not confirmed."""

    def __init__(self) -> None:
        self._number = 0
        self._waiting: list[tuple[int, Free]] = []  # by the message that has to be confirmed
        self._unsent: list[Determinant] = []
        self._made: dict[Stream, Seq] = {}

    def add(self, determinant: Determinant | None, stream: Stream, made: Seq) -> None:
        if determinant is not None:
            self._unsent.append(determinant)
        self._made[stream] = made

    def message(self) -> tuple[int, tuple[Determinant, ...]] | None:
        """The next log message, or None if nothing is new."""
        return self.next_message() if self._made else None

    def next_message(self) -> tuple[int, tuple[Determinant, ...]]:
        self._number += 1
        batch, made = tuple(self._unsent), self._made
        self._waiting.append((self._number, Free(batch, made)))
        self._unsent, self._made = [], {}
        return self._number, batch

    @property
    def oldest(self) -> int | None:
        """The first message that is not confirmed."""
        return self._waiting[0][0] if self._waiting else None

    def stored(self, number: int) -> Free:
        """The secondary holds all messages up to `number`."""
        known = [free for n, free in self._waiting if n <= number]
        self._waiting = [(n, free) for n, free in self._waiting if n > number]
        return _together(known)

    @property
    def unconfirmed(self) -> tuple[Determinant, ...]:
        return (*(step for _, free in self._waiting for step in free.steps), *self._unsent)

    @property
    def settled(self) -> bool:
        """Whether the secondary holds all there is."""
        return not self._made and not self._waiting

    def drop(self) -> Free:
        """There is no secondary any more: nothing is awaited."""
        rest = Free(tuple(self._unsent), self._made)
        known = [*(free for _, free in self._waiting), rest]
        self._waiting, self._unsent, self._made = [], [], {}
        return _together(known)


def _together(known: Iterable[Free]) -> Free:
    upto: dict[Stream, Seq] = {}
    steps: list[Determinant] = []
    for free in known:
        steps += free.steps
        upto.update(free.upto)
    return Free(tuple(steps), upto)
