"""How processes speak: Arrow Flight with JSON tickets, actions and metadata; over mutual TLS if they have
credentials.

| call | from → to | carries |
|---|---|---|
| get `stream` | consumer → producer | rows of a stream from a seq on, for ever; each message has an epoch |
| get `follow` | secondary → primary | keep-alives, checkpoints, queue trimming, determinants, hand-overs |
| get `rows` | data source → its own driver | one part of a batch plan |
| get `peek` | standby → producer | a few held rows, to warm_up with |
| do `ack` | consumer → producer | level-0 and level-1 acks, a savepoint tree; that it needs more to go on |
| in `stream` and `ack` | consumer → producer | when it last heard of the stream's producers (`hearing.py`) |
| in `stream` and `follow` | producer → both | for how long its output has stood still |
| answer to `ack` | producer → consumer | its epoch; whether a later life of the consumer has spoken |
| do `recover` | consumer → producer | a recovery request; the answer is the consumer's savepoint tree |
| do `stored`, `chosen` | secondary → primary | a checkpoint is stored, determinants are |
| do `progress`, `beat` | secondary → primary | how far it has come, that it lives |
| do `cut` | data source → its own driver | the next batch plan |
| do `ping` | consumer → producer | whether anybody answers |
| do `hears` | standby → a consumer of its subjob | whether the holder of the Lease serves it now |
| do `change` | operator → instance | what the manifest now says of how the subjob is kept alive |
| do `freeze`, `hang`, `partition`, `throttle` | operator → instance | a drill for a while |
| do `status` | anyone | what the instance knows of itself |
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight

from understudy.faults.cuts import own as cuts_of_this_process
from understudy.process.credentials import Credentials, own, scheme
from understudy.protocol.contact import End

BLOB = pa.schema([("blob", pa.large_binary())])


def pack(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def unpack(value: Any) -> Any:
    return json.loads(bytes(value)) if value is not None else {}


def ticket(kind: str, **fields: Any) -> flight.Ticket:
    return flight.Ticket(pack({"kind": kind, **fields}))


def connect(address: str, credentials: Credentials | None = None) -> flight.FlightClient:
    """A connection to `host:port`. gRPC connects lazily; the first call fails quickly if nobody is there."""
    shown = credentials or own()
    options = [("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 200)]
    tls = shown.of_client() if shown else {}
    if (cuts := cuts_of_this_process()) is not None:
        address = cuts.through(address)
    return flight.FlightClient(f"{scheme(shown)}://{address}", generic_options=options, **tls)


def do(client: flight.FlightClient, kind: str, timeout: float, **fields: Any) -> Any:
    """One action, one answer."""
    results = client.do_action(flight.Action(kind, pack(fields)), flight.FlightCallOptions(timeout=timeout))
    return unpack(next(iter(results)).body)


def end_of(error: Exception) -> End:
    """How a call ended, by the error that it ended with. An error of our own means: what was said is not
    understood."""
    match error:
        case flight.FlightUnavailableError():
            return End.TRANSPORT
        case flight.FlightTimedOutError():
            return End.TIMED_OUT
        case flight.FlightError() | StopIteration():
            return End.NOT_PRIMARY
        case _:
            return End.BROKEN


def leads(pinged: dict[str, Any]) -> bool:
    """Whether who answered a ping so is a primary."""
    return "epoch" in pinged


def blobs(values: list[bytes]) -> pa.RecordBatch:
    return pa.record_batch([pa.array(values, pa.large_binary())], schema=BLOB)
