"""Determinants (Hwang §6): what a non-deterministic step chose, so that another replica can do the same.

For a union the choice is the interleaving, for a random filter one bit per tuple; the core only carries it. With a
determinant goes where the step started and ended, so that a replica applies it to the same input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from understudy.protocol.ids import Seq, Stream


@dataclass(frozen=True, slots=True)
class Determinant:
    element: str
    at: Mapping[Stream, Seq]  # positions before the step
    to: Mapping[Stream, Seq]  # positions after it
    choice: tuple[int, ...]


class Pending:
    """What the primary may not send yet: outputs whose determinants the secondary has not confirmed."""

    def __init__(self) -> None:
        self._unsent: list[Determinant] = []
        self._number = 0
        self._waiting: list[tuple[int, dict[Stream, Seq]]] = []  # message number, output positions behind it
        self._made: dict[Stream, Seq] = {}

    def add(self, determinant: Determinant | None, stream: Stream, made: Seq) -> None:
        if determinant is not None:
            self._unsent.append(determinant)
        self._made[stream] = made

    def message(self) -> tuple[int, tuple[Determinant, ...]] | None:
        """The next log message, or None if nothing is new."""
        if not self._made:
            return None
        self._number += 1
        self._waiting.append((self._number, self._made))
        batch, self._unsent, self._made = tuple(self._unsent), [], {}
        return self._number, batch

    @property
    def oldest(self) -> int | None:
        """The first message that is not confirmed."""
        return self._waiting[0][0] if self._waiting else None

    def stored(self, number: int) -> dict[Stream, Seq]:
        """The secondary holds all messages up to `number`: these output positions may be sent."""
        free: dict[Stream, Seq] = {}
        while self._waiting and self._waiting[0][0] <= number:
            free.update(self._waiting.pop(0)[1])
        return free

    @property
    def settled(self) -> bool:
        """Whether the secondary holds all there is."""
        return not self._made and not self._waiting

    def drop(self) -> dict[Stream, Seq]:
        """There is no secondary any more: nothing is awaited."""
        free: dict[Stream, Seq] = {}
        for _, made in self._waiting:
            free.update(made)
        free.update(self._made)
        self._waiting, self._unsent, self._made = [], [], {}
        return free
