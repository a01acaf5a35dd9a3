"""How a life continues from the state of a former life, or replaces it without state, and what it does if its
input is gone.

Without the input it makes other tuples than the former life, and they must not take the seqs of the former
life's tuples. Which seqs are taken is known only when all consumers have subscribed (the roll call). Until
then no output is sent and no ack counts.

A mode in which every life makes other tuples (`always_new`) does not wait for consumers that were lost in the
same failure: a late consumer keeps its own count. In other modes only a life that has lost its state calls
the roll. It waits for all consumers, because the lives after it continue with its seqs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from understudy.modes.roll import RollCall
from understudy.protocol import events as on
from understudy.protocol.commands import Commands
from understudy.protocol.ids import Epoch, Millis, Seq, Stream

if TYPE_CHECKING:
    from understudy.modes.instance import Instance


class Resuming:
    def __init__(self, core: Instance, *, always_new: bool = False) -> None:
        self._core, self._always_new = core, always_new
        self.forget()

    def forget(self) -> None:
        self.answers = RollCall.of(self._core.wiring)  # the subscriptions of consumers to this life
        self._differs_from: dict[Stream, Seq] = {}
        """From these seqs on, output that waits for the roll call differs from what the former life sent."""

    def takes_up(self, at: Mapping[Stream, Seq], *, differs: bool = False) -> None:
        """This life begins at the positions `at`. `differs`: its output differs from the former life's in any
        case."""
        core, later = self._core, self._core.epoch > Epoch(1)
        self.forget()
        core.roll = self.answers if differs and later else None
        if differs:
            core.numbering = core.numbering.nobody_late()
        core.numbering = core.numbering.resuming(at if later else {})

    def adopt(self, former: Instance) -> None:
        """Consumers that have subscribed to this process do not subscribe again when its mode changes, so
        their answers are kept."""
        if former.resuming is not None:
            self.answers = former.resuming.answers
        else:
            self._core.numbering = self._core.numbering.resuming({})

    def holds(self, stream: Stream) -> bool:
        """Whether output of this stream waits for the roll call."""
        return self._core.roll is not None and stream in self._core.wiring.leaving

    def hear(self, event: on.Subscribed) -> Commands:
        self.answers = self.answers.heard(event)
        if self._core.roll is None:
            return ()
        self._core.roll = self.answers
        return self._send_as_new(self.answers) if self.answers.complete else ()

    def tick(self, now: Millis) -> Commands:
        if not self._always_new or self._core.roll is None:
            return ()
        over = self._core.without_the_silent(now)
        self.answers = self._core.roll
        return self._send_as_new(self.answers) if over else ()

    def call_roll_if_lossy(self) -> None:
        core = self._core
        numbering = core.numbering
        if numbering.lossy and numbering.resumed and core.roll is None and not self.answers.complete:
            core.roll = self.answers
            self._differs_from = {s: core.ledger.queues[s].next for s in core.wiring.leaving}

    def _send_as_new(self, roll: RollCall) -> Commands:
        """Gives the held tuples, and all that follow, seqs after those that consumers have seen. A stream
        keeps its seqs if no consumer has received any of the differing tuples."""
        core, leaving = self._core, self._core.wiring.leaving
        core.roll = None
        unseen = {s: at for s, at in self._differs_from.items() if roll.furthest(s) <= at}
        if not unseen:
            return (*core.send_as_new(roll), *core.sent_as_new())
        first = {s: unseen.get(s, roll.furthest(s)) for s in leaving}
        core.numbering = core.numbering.diverging(first)
        sent = ((core.publish(s),) if s in unseen else core.renumber(s, first[s]) for s in leaving)
        return (*(c for commands in sent for c in commands), *core.sent_as_new())
