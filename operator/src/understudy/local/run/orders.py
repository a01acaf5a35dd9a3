"""Orders to a running instance, as the operator gives them to a pod."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pyarrow as pa

from understudy.model.ha import Ha
from understudy.protocol.peermessage import Change
from understudy.streams import wire
from understudy.streams.connection import connect

SECONDS = 2.0


def tell(address: str, ha: Ha, failed: Callable[[], None]) -> None:
    """What the manifest says of its subjob now. Returns at once: an instance that hangs must not delay the
    others."""
    threading.Thread(target=_tell, args=(address, ha, failed), name="order", daemon=True).start()


def _tell(address: str, ha: Ha, failed: Callable[[], None]) -> None:
    try:
        with connect(address) as client:
            wire.say(client, Change(ha.told()), SECONDS)
    except (pa.ArrowException, OSError, StopIteration):
        failed()
