"""Passive standby (Hwang §5.1, Zhang's synchronous checkpointing): the primary ships its state to a secondary.

Input preservation: an input tuple is released upstream only when the secondary has stored a checkpoint that covers it.
Output preservation: the secondary is always behind, so what it sends again after a take-over was sent before.

Without a secondary nothing is released: upstream keeps what a first secondary, or a restart from zero, will need.

`hold_back` makes arbitrary operators precise (Hwang §6, Table 4): only checkpointed tuples are forwarded.
"""

from __future__ import annotations

from understudy.modes.instance import Commands, Instance
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.detector import Detector
from understudy.protocol.events import Event
from understudy.protocol.ids import Millis, Seq, Stream
from understudy.protocol.ledger import Wiring


class PassiveStandby(Instance):
    def __init__(
        self, name: str, wiring: Wiring, detector: Detector, *, interval: int, hold_back: bool = False
    ) -> None:
        super().__init__(name, wiring, detector)
        self.interval = interval
        self.hold_back = hold_back
        self.forget()

    def forget(self) -> None:
        self._kept: Checkpoint | None = None  # as a secondary: the newest stored
        self._secondary: str | None = None
        self._number = 0
        self._in_flight: Checkpoint | None = None
        self._confirmed: Checkpoint | None = None  # what the secondary has
        self._shipped_at: Millis | None = None
        self._changed = False

    # --- secondary

    def stored(self) -> Checkpoint | None:
        return self._kept

    def follow(self, event: Event) -> Commands:
        match event:
            case on.CheckpointArrived(checkpoint) if checkpoint.epoch >= self.epoch:
                self.epoch, self._kept = checkpoint.epoch, checkpoint
                return (do.Store(checkpoint),)
            case _:
                return ()

    def start_inputs(self, checkpoint: Checkpoint | None) -> Commands:
        at = {s: checkpoint.position(s) if checkpoint else None for s in self.wiring.entering}
        return tuple(do.ReadInput(s, at[s] or Seq(0)) for s in self.wiring.entering)

    # --- primary

    def lead(self, event: Event) -> Commands:
        match event:
            case on.SecondaryJoined(name):
                self._secondary, self._confirmed, self._in_flight = name, None, None
                self._changed = True
                return ()
            case on.SecondaryLeft(name) if name == self._secondary:
                self._secondary = self._confirmed = self._in_flight = None
                return ()
            case on.CheckpointStored(epoch, number) if epoch == self.epoch:
                return self._confirm(number)
            case _:
                return ()

    def lead_tick(self, now: Millis) -> Commands:
        """Ship at most one checkpoint per interval, none while one is under way, none without a change."""
        due = self._shipped_at is None or now - self._shipped_at >= self.interval
        if self._secondary is None or self._in_flight or not self._changed or not due:
            return ()
        self._number += 1
        self._in_flight = self.ledger.checkpoint(self.epoch, self._number)
        self._shipped_at, self._changed = now, False
        return (do.Ship(self._in_flight, self._confirmed),)

    def processed(self, event: on.Processed) -> Commands:
        self._changed = True
        return () if self.hold_back else (self.publish(event.element),)

    def acked(self, event: on.Acked) -> Commands:
        self._changed = True
        return ()

    def _confirm(self, number: int) -> Commands:
        if self._in_flight is None or self._in_flight.number != number:
            return ()
        self._confirmed, self._in_flight = self._in_flight, None
        return (*self._release(self._confirmed), *self._forward(self._confirmed))

    def _release(self, checkpoint: Checkpoint) -> Commands:
        streams = dict.fromkeys(s for ins in self.wiring.inputs.values() for s in ins)
        found = ((s, checkpoint.position(s)) for s in streams)
        return tuple(do.SendAck(s, 1, upto) for s, upto in found if upto is not None)

    def _forward(self, checkpoint: Checkpoint) -> Commands:
        if not self.hold_back:
            return ()
        return tuple(self.publish(name, e.held.stop) for name, e in checkpoint.elements.items())

    @property
    def protected(self) -> bool:
        return self._confirmed is not None

    @property
    def secondary(self) -> str | None:
        return self._secondary

    @property
    def number(self) -> int:
        """Of the newest checkpoint shipped."""
        return self._number

    def covered(self, stream: Stream) -> Seq:
        """The input position that a take-over now would continue from."""
        found = self._confirmed.position(stream) if self._confirmed else None
        return found or Seq(0)
