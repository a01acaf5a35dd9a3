"""The process's one Flight server: thin, it parses and calls. `Serving` is what it serves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.flight as flight

from understudy.process.credentials import Credentials, scheme
from understudy.streams import wire

Messages = Iterator[tuple[pa.RecordBatch, bytes]]


class Serving(Protocol):
    def stream_schema(self, stream: str) -> pa.Schema: ...
    def serve_stream(self, request: dict[str, Any]) -> Messages: ...
    def serve_follower(self, request: dict[str, Any]) -> Messages: ...
    def peek(self, stream: str, count: int) -> pa.Table: ...
    def plan_rows(self, request: dict[str, Any]) -> pa.Table: ...
    def act(self, kind: str, body: dict[str, Any]) -> Any: ...


class Server(flight.FlightServerBase):
    def __init__(
        self, host: str, port: int, serving: Serving, credentials: Credentials | None = None
    ) -> None:
        tls = credentials.of_server() if credentials else {}
        super().__init__(f"{scheme(credentials)}://{host}:{port}", **tls)
        self._serving = serving

    def do_get(self, context: Any, ticket: flight.Ticket) -> flight.FlightDataStream:
        request = wire.unpack(ticket.ticket)
        match request["kind"]:
            case "stream":
                schema = self._serving.stream_schema(request["stream"])
                return flight.GeneratorStream(schema, self._serving.serve_stream(request))
            case "follow":
                return flight.GeneratorStream(wire.BLOB, self._serving.serve_follower(request))
            case "peek":
                return flight.RecordBatchStream(self._serving.peek(request["stream"], request["count"]))
            case "rows":
                return flight.RecordBatchStream(self._serving.plan_rows(request))
            case other:
                raise flight.FlightServerError(f"unknown request {other!r}")

    def do_action(self, context: Any, action: flight.Action) -> Iterator[bytes]:
        body = wire.unpack(action.body.to_pybytes())
        yield wire.pack(self._serving.act(action.type, body))
