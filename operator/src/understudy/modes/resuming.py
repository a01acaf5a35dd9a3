"""A life that takes up a former one's state, or begins in its place with nothing, and may find that input is
gone.

Then what it makes is not what the former life made, and must not take the seqs of that. Which seqs are taken
is known only when all consumers have subscribed: until then, nothing that is made anew leaves, and no ack
counts.

A mode in which every life makes other tuples (`always_new`) does not wait for consumers that were lost in the
same failure: a late one counts on from where it was. Elsewhere only a life that has lost its state calls the
roll. It waits for all: the lives after it go on with its seqs.
"""

from __future__ import annotations

from collections.abc import Mapping

from understudy.modes.instance import Commands, Instance
from understudy.modes.roll import RollCall
from understudy.protocol import events as on
from understudy.protocol.ids import Epoch, Millis, Seq, Stream


class Resuming(Instance):
    always_new = False

    def forget(self) -> None:
        self._roll: RollCall | None = None
        self._answers = RollCall(self.wiring)  # what consumers said when they subscribed to this life
        self._differs_from: dict[
            Stream, Seq
        ] = {}  # from these seqs on, what waits for the roll call is made anew

    def takes_up(self, at: Mapping[Stream, Seq], *, differs: bool = False) -> None:
        """This life begins at `at`. `differs`: it makes other tuples than the former one in any case."""
        self._answers, self._differs_from = RollCall(self.wiring), {}
        self._roll = self._answers if differs and self.epoch > Epoch(1) else None
        if differs:
            self.late, self.shifts = set(), {}
        self.resumed = dict(at) if self.epoch > Epoch(1) else {}

    @property
    def roll_open(self) -> bool:
        return self._roll is not None

    def hear(self, event: on.Subscribed) -> Commands:
        self._answers.heard(event)
        return self._send_as_new(self._roll) if self._roll is not None and self._roll.complete else ()

    def roll_tick(self, now: Millis) -> Commands:
        if not self.always_new or self._roll is None or not self.without_the_silent(self._roll, now):
            return ()
        return self._send_as_new(self._roll)

    def adopt(self, former: Instance) -> None:
        """Consumers that have subscribed to this process do not do so again because its mode is another."""
        super().adopt(former)
        if isinstance(former, Resuming):
            self._answers = former._answers
        else:
            self.resumed = {}

    def _rebase(self) -> Commands:
        if self.lossy and self.resumed and self._roll is None and not self._answers.complete:
            self._roll = self._answers
            self._differs_from = {s: self.ledger.queues[s].next for s in self.wiring.leaving}
        return super()._rebase() if self._roll is None else ()

    def _send_as_new(self, roll: RollCall) -> Commands:
        """What is held, and all that follows, under seqs that no consumer has seen; those that none has seen
        anyway stay."""
        self._roll, unseen = None, {s: at for s, at in self._differs_from.items() if roll.furthest(s) <= at}
        if not unseen:
            return self.send_as_new(roll)
        self.anew |= {s: unseen.get(s, roll.furthest(s)) for s in self.wiring.leaving}
        sent = (
            (self.publish(s),) if s in unseen else self.renumber(s, self.anew[s]) for s in self.wiring.leaving
        )
        return tuple(c for commands in sent for c in commands)

    def processed(self, event: on.Processed) -> Commands:
        waits = self._roll is not None and Stream(event.element) in self.wiring.leaving
        return () if waits else super().processed(event)
