"""The process's one Flight server: it reads requests and calls `Serving`, which answers them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.flight as flight
import structlog

from understudy.process.credentials import Credentials, scheme
from understudy.protocol.peermessage import (
    Answer,
    Follow,
    FromPrimary,
    FromProducer,
    Order,
    Peek,
    Subscribe,
    from_bytes,
    to_bytes,
)
from understudy.protocol.versioned import NotUnderstood
from understudy.streams import wire
from understudy.streams.connection import CUT, ROWS

log = structlog.get_logger()
Batches = Iterator[tuple[pa.RecordBatch, FromProducer]]
Letters = Iterator[tuple[list[bytes], FromPrimary]]


class Serving(Protocol):
    def stream_schema(self, stream: str) -> pa.Schema: ...
    def serve_stream(self, request: Subscribe) -> Batches: ...
    def serve_follower(self, request: Follow) -> Letters: ...
    def peek(self, request: Peek) -> pa.Table: ...
    def act(self, order: Order) -> Answer: ...
    def cut(self, request: bytes) -> bytes:
        """Like `plan_rows`, for the data source of this process."""

    def plan_rows(self, request: bytes) -> pa.Table: ...


class Server(flight.FlightServerBase):
    def __init__(
        self, host: str, port: int, serving: Serving, credentials: Credentials | None = None
    ) -> None:
        tls = credentials.of_server() if credentials else {}
        super().__init__(f"{scheme(credentials)}://{host}:{port}", **tls)
        self._serving = serving

    def do_get(self, context: Any, ticket: flight.Ticket) -> flight.FlightDataStream:
        if ticket.ticket.startswith(ROWS):
            return flight.RecordBatchStream(self._serving.plan_rows(ticket.ticket.removeprefix(ROWS)))
        match from_bytes(ticket.ticket):
            case Subscribe() as request:
                batches = ((rows, to_bytes(said)) for rows, said in self._serving.serve_stream(request))
                return flight.GeneratorStream(self._serving.stream_schema(request.stream), batches)
            case Follow() as request:
                letters = self._serving.serve_follower(request)
                return flight.GeneratorStream(
                    wire.BLOB, ((wire.blobs(blobs), to_bytes(said)) for blobs, said in letters)
                )
            case Peek() as request:
                return flight.RecordBatchStream(self._serving.peek(request))
            case NotUnderstood(why):
                raise _refused(why)
            case other:
                raise _refused(f"{type(other).__name__} asks for no stream")

    def do_action(self, context: Any, action: flight.Action) -> Iterator[bytes]:
        if action.type == CUT:
            yield self._serving.cut(action.body.to_pybytes())
            return
        match wire.read(action.body):
            case NotUnderstood(why):
                raise _refused(why)
            case order if isinstance(order, Order):
                yield to_bytes(self._serving.act(order))
            case other:
                raise _refused(f"{type(other).__name__} is no order")


def _refused(why: str) -> flight.FlightServerError:
    log.error("message refused", why=why)
    return flight.FlightServerError(why)
