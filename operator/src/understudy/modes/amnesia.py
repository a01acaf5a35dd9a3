"""Amnesia (Hwang §4): gap recovery. A replacement starts empty, at the newest input; what was in between is lost.

No run-time cost: an input is released as soon as it is processed.
"""

from __future__ import annotations

from understudy.modes.instance import Commands, Instance
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.ids import Epoch, Seq


class Amnesia(Instance):
    def start_inputs(self, checkpoint: Checkpoint | None) -> Commands:
        first_life = self.epoch == Epoch(1)
        start = Seq(0) if first_life else None
        return tuple(do.ReadInput(s, start) for s in self.wiring.external)

    def processed(self, event: on.Processed) -> Commands:
        released = tuple(do.SendAck(s, 1, upto) for s, upto in event.positions.items())
        return (self.publish(event.element), *released)
