"""A life that takes up a former one's state, or begins in its place with nothing, and may find that input
is gone.

Then it makes other tuples than the former life, and they must not take the seqs of the former life's
tuples. Which seqs are taken is known only when all consumers have subscribed (the roll call). Until
then no output leaves and no ack counts.

A mode in which every life makes other tuples (`always_new`) does not wait for consumers that were lost
in the same failure: a late one counts on from where it was. Elsewhere only a life that has lost its
state calls the roll. It waits for all: the lives after it go on with its seqs.
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
        self.answers = RollCall(self._core.wiring)  # what consumers said when they subscribed to this life
        self._differs_from: dict[Stream, Seq] = {}
        """From these seqs on, what waits for the roll call is new."""

    def takes_up(self, at: Mapping[Stream, Seq], *, differs: bool = False) -> None:
        """This life begins at `at`. `differs`: it makes other tuples than the former one in any case."""
        core, later = self._core, self._core.epoch > Epoch(1)
        self.forget()
        core.roll = self.answers if differs and later else None
        if differs:
            core.numbering = core.numbering.nobody_late()
        core.numbering = core.numbering.resuming(at if later else {})

    def adopt(self, former: Instance) -> None:
        """Consumers that have subscribed to this process do not do so again because its mode is another."""
        if former.resuming is not None:
            self.answers = former.resuming.answers
        else:
            self._core.numbering = self._core.numbering.resuming({})

    def holds(self, stream: Stream) -> bool:
        """Whether output of this stream waits for the roll call."""
        return self._core.roll is not None and stream in self._core.wiring.leaving

    def hear(self, event: on.Subscribed) -> Commands:
        self.answers.heard(event)
        roll = self._core.roll
        return self._send_as_new(roll) if roll is not None and roll.complete else ()

    def tick(self, now: Millis) -> Commands:
        roll = self._core.roll
        if not self._always_new or roll is None or not self._core.without_the_silent(roll, now):
            return ()
        return self._send_as_new(roll)

    def call_roll_if_lossy(self) -> None:
        core = self._core
        numbering = core.numbering
        if numbering.lossy and numbering.resumed and core.roll is None and not self.answers.complete:
            core.roll = self.answers
            self._differs_from = {s: core.ledger.queues[s].next for s in core.wiring.leaving}

    def _send_as_new(self, roll: RollCall) -> Commands:
        """Renumbers what is held, and all that follows, behind what consumers have seen. A stream of which
        none has seen new tuples keeps its seqs."""
        core, leaving = self._core, self._core.wiring.leaving
        core.roll = None
        unseen = {s: at for s, at in self._differs_from.items() if roll.furthest(s) <= at}
        if not unseen:
            return (*core.send_as_new(roll), *core.sent_as_new())
        first = {s: unseen.get(s, roll.furthest(s)) for s in leaving}
        core.numbering = core.numbering.diverging(first)
        sent = ((core.publish(s),) if s in unseen else core.renumber(s, first[s]) for s in leaving)
        return (*(c for commands in sent for c in commands), *core.sent_as_new())
