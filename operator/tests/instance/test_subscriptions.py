"""Whose subscriptions a primary takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.flight as flight

from understudy.modes.build import sink_consumer
from understudy.protocol.ids import Seq, Stream
from understudy.streams import wire
from understudy.streams.reader import Origin

from .in_process import InProcessJob


def first_word(client: flight.FlightClient, meant: int, origin: Origin = Origin.POSITION) -> dict[str, Any]:
    asks = {"consumer": sink_consumer("end"), "origin": origin, "start": 0, "mark": None, "epoch": 1}
    call = client.do_get(wire.ticket("stream", stream="second", replica=True, meant=meant, **asks))
    word: dict[str, Any] = wire.unpack(call.read_chunk().app_metadata)
    call.cancel()
    return word


def test_a_subscription_that_was_meant_for_an_earlier_epoch_is_refused(tmp_path: Path) -> None:
    """It may have been long on its way, and its sender have got further since."""
    running = InProcessJob("{mode: upstreamBackup}", tmp_path)
    try:
        with wire.connect(running.instances["second-0"].context.address) as client:
            assert wire.do(client, "ping", 30) == {"epoch": 1}
            assert "refused" in first_word(client, 0)
            assert "refused" not in first_word(client, 1)
    finally:
        running.close()


def test_a_consumer_that_asks_for_held_tuples_hears_how_many_it_has_released(tmp_path: Path) -> None:
    """Where a queue begins anew, that is less: what lies between is lost."""
    running = InProcessJob("{mode: upstreamBackup}", tmp_path)
    try:
        context = running.instances["second-0"].context
        with wire.connect(context.address) as client:
            assert wire.do(client, "ping", 30) == {"epoch": 1}
            with context.lock:
                context.core.ledger = context.core.ledger.rebased(Stream("second"), Seq(7))
            word = first_word(client, 1, Origin.HELD)
            assert (word["held"], word["released"]) == (7, 0)
    finally:
        running.close()
