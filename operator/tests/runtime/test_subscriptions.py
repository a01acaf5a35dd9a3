"""Whose subscriptions a primary takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.flight as flight

from understudy.modes.build import sink_consumer
from understudy.runtime import wire
from understudy.runtime.reader import Origin

from .troupe import Troupe


def first_word(client: flight.FlightClient, meant: int) -> dict[str, Any]:
    asks = {"consumer": sink_consumer("end"), "origin": Origin.POSITION, "start": 0, "mark": None, "epoch": 1}
    call = client.do_get(wire.ticket("stream", stream="second", replica=True, meant=meant, **asks))
    word: dict[str, Any] = wire.unpack(call.read_chunk().app_metadata)
    call.cancel()
    return word


def test_a_subscription_that_was_meant_for_an_earlier_epoch_is_refused(tmp_path: Path) -> None:
    """It may have been long on its way, and its sender have got further since."""
    troupe = Troupe("{mode: upstreamBackup}", tmp_path)
    try:
        with wire.connect(troupe.players["second-0"].scene.address) as client:
            assert wire.do(client, "ping", 30) == {"epoch": 1}
            assert "refused" in first_word(client, 0)
            assert "refused" not in first_word(client, 1)
    finally:
        troupe.close()
