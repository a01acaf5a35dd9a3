"""What an instance reads and serves, by how its elements are wired."""

from __future__ import annotations

from understudy.protocol.ids import Consumer, Stream
from understudy.protocol.ledger import Wiring

SOURCE, UP, INNER, OUT = Stream("source"), Stream("up"), Stream("job.a"), Stream("job")


def test_streams_between_elements_neither_enter_nor_leave_and_sources_are_not_external() -> None:
    consumers = {"job.a": (Consumer("job"),), "job": (Consumer("down"),)}
    wiring = Wiring({"job.a": (SOURCE, UP), "job": (INNER, UP)}, consumers, replayable=frozenset({SOURCE}))
    assert (wiring.entering, wiring.external, wiring.leaving) == ((SOURCE, UP), (UP,), (OUT,))
