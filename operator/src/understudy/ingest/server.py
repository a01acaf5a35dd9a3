"""`POST /v1/streams/NAME` over HTTP: bounded in connections, in bodies and in what waits (docs/push.md)."""

from __future__ import annotations

import asyncio
import hmac
import json
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.web_exceptions import HTTPException
from aiohttp.web_protocol import RequestHandler

from understudy.ingest.commit import Answer, Request
from understudy.ingest.group import Groups

MOST_BODY: Final = 8 << 20
MOST_CONNECTIONS: Final = 1_000
BODY_SECONDS: Final = 30
RETRY_AFTER: Final = "1"
PRODUCER: Final = "Understudy-Producer"
SEQUENCE: Final = "Understudy-Sequence"
NDJSON: Final = "application/x-ndjson"
LONGEST_NAME: Final = 128


@dataclass(frozen=True, slots=True)
class Offer:
    """What the server serves."""

    stream: str
    token: str | None
    """None: requests need none."""
    full: Callable[[], str | None]
    """Why the log takes nothing now."""
    status: Callable[[], dict[str, object]]


class Server:
    def __init__(self, offer: Offer, groups: Groups) -> None:
        self._offer, self._groups = offer, groups
        self._expected = f"Bearer {offer.token}".encode() if offer.token is not None else None
        self._path = f"/v1/streams/{offer.stream}"
        self._server = web.Server(self._handle, request_factory=_bounded, access_log=None)

    async def listen(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Returns the port."""
        runner = web.ServerRunner(self._server, handle_signals=False)
        await runner.setup()
        await web.TCPSite(runner, host, port, ssl_context=tls, backlog=512).start()
        return int(runner.addresses[0][1])

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if len(self._server.connections) > MOST_CONNECTIONS:
            return _refused(503, "too many connections", close=True)
        if request.path == "/healthz":
            return web.json_response(self._offer.status())  # needs no token: nothing in it is a secret
        if not self._allowed(request):
            return _refused(401, "the request needs the stream's token as Authorization: Bearer", close=True)
        if request.path != self._path:
            return _refused(404, f"the only stream here is {self._offer.stream}")
        if request.method != "POST":
            return _refused(405, "write POST")
        return await self._push(request)

    async def _push(self, request: web.BaseRequest) -> web.StreamResponse:
        producer, sequence = request.headers.get(PRODUCER, ""), request.headers.get(SEQUENCE, "")
        if not 0 < len(producer) <= LONGEST_NAME or not producer.isascii():
            return _refused(400, f"the header {PRODUCER} has to name the producer, in ASCII")
        if not sequence.isdecimal() or not 0 < int(sequence[:20]) < 1 << 63:
            return _refused(400, f"the header {SEQUENCE} has to number the request, from 1 on")
        if request.content_type != NDJSON:
            return _refused(415, f"write Content-Type: {NDJSON}")
        if (request.content_length or 0) > MOST_BODY:
            return _refused(413, f"a body has at most {MOST_BODY} bytes", close=True)
        why = self._offer.full() or ("too many requests wait for the disk" if self._groups.full else None)
        if why is not None:
            return _refused(429, why, headers={"Retry-After": RETRY_AFTER})
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await request.read()
        except TimeoutError:
            return _refused(408, f"the body did not come within {BODY_SECONDS} s", close=True)
        except HTTPException as error:
            return _refused(error.status, f"a body has at most {MOST_BODY} bytes", close=True)
        return _answered(await self._groups.add(Request(producer, int(sequence), body)))

    def _allowed(self, request: web.BaseRequest) -> bool:
        given = request.headers.get("Authorization", "").encode()
        return self._expected is None or hmac.compare_digest(given, self._expected)


def _bounded(
    message: RawRequestMessage,
    payload: StreamReader,
    protocol: RequestHandler,
    writer: AbstractStreamWriter,
    task: asyncio.Task[None],
) -> web.BaseRequest:
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=MOST_BODY)


_TAKEN: Final = b'{"rows": %d, "repeated": %s}'


def _answered(answer: Answer) -> web.Response:
    if answer.why is None:
        body = _TAKEN % (answer.rows, b"true" if answer.repeated else b"false")
        return web.Response(body=body, content_type="application/json")
    said = {"why": answer.why, **({"expected": answer.expected} if answer.expected is not None else {})}
    return web.Response(status=answer.status, text=json.dumps(said), content_type="application/json")


def _refused(
    status: int, why: str, close: bool = False, headers: dict[str, str] | None = None
) -> web.Response:
    """`close`: the rest of the request is not read."""
    response = web.json_response({"why": why}, status=status, headers=headers)
    if close:
        response.force_close()
    return response
