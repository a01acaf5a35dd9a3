"""The only module by which the operator changes anything: objects on the API server, and running instances.

| a write | is carried out only if |
|---|---|
| each | the operator still leads, and has led without a break since the look that the write rests on began |
| a patch or a deletion | the object is as that look read it: uid and resourceVersion go with the request |
| the first patch of an object that was not there | it is still not there |

An operator that was stopped between a look and a write finds, when it runs again, that its Lease has expired
by its own monotonic clock, and sends nothing. A request that was already on its way is refused, because the
resourceVersion has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from understudy.kubernetes.api import Api, ApiError, Conflict, NotFound
from understudy.kubernetes.orders import order
from understudy.protocol.peermessage import Order

MERGE: Final = "application/merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
FIELD_MANAGER: Final = urlencode({"fieldManager": "understudy", "force": "true"})

Json = dict[str, Any]
Key = tuple[str, str, str]
"""Group, plural, name."""
Mandate = Callable[[], bool]
"""Whether the operator still leads, without a break since this mandate was given."""


class Deposed(Exception):
    """Another operator may lead by now: nothing more is written."""


class Outdated(ApiError):
    """An object is no longer as it was read: the decision is out of date, and a new look is needed."""


@dataclass(frozen=True, slots=True)
class Version:
    """The identity and version of an object when it was read."""

    uid: str
    resource_version: str

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Version:
        return cls(raw["metadata"]["uid"], raw["metadata"]["resourceVersion"])

    def in_body(self) -> Json:
        return {"uid": self.uid, "resourceVersion": self.resource_version}


Versions = Mapping[Key, Version]


def versions(group: str, plural: str, found: Iterable[Mapping[str, Any]]) -> Versions:
    return {(group, plural, raw["metadata"]["name"]): Version.of(raw) for raw in found}


def unelected() -> Mandate:
    """For an operator that is the only one."""
    return lambda: True


class Writer:
    """Carries out the writes of one look."""

    def __init__(self, api: Api, namespace: str, mandate: Mandate, seen: Versions) -> None:
        self._api = api
        self._namespace = namespace
        self._mandate = mandate
        self._seen = dict(seen)

    def create(self, group: str, plural: str, body: Json) -> None:
        """Raises Conflict if there is an object of that name."""
        self._note(group, plural, self._send("POST", self._path(group, plural), body))

    def apply(self, group: str, plural: str, body: Json) -> None:
        """Server-side apply: the operator owns the fields that it names, even if another client wrote them
        before."""
        key = (group, plural, body["metadata"]["name"])
        if key not in self._seen:
            return self.create(group, plural, body)
        versioned = {**body, "metadata": {**body["metadata"], **self._seen[key].in_body()}}
        self._patch(key, f"{self._path(*key)}?{FIELD_MANAGER}", versioned, APPLY)

    def change(self, group: str, plural: str, name: str, patch: Json) -> None:
        key = (group, plural, name)
        versioned = {**patch, "metadata": {**patch.get("metadata", {}), **self._version(key).in_body()}}
        self._patch(key, self._path(*key), versioned, MERGE)

    def change_status(self, group: str, plural: str, name: str, status: Mapping[str, Any]) -> None:
        key = (group, plural, name)
        body = {"metadata": self._version(key).in_body(), "status": dict(status)}
        self._patch(key, f"{self._path(*key)}/status", body, MERGE)

    def delete(self, group: str, plural: str, name: str, *, force: bool = False) -> None:
        """`force`: does not wait for a kubelet that may never answer."""
        key = (group, plural, name)
        options: Json = {"preconditions": self._version(key).in_body()} | (
            {"gracePeriodSeconds": 0} if force else {}
        )
        try:
            self._send("DELETE", self._path(*key), options)
        except NotFound:
            return
        except Conflict as error:
            raise Outdated(error.status, str(error)) from error

    def order(self, job: str, certificate: int, ip: str | None, said: Order) -> None:
        """Sends an order to a running instance. Raises Unreachable if the instance does not accept it."""
        order(self._api, self._namespace, job, certificate, ip, said, before=self._check)

    # ---- what is known

    def knows(self, group: str, plural: str, name: str) -> bool:
        return (group, plural, name) in self._seen

    def read_again(self, group: str, plural: str, name: str) -> Json:
        """Reads the object again: the next change requires that it is still as it is read here."""
        found = self._api.get(self._path(group, plural, name))
        self._note(group, plural, found)
        return found

    def _version(self, key: Key) -> Version:
        if key not in self._seen:
            raise LookupError(f"{key[1]}/{key[2]} was not read before it was to be changed")
        return self._seen[key]

    def _note(self, group: str, plural: str, found: Json) -> None:
        self._seen |= versions(group, plural, [found])

    # ---- requests

    def _patch(self, key: Key, path: str, body: Json, kind: str) -> None:
        try:
            self._note(*key[:2], self._send("PATCH", path, body, kind))
        except (Conflict, NotFound) as error:
            raise Outdated(error.status, str(error)) from error

    def _send(self, method: str, path: str, body: Json, kind: str = "application/json") -> Json:
        return self._api.request(method, path, body, kind, before=self._check)

    def _check(self) -> None:
        if not self._mandate():
            raise Deposed

    def _path(self, group: str, plural: str, name: str = "") -> str:
        return f"{group}/namespaces/{self._namespace}/{plural}" + (f"/{name}" if name else "")
