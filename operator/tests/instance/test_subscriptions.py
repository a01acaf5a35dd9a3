"""Whose subscriptions a primary takes."""

from __future__ import annotations

from pathlib import Path

import pyarrow.flight as flight

from understudy.modes.build import sink_consumer
from understudy.protocol.ids import Epoch, Seq, Stream
from understudy.protocol.peermessage import Batch, Origin, Ping, Pong, Subscribe, SubscriptionRefused
from understudy.streams import wire
from understudy.streams.connection import connect

from .in_process import InProcessJob


def first_word(
    client: flight.FlightClient, meant: int, origin: Origin = Origin.POSITION
) -> Batch | SubscriptionRefused:
    request = Subscribe(
        stream=Stream("second"),
        consumer=sink_consumer("end"),
        origin=origin,
        start=Seq(0),
        epoch=Epoch(1),
        replica=True,
        meant=Epoch(meant),
    )
    call = client.do_get(wire.ticket(request))
    word = wire.read(call.read_chunk().app_metadata)
    call.cancel()
    assert isinstance(word, Batch | SubscriptionRefused)
    return word


def test_a_subscription_that_was_meant_for_an_earlier_epoch_is_refused(tmp_path: Path) -> None:
    """It may have been long on its way, and its sender have got further since."""
    running = InProcessJob("{mode: upstreamBackup}", tmp_path)
    try:
        with connect(running.instances["second-0"].context.address) as client:
            assert wire.say(client, Ping(), 30) == Pong(Epoch(1))
            assert isinstance(first_word(client, 0), SubscriptionRefused)
            assert isinstance(first_word(client, 1), Batch)
    finally:
        running.close()


def test_who_asks_for_what_is_held_hears_how_much_it_has_released(tmp_path: Path) -> None:
    """Where a queue begins anew, that is less: what lies between is lost."""
    running = InProcessJob("{mode: upstreamBackup}", tmp_path)
    try:
        context = running.instances["second-0"].context
        with connect(context.address) as client:
            assert wire.say(client, Ping(), 30) == Pong(Epoch(1))
            with context.lock:
                context.core.ledger = context.core.ledger.rebased(Stream("second"), Seq(7))
            word = first_word(client, 1, Origin.HELD)
            assert isinstance(word, Batch)
            assert word.held is not None
            assert (word.held.start, word.held.released) == (7, 0)
    finally:
        running.close()
