"""Logging determinants at a secondary (Hwang §6): the output of a step is sent only when the secondary holds
the step's determinant.

When a secondary joins, `begin` ships its initial state. From then on the output of every step waits. Each
tick ships the determinants made since the last one; when the secondary confirms them, the output that waited
is sent. If the secondary leaves, if another one joins, or if a confirmation is overdue, the primary takes the
Lease again (it *fences*). Then it sends all output that waited, and begins with the secondary that has
joined.

A lost secondary may come back without the newest determinants and win the Lease. So output that it has not
confirmed is sent only when it can no longer win: the new epoch fences it off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from understudy.modes.instance import Instance
from understudy.protocol import commands as do
from understudy.protocol.commands import Commands
from understudy.protocol.determinants import Determinant, Free, Pending
from understudy.protocol.ids import Millis, Seq, Stream

RESEND = 40  # intervals after which an unconfirmed message counts as lost


class Confirming:
    """Holds output back until the secondary has confirmed its determinants. `begin` ships a secondary its
    initial state; `awaits`: whether there are determinants to confirm."""

    def __init__(self, core: Instance, begin: Callable[[str], Commands], *, awaits: bool = True) -> None:
        self._core, self._begin, self._awaits = core, begin, awaits
        self.secondary: str | None = None
        self.fencing = False  # the Lease is being taken again, so that a lost secondary can't win it
        self.pending = Pending()
        self._awaited: tuple[int | None, Millis] = (
            None,
            Millis(0),
        )  # the oldest unconfirmed message, and since when it is the oldest

    @property
    def holds(self) -> bool:
        """Whether output has to wait."""
        return self._awaits and (self.secondary is not None or self.fencing)

    def add(self, step: Determinant | None, stream: Stream, made: Seq) -> None:
        if self.holds:
            self.pending.add(step, stream, made)

    # --- the secondary

    def joined(self, name: str) -> Commands:
        """A secondary joins. If output waits for an earlier secondary (also the same one), that one is fenced
        off first."""
        held, self.secondary = self.holds, name
        return self._fence() if held else self._begin(name)

    def left(self) -> Commands:
        self.secondary = None
        return self._fence() if self._awaits else ()

    def begin_again(self) -> Commands:
        """The initial state of the secondary, or what followed it, was lost on the way: begins with it as if
        it had just joined."""
        return self.joined(self.secondary) if self.secondary is not None else ()

    def _fence(self) -> Commands:
        self.fencing = True
        return (do.TryLease(self._core.lease, "to fence off the lost secondary"),)

    def still_ours(self) -> Commands:
        return self._fence() if self.fencing else ()

    def renewed(self) -> Free:
        """The Lease was taken again: nobody can win it from a state before that, so no confirmation is
        awaited any longer."""
        free = self.pending.drop()
        self.fencing, self.pending, self._awaited = False, Pending(), (None, Millis(0))
        return free

    def begin(self) -> Commands:
        return self._begin(self.secondary) if self.secondary is not None else ()

    # --- the log

    def message(self) -> tuple[int, tuple[Determinant, ...]] | None:
        """The number and the determinants of the next message: all that were made since the last one."""
        return self.pending.message() if self.holds and not self.fencing else None

    def overdue(self, now: Millis, interval: int) -> bool:
        """Whether the oldest message has waited too long. Determinants that are never confirmed were lost,
        and there may be no later message whose number would reveal it."""
        oldest, (awaited, since) = self.pending.oldest, self._awaited
        if oldest != awaited:
            self._awaited = (oldest, now)
            return False
        return oldest is not None and not self.fencing and now - since > interval * RESEND

    def publish(self, free: Free) -> Commands:
        """The commands that send the free output. The end of a stream is a choice, too: a step that drops the
        last tuples makes no output that would have to wait, so the end waits here."""
        leaving = self._core.wiring.leaving
        found = (self._core.publish(str(s), p) for s, p in free.upto.items() if s in leaving)
        return tuple(replace(p, ended=p.ended and self.pending.settled) for p in found)
