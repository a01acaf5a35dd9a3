"""The API server, by the `kubernetes` package: its configuration, its client, and JSON as it came.

The operator changes only its own Lease (`election`) directly by this module; all other changes go through
`writes`. `configuration` is the identity of this process: the account of the pod, else the kubeconfig. The
package's errors become ours:

Unreachable       no answer, or none that can be trusted: try again
ApiError          refused: the message says why
├── Conflict      409: another client was faster, or the object exists
└── NotFound      404
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import urllib3
from kubernetes.client import ApiClient, Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.config import ConfigException, load_kube_config
from kubernetes.config.incluster_config import InClusterConfigLoader
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, ProtocolError

from understudy.process.ports import Unreachable

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
# a projected token is replaced long before it expires; the file is read again after so many seconds
TOKEN_SECONDS: Final = 30.0
METADATA: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
CONNECTIONS: Final = 32  # kept for the next request; as many as there are threads may be open

Json = dict[str, Any]
Body = Mapping[str, Any] | Sequence[Mapping[str, Any]]


class ApiError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Conflict(ApiError):
    pass


class NotFound(ApiError):
    pass


# ---- where the API server is, and the identity of this process -------------------------------------------


def configuration() -> Configuration:
    """Raises ConfigException if there is neither a pod's account nor a kubeconfig."""
    return of_pod() if (SERVICE_ACCOUNT / "token").exists() else of_kubeconfig()


def of_pod(account: Path = SERVICE_ACCOUNT) -> Configuration:
    def load(found: Configuration) -> None:
        loader = InClusterConfigLoader(
            str(account / "token"), str(account / "ca.crt"), try_refresh_token=False
        )
        loader.load_and_set(found)

    found = _direct()
    load(found)
    found.refresh_api_key_hook = _Refresh(load)
    return found


def of_kubeconfig() -> Configuration:
    """From the files in KUBECONFIG, else from `~/.kube/config`."""
    found = _direct()
    load_kube_config(client_configuration=found)
    return found


def _direct() -> Configuration:
    """Proxies of the environment are for other hosts, not for the API server. kopf ignores them, too."""
    return Configuration(proxy="", no_proxy="")


class _Refresh:
    """Kubernetes replaces the file of a token, so it is read again from time to time, by the monotonic
    clock."""

    def __init__(self, load: Callable[[Configuration], None]) -> None:
        self._load = load
        self._read_at = time.monotonic()

    def __call__(self, found: Configuration) -> None:
        now = time.monotonic()
        if now - self._read_at >= TOKEN_SECONDS:
            self._load(found)
            self._read_at = now


# ---- connections -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Attempt:
    before: Callable[[], None]
    on_kept_connection: bool = False


_attempt: ContextVar[_Attempt] = ContextVar("attempt")


class _Connection(HTTPConnection):
    """Calls `before` of the attempt on an open connection, right before the first byte of a request."""

    served = False

    def connect(self) -> None:
        super().connect()
        self.served = False

    def request(self, *args: Any, **kwargs: Any) -> None:
        if self.is_closed:
            self.connect()
        attempt = _attempt.get()
        attempt.on_kept_connection, self.served = self.served, True
        attempt.before()
        super().request(*args, **kwargs)


class _TlsConnection(_Connection, HTTPSConnection):
    pass


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


def _client(found: Configuration) -> ApiClient:
    """A client without retries of its own, which keeps connections for all threads."""
    found.retries = False
    found.connection_pool_maxsize = CONNECTIONS
    client = ApiClient(found)
    client.user_agent = "understudy"
    client.rest_client.pool_manager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
    return client


# ---- requests --------------------------------------------------------------------------------------------


def _nothing() -> None:
    pass


class Api:
    """Safe for any number of threads. Every method raises Unreachable if there is no answer in time."""

    def __init__(self, found: Configuration, timeout: float) -> None:
        self._client = _client(found)
        self._timeout = timeout

    def get(self, path: str, **query: str) -> Json:
        return self.request("GET", f"{path}?{urlencode(query)}" if query else path)

    def find(self, path: str) -> Json | None:
        try:
            return self.get(path)
        except NotFound:
            return None

    def list_metadata(self, path: str) -> list[Json]:
        """The objects of a list with their metadata alone."""
        items: list[Json] = self.request("GET", path, accept=METADATA).get("items") or []
        return items

    def list(self, path: str, **query: str) -> list[Json]:
        """The newest state, not one from the API server's cache, because decisions are based on it."""
        items: list[Json] = self.get(path, **query).get("items") or []
        return items

    def request(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        kind: str = "application/json",
        before: Callable[[], None] = _nothing,
        accept: str = "application/json",
    ) -> Json:
        """`before` is called on an open connection, right before the first byte is sent. If it raises, the
        request is not sent."""
        headers = {"Accept": accept} | ({"Content-Type": kind} if body is not None else {})
        try:
            status, text = self._send(method, path, body, headers, before)
        except (HTTPError, ApiException, ConfigException, OSError) as error:
            raise Unreachable(f"{method} {path}: {type(error).__name__}: {error}") from error
        return _answer(method, path, status, text)

    def _send(
        self, method: str, path: str, body: Body | None, headers: Json, before: Callable[[], None]
    ) -> tuple[int, bytes]:
        """If the server has closed a kept connection in the meantime, the request is sent again on another
        one."""
        while True:
            attempt = _Attempt(before)
            _attempt.set(attempt)
            try:
                return self._exchange(method, path, body, headers)
            except ProtocolError:
                if not attempt.on_kept_connection:
                    raise

    def _exchange(self, method: str, path: str, body: Body | None, headers: Json) -> tuple[int, bytes]:
        steps = body if body is None or isinstance(body, Mapping) else list(body)
        asked = self._client.param_serialize(
            method, path, header_params=headers, body=steps, auth_settings=["BearerToken"]
        )
        answer = self._client.call_api(*asked, _request_timeout=self._timeout)
        return answer.status, answer.read()


def _answer(method: str, path: str, status: int, text: bytes) -> Json:
    if status in (429, 500, 502, 503, 504):
        raise Unreachable(f"{method} {path}: {status} {text[:200].decode(errors='replace')}")
    try:
        found = json.loads(text) if text else {}
    except ValueError as error:
        raise Unreachable(f"{method} {path}: {status}, not JSON") from error
    if status < 400:
        return found if isinstance(found, dict) else {}
    message = f"{method} {path}: {status} {found.get('message', '')}"
    raise {404: NotFound, 409: Conflict}.get(status, ApiError)(status, message)
