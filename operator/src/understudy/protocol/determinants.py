"""Determinants (Hwang §6): what a non-deterministic step chose, so that another instance can repeat the step.

For a union the choice is the interleaving, for a random filter one bit per tuple; the core only carries it. A
determinant also contains the positions before and after the step, so that it is applied to the same input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from understudy.protocol.ids import Range, Seq, Stream

NOTHING = Range(Seq(0), Seq(0))


@dataclass(frozen=True, slots=True)
class Determinant:
    """One logged step. `low`, `kept` and `made` are for upstream backup only: its standby has not processed
    the input, so the log has to contain more."""

    element: str
    at: Mapping[Stream, Seq]  # positions before the step
    to: Mapping[Stream, Seq]  # positions after it
    choice: tuple[int, ...]  # empty if the step was deterministic
    low: Mapping[Stream, Seq] = field(default_factory=dict)  # the selection before the step
    kept: Mapping[Stream, Seq] = field(default_factory=dict)  # the selection after it
    made: Range = NOTHING  # the seqs that its output got

    @property
    def end(self) -> Determinant:
        """An empty step at the place where this one ended."""
        made = Range(self.made.stop, self.made.stop)
        return Determinant(self.element, self.to, self.to, (), self.kept, self.kept, made)


@dataclass(frozen=True, slots=True)
class Free:
    """What need not wait any longer: logged steps, and for each stream the seq up to which output may be
    sent."""

    steps: tuple[Determinant, ...] = ()
    upto: Mapping[Stream, Seq] = field(default_factory=dict)


class Pending:
    """Output that the primary may not send yet, because the secondary has not confirmed its determinants."""

    def __init__(self) -> None:
        self._number = 0
        self._waiting: list[tuple[int, Free]] = []  # by the number of the message that has to be confirmed
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
        """The first unconfirmed message."""
        return self._waiting[0][0] if self._waiting else None

    def stored(self, number: int) -> Free:
        """Confirms all messages up to `number`; returns what they free."""
        known = [free for n, free in self._waiting if n <= number]
        self._waiting = [(n, free) for n, free in self._waiting if n > number]
        return _together(known)

    @property
    def unconfirmed(self) -> tuple[Determinant, ...]:
        return (*(step for _, free in self._waiting for step in free.steps), *self._unsent)

    @property
    def settled(self) -> bool:
        """Whether the secondary has confirmed everything."""
        return not self._made and not self._waiting

    def drop(self) -> Free:
        """Frees everything, because there is no secondary any more."""
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
