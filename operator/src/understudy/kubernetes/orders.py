"""Orders to a running pod, over the job's own certificates."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Final

from understudy.control import names
from understudy.kubernetes.api import Api, NotFound
from understudy.process.credentials import Credentials
from understudy.process.ports import Unreachable
from understudy.protocol.peermessage import Order, Refused

SECONDS: Final = 5.0


def order(
    api: Api,
    namespace: str,
    job: str,
    certificate: int,
    ip: str | None,
    said: Order,
    before: Callable[[], None],
) -> None:
    """Raises Unreachable if the pod can't be reached, or refuses. `before` is called right before the order
    is sent."""
    import pyarrow as pa

    from understudy.streams import wire
    from understudy.streams.connection import connect

    shown = _credentials(api, namespace, names.certificate(job, certificate)) if certificate else None
    try:
        with connect(f"{ip}:{names.FLIGHT_PORT}", shown) as client:
            before()
            answer = wire.say(client, said, SECONDS)
    except (pa.ArrowException, OSError, StopIteration) as error:
        raise Unreachable(f"{ip} takes no order: {error}") from error
    if isinstance(answer, Refused):
        raise Unreachable(f"{ip} refuses the order: {answer.why}")


def _credentials(api: Api, namespace: str, secret: str) -> Credentials:
    try:
        data = api.get(f"/api/v1/namespaces/{namespace}/secrets/{secret}")["data"]
    except NotFound as error:
        raise Unreachable(f"the certificate {secret} is gone") from error
    return Credentials(*(base64.b64decode(data[key]) for key in ("ca.crt", "tls.crt", "tls.key")))
