"""The ingest process of one `push` source: its log, its committer, its server."""

from __future__ import annotations

import asyncio
import signal
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import structlog

from understudy.ingest.commit import Committer
from understudy.ingest.group import Groups
from understudy.ingest.log import Log
from understudy.ingest.server import Offer, Server

log = structlog.get_logger()
MOST_WAITING: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """`tls`: a folder with tls.crt and tls.key; None: plain HTTP."""

    host: str
    port: int
    tls: Path | None = None
    token: str | None = None


def serve(stream: str, schema: pa.Schema, kept: Log, most_bytes: int, place: Place) -> int:
    """Runs until SIGTERM or SIGINT (0), or until the log can't be written (1)."""
    return asyncio.run(_serve(stream, schema, kept, most_bytes, place))


async def _serve(stream: str, schema: pa.Schema, kept: Log, most_bytes: int, place: Place) -> int:
    groups = Groups(Committer(kept, schema), MOST_WAITING)

    def full() -> str | None:
        return f"the log holds {kept.size} bytes, its bound" if kept.size >= most_bytes else None

    def status() -> dict[str, object]:
        return {"stream": stream, "first": kept.first, "next": kept.next, "bytes": kept.size}

    server = Server(Offer(stream, place.token, full, status), groups)
    port = await server.listen(place.host, place.port, _tls(place.tls))
    log.info("ready", stream=stream, address=f"{place.host}:{port}", next=kept.next)
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    groups.failed.add_done_callback(lambda _: stopped.set())
    await stopped.wait()
    if groups.failed.done():
        log.error("failed", error=str(groups.failed.exception()))
        return 1
    return 0


def _tls(folder: Path | None) -> ssl.SSLContext | None:
    if folder is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    return context
