"""The election of the operator that acts, on the API server: a thread that reads the Lease and renews it."""

from __future__ import annotations

import threading
import time
from typing import Any

import structlog

from understudy.control.election import LEASE_MS, LOOK_MS, Candidate, LeaseRead
from understudy.control.times import iso_ms
from understudy.kubernetes.api import Api, ApiError, Conflict, NotFound
from understudy.kubernetes.writes import Mandate
from understudy.process.clock import now_ms
from understudy.process.ports import Unreachable

log = structlog.get_logger()

Json = dict[str, Any]


class Election:
    def __init__(self, api: Api, namespace: str, name: str, me: str) -> None:
        self._api = api
        self._namespace, self._name = namespace, name
        self._candidate = Candidate(me)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="election", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def leads(self) -> bool:
        return self._candidate.leads(_now())

    def mandate(self) -> Mandate:
        """The right to act, for what is decided from now on. It ends with the leadership, also if this
        operator leads again later."""
        term = self._candidate.term
        return lambda: self._candidate.leads_since(term, _now())

    def stop(self) -> None:
        """Gives the Lease back, so that the next operator need not wait."""
        self._stopping.set()
        self._thread.join(LEASE_MS / 1000)
        if self.leads():
            self._attempt(self._give_back)

    def _run(self) -> None:
        led = False
        while not self._stopping.is_set():
            self._attempt(self.look)
            if led != self.leads():
                led = self.leads()
                log.info("leading" if led else "not leading", lease=self._name, me=self._candidate.me)
            self._stopping.wait(LOOK_MS / 1000)

    def _attempt(self, request: Any) -> None:
        try:
            request()
        except (Unreachable, ApiError) as error:
            log.warning("election failed", error=str(error))

    def look(self) -> None:
        """Reads the Lease; renews it, or takes it if it is free."""
        try:
            lease = self._api.get(self._path())
        except NotFound:
            lease = self._api.request("POST", self._path(named=False), self._made())
        self._candidate = self._candidate.look(_lease_read(lease), _now())
        if self._candidate.may_write(_now()):
            self._write(lease, self._candidate.me)

    def _give_back(self) -> None:
        self._write(self._api.get(self._path()), "")

    def _write(self, lease: Json, holder: str) -> None:
        """Writes only if the Lease is still as it was read: if two operators try, one of them wins."""
        sent = _now()
        try:
            written = self._api.request("PUT", self._path(), _held(lease, holder))
        except Conflict:
            return
        self._candidate = self._candidate.renewed(_lease_read(written), sent)

    def _path(self, named: bool = True) -> str:
        leases = f"/apis/coordination.k8s.io/v1/namespaces/{self._namespace}/leases"
        return f"{leases}/{self._name}" if named else leases

    def _made(self) -> Json:
        metadata = {"name": self._name, "namespace": self._namespace}
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": {}}


def _now() -> int:
    """The monotonic clock."""
    return time.monotonic_ns() // 1_000_000


def _lease_read(lease: Json) -> LeaseRead:
    return LeaseRead(
        (lease.get("spec") or {}).get("holderIdentity") or None, lease["metadata"]["resourceVersion"]
    )


def _held(lease: Json, holder: str) -> Json:
    spec = lease.get("spec") or {}
    changes = {
        "leaseTransitions": (spec.get("leaseTransitions") or 0) + (spec.get("holderIdentity") != holder)
    }
    moment = f"{iso_ms(now_ms())[:-1]}000Z"
    times = {"renewTime": moment, "acquireTime": spec.get("acquireTime") or moment}
    if changes["leaseTransitions"] != spec.get("leaseTransitions"):
        times["acquireTime"] = moment
    duration = {"leaseDurationSeconds": LEASE_MS // 1000}
    return {**lease, "spec": {**spec, "holderIdentity": holder, **changes, **times, **duration}}
