"""Connections between processes: Arrow Flight, over mutual TLS if they have credentials.

| call | carries |
|---|---|
| get, with a message as its ticket | rows, each batch with a message (`wire.py`) |
| do `say`, with a message | one message |
| get `rows …`, do `cut` | what a data source asks of its own driver (`engine/requests.py`) |

Python workers of Spark import this module, so it needs nothing that takes long to import.
"""

from __future__ import annotations

from typing import Final

import pyarrow.flight as flight

from understudy.faults.cuts import own as cuts_of_this_process
from understudy.process.credentials import Credentials, own, scheme

CUT: Final = "cut"
ROWS: Final = b"rows "


def connect(address: str, credentials: Credentials | None = None) -> flight.FlightClient:
    """A connection to `host:port`. gRPC connects lazily; the first call fails quickly if no process listens
    there."""
    shown = credentials or own()
    options = [("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 200)]
    tls = shown.of_client() if shown else {}
    if (cuts := cuts_of_this_process()) is not None:
        address = cuts.through(address)
    return flight.FlightClient(f"{scheme(shown)}://{address}", generic_options=options, **tls)
