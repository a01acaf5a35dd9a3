"""Determinants at a primary (Hwang §6): what a step made is sent only when the secondary holds what the step
chose.

| on                              | does |
|---------------------------------|------|
| a secondary joins, none before  | gives it what it begins with |
| a step is done                  | its output waits |
| every tick                      | ships what was chosen since; if the oldest is not confirmed in time, fences |
| confirmed                       | sends what waited for it |
| the secondary leaves, or another joins | fences: takes the Lease anew |
| the Lease was taken anew        | sends all that waited, and begins with who has joined |

A lost secondary may come back with less than was chosen since, and win the Lease with it. So nothing goes out
that it has not confirmed until it can't: the new epoch fences it off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from understudy.modes.instance import Commands, Instance
from understudy.protocol import commands as do
from understudy.protocol.determinants import Determinant, Free, Pending
from understudy.protocol.ids import Millis, Seq, Stream

RESEND = 40  # intervals after which what is not confirmed counts as lost


class Confirming:
    """`begin` gives a secondary what it begins with; `awaits`: whether there are determinants to be
    confirmed."""

    def __init__(self, core: Instance, begin: Callable[[str], Commands], *, awaits: bool = True) -> None:
        self._core, self._begin, self._awaits = core, begin, awaits
        self.secondary: str | None = None
        self.fencing = False  # the Lease is taken anew, so that a lost secondary can't win it
        self.pending = Pending()
        self._awaited: tuple[int | None, Millis] = (
            None,
            Millis(0),
        )  # a message to be confirmed, and since when

    @property
    def holds(self) -> bool:
        """Whether output has to wait."""
        return self._awaits and (self.secondary is not None or self.fencing)

    def add(self, step: Determinant | None, stream: Stream, made: Seq) -> None:
        if self.holds:
            self.pending.add(step, stream, made)

    # --- who is there

    def joined(self, name: str) -> Commands:
        """If there is another, or there was, or the same as before, that one is fenced off first."""
        held, self.secondary = self.holds, name
        return self._fence() if held else self._begin(name)

    def left(self) -> Commands:
        self.secondary = None
        return self._fence() if self._awaits else ()

    def begin_again(self) -> Commands:
        """What the secondary was to begin with, or what followed, has not reached it."""
        return self.joined(self.secondary) if self.secondary is not None else ()

    def _fence(self) -> Commands:
        self.fencing = True
        return (do.TryLease(self._core.lease, "to fence off the lost secondary"),)

    def still_ours(self) -> Commands:
        return self._fence() if self.fencing else ()

    def renewed(self) -> Free:
        """The Lease was taken anew: nobody else can win it with what came before, so nothing is awaited any
        more."""
        free = self.pending.drop()
        self.fencing, self.pending, self._awaited = False, Pending(), (None, Millis(0))
        return free

    def begin(self) -> Commands:
        return self._begin(self.secondary) if self.secondary is not None else ()

    # --- the log

    def message(self) -> tuple[int, tuple[Determinant, ...]] | None:
        """What was chosen since the last message."""
        return self.pending.message() if self.holds and not self.fencing else None

    def overdue(self, now: Millis, interval: int) -> bool:
        """Determinants that are never confirmed were lost, and no later ones may follow that would show
        it."""
        oldest, (awaited, since) = self.pending.oldest, self._awaited
        if oldest != awaited:
            self._awaited = (oldest, now)
            return False
        return oldest is not None and not self.fencing and now - since > interval * RESEND

    def publish(self, free: Free) -> Commands:
        """An end is a choice, too: a step that drops the last tuples makes no output that would have to
        wait."""
        leaving = self._core.wiring.leaving
        found = (self._core.publish(str(s), p) for s, p in free.upto.items() if s in leaving)
        return tuple(replace(p, ended=p.ended and self.pending.settled) for p in found)
