"""Messages (`protocol/peermessage.py`) over Arrow Flight. A `Request` is a ticket; messages are the metadata
of the batches that answer it. An `Order` is an action, with one `Answer`."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.flight as flight
import structlog

from understudy.protocol.contact import End
from understudy.protocol.peermessage import Answer, Order, PeerMessage, Request, from_bytes, to_bytes
from understudy.protocol.versioned import NotUnderstood

log = structlog.get_logger()
BLOB = pa.schema([("blob", pa.large_binary())])
SAY: Final = "say"


def ticket(request: Request) -> flight.Ticket:
    return flight.Ticket(to_bytes(request))


def read(raw: pa.Buffer | None) -> PeerMessage | NotUnderstood:
    return from_bytes(raw.to_pybytes() if raw is not None else b"")


def say(client: flight.FlightClient, order: Order, timeout: float) -> Answer:
    """Raises FlightError, also if the answer is not understood."""
    options = flight.FlightCallOptions(timeout=timeout)
    answer = read(next(iter(client.do_action(flight.Action(SAY, to_bytes(order)), options))).body)
    if isinstance(answer, Answer):
        return answer
    why = answer.why if isinstance(answer, NotUnderstood) else f"{type(answer).__name__} is no answer"
    log.error("answer not understood", why=why)
    raise flight.FlightServerError(why)


def end_of(error: Exception) -> End:
    """How a call ended, from the error that ended it. An error raised by our own code means that a message
    was not understood."""
    match error:
        case flight.FlightUnavailableError():
            return End.TRANSPORT
        case flight.FlightTimedOutError():
            return End.TIMED_OUT
        case flight.FlightError() | StopIteration():
            return End.NOT_PRIMARY
        case _:
            return End.BROKEN


def blobs(values: list[bytes]) -> pa.RecordBatch:
    return pa.record_batch([pa.array(values, pa.large_binary())], schema=BLOB)
