"""The reader at the end of a stream acks in its interval."""

from __future__ import annotations

from understudy.modes.sink_client import Client
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.detector import Detector
from understudy.protocol.ids import Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Wiring

UP = Stream("up")


def test_it_acks_what_it_has_received_once_in_each_interval() -> None:
    sink = Client("end", Wiring({"end": (UP,)}, {"end": ()}), Detector.of(100, 3), interval=50, begins=Seq(4))
    sink.handle(on.Arrived(UP, Range(Seq(4), Seq(9)), Epoch(1)))
    first, again, later = (sink.lead_tick(Millis(at)) for at in (50, 99, 100))
    assert first == (do.SendAck(UP, 0, Seq(9)), do.SendAck(UP, 1, Seq(9)))
    assert again == ()
    assert later == first
