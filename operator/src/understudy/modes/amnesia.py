"""Amnesia (Hwang §4): gap recovery. A replacement starts empty, at the newest input; what was in between is lost.

No run-time cost: an input is released as soon as it is processed. A replacement first hears from all its consumers how
far its stream had come, so that seqs go on without being used twice, and only then takes input.
"""

from __future__ import annotations

from understudy.modes.instance import Commands, Instance
from understudy.modes.roll import RollCall
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.detector import Detector
from understudy.protocol.events import Event
from understudy.protocol.ids import Epoch, Seq, Stream
from understudy.protocol.ledger import Wiring


class Amnesia(Instance):
    def __init__(self, name: str, wiring: Wiring, detector: Detector) -> None:
        super().__init__(name, wiring, detector)
        self.forget()

    def forget(self) -> None:
        self._roll: RollCall | None = RollCall(self.wiring)

    def start_inputs(self, checkpoint: Checkpoint | None) -> Commands:
        self.lossy = self.epoch > Epoch(1)
        if self.lossy:
            return ()
        self._roll = None
        return tuple(do.ReadInput(s, Seq(0)) for s in self.wiring.entering)

    def continue_moved(self, checkpoint: Checkpoint) -> Commands:
        self._roll = None
        return super().continue_moved(checkpoint)

    def taken_up(self) -> None:
        self._roll = None

    def lead(self, event: Event) -> Commands:
        match event:
            case on.Subscribed() if self._roll is not None:
                self._roll.heard(event)
                return self._begin(self._roll) if self._roll.complete else ()
            case _:
                return ()

    @property
    def roll_open(self) -> bool:
        return self._roll is not None

    def _begin(self, roll: RollCall) -> Commands:
        self._roll = None
        for stream in self.wiring.leaving:
            self.ledger = self.ledger.rebased(stream, roll.furthest(stream))
        return tuple(do.ReadInput(s, None) for s in self.wiring.entering)

    def processed(self, event: on.Processed) -> Commands:
        released = tuple(do.SendAck(s, 1, upto) for s, upto in event.positions.items())
        return (self.publish(event.element), *released)

    def redirected(self, stream: Stream) -> Commands:
        return (do.SendAck(stream, 1, self.ledger.position(stream)),)
