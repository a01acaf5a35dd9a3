"""`Surroundings` in a pod: the subjob's Lease, its headless Service, the job's record.

| what | where |
|---|---|
| Lease of a subjob | Lease `JOB-SUBJOB`: holderIdentity, leaseTransitions (the epoch) |
| the holder's address | an annotation on the Lease |
| the holder's successor | another, removed by the next instance that takes the Lease |
| a question to its holder | another, removed by the holder, or by the next instance that takes the Lease |
| addresses | DNS: the headless Service `JOB-SUBJOB`, port 7070 |
| acks of a subjob to the sources that it reads | an annotation on its Lease |
| what the readers of a source agreed on | an annotation on the Lease of the first subjob that reads it |
| the job's identity, and the folder of its Secrets | an environment variable, and a mount of the pod |
| start time | ConfigMap `JOB-run`, key startTime |

The operator makes these objects before the pods; a pod may read them and change its Leases, nothing else.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any, Final

from understudy.control import names
from understudy.control.times import iso_ms
from understudy.kubernetes.api import SERVICE_ACCOUNT, Api, ApiError, Conflict, NotFound, of_pod
from understudy.model.ha import Driver
from understudy.model.job import StreamJob
from understudy.process.clock import now_ms
from understudy.process.ports import Unreachable
from understudy.protocol.epochs import LeaseRecord, is_as_expected
from understudy.protocol.ids import Epoch, WallMillis

TIMEOUT: Final = 2.0
ATTEMPTS: Final = 3
CGROUP: Final = Path("/sys/fs/cgroup")


class KubernetesSurroundings:
    def __init__(self, api: Api, namespace: str, job: str, subjobs: tuple[str, ...] = ()) -> None:
        self._api = api
        self._namespace = namespace
        self._job = job
        self._subjobs = subjobs
        self._start: WallMillis | None = None

    @classmethod
    def from_pod(cls, job: StreamJob) -> KubernetesSurroundings:
        namespace = (SERVICE_ACCOUNT / "namespace").read_text().strip()
        return cls(Api(of_pod(), TIMEOUT), namespace, job.name, tuple(subjob.name for subjob in job.subjobs))

    # ---- the Lease

    def read_lease(self, subjob: str) -> LeaseRecord | None:
        return _record(self._lease(subjob))

    def try_lease(
        self, subjob: str, expected: LeaseRecord | None, holder: str, address: str
    ) -> LeaseRecord | None:
        for _ in range(ATTEMPTS):
            lease = self._lease(subjob)
            found = _record(lease)
            if not is_as_expected(found, expected):
                return None
            won = LeaseRecord(holder, address, Epoch(_epoch(lease) + 1))
            try:
                self._ask("PUT", self._lease_path(subjob), _taken(lease, won))
            except Conflict:
                # The Lease is ours, too, if the first answer was lost and the request was sent twice.
                if self.read_lease(subjob) == won:
                    return won
                continue
            return won
        return None

    def ask_holder(self, subjob: str, expected: LeaseRecord, question: str) -> None:
        lease = self._lease(subjob)
        found = _record(lease)
        if found != expected or found is None or found.question is not None:
            return
        metadata = {**lease["metadata"]}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), names.QUESTION: question}
        try:
            self._ask("PUT", self._lease_path(subjob), {**lease, "metadata": metadata})
        except Conflict:
            return  # it has changed in the meantime: a standby that does not hear its holder will ask again

    def answer(self, subjob: str) -> None:
        self._annotate(subjob, names.QUESTION, None)

    def _lease(self, subjob: str) -> dict[str, Any]:
        return self._ask("GET", self._lease_path(subjob))

    def _lease_path(self, subjob: str) -> str:
        name = names.lease(self._job, subjob)
        return f"/apis/coordination.k8s.io/v1/namespaces/{self._namespace}/leases/{name}"

    # ---- what the job keeps elsewhere

    def identity(self) -> str:
        return os.environ.get(names.IDENTITY, "")

    def secrets(self) -> Path:
        return Path(names.SECRETS)

    # ---- acks to sources

    def keep_acks(self, subjob: str, acks: str, epoch: Epoch) -> None:
        """Stored on the Lease, because a pod may write nothing else. The API server refuses the write if
        another instance has taken the Lease."""
        key = names.ACKS.replace("/", "~1")
        try:
            steps = (
                {"op": "test", "path": "/spec/leaseTransitions", "value": epoch},
                {"op": "add", "path": f"/metadata/annotations/{key}", "value": acks},
            )
            self._api.request("PATCH", self._lease_path(subjob), steps, "application/json-patch+json")
        except ApiError as error:
            raise Unreachable(str(error)) from error

    def kept_acks(self, subjob: str) -> str | None:
        return self._annotations(subjob).get(names.ACKS)

    def _annotate(self, subjob: str, key: str, value: str | None) -> None:
        try:
            patch = {"metadata": {"annotations": {key: value}}}
            self._api.request("PATCH", self._lease_path(subjob), patch, "application/merge-patch+json")
        except ApiError as error:
            raise Unreachable(str(error)) from error

    def _annotations(self, subjob: str) -> dict[str, str]:
        return self._lease(subjob)["metadata"].get("annotations") or {}

    # ---- choices about sources

    def chosen(self, subjob: str, source: str) -> str | None:
        return self._annotations(subjob).get(f"{names.CHOSEN}{source}")

    def choose(self, subjob: str, source: str, before: str | None, after: str) -> bool:
        """The write names the Lease as it was read: the API server refuses it if the Lease has changed."""
        key = f"{names.CHOSEN}{source}"
        for _ in range(ATTEMPTS):
            lease = self._lease(subjob)
            metadata = {**lease["metadata"]}
            annotations = metadata.get("annotations") or {}
            if annotations.get(key) != before:
                return False
            metadata["annotations"] = {**annotations, key: after}
            try:
                self._ask("PUT", self._lease_path(subjob), {**lease, "metadata": metadata})
            except Conflict:
                continue
            return True
        raise Unreachable(f"the Lease of {subjob} changes all the time")

    # ---- positions of finished sinks, on the Lease of the subjob that they read

    def note_end(self, subjob: str, sink: str, at: int) -> None:
        self._annotate(subjob, f"{names.ENDED}{sink}", str(at))

    def ends(self, subjob: str) -> dict[str, int]:
        found = self._annotations(subjob).items()
        return {key.removeprefix(names.ENDED): int(at) for key, at in found if key.startswith(names.ENDED)}

    # ---- the rest

    def addresses(self, subjob: str) -> list[str]:
        """From DNS, so that it works while the API server does not answer. Standbys are included."""
        return self._resolve(subjob, names.FLIGHT_PORT)

    def neighbours(self) -> list[str]:
        return [address for subjob in self._subjobs for address in self._resolve(subjob, names.STATUS_PORT)]

    def memory_percent(self, driver: Driver) -> float:
        """Of this container's limit, whatever the driver was given; 0 without a limit."""
        try:
            limit, used = (CGROUP / "memory.max").read_text().strip(), (CGROUP / "memory.current").read_text()
        except OSError:
            return 0.0
        return 0.0 if limit == "max" else 100 * int(used) / int(limit)

    def _resolve(self, subjob: str, port: int) -> list[str]:
        name = names.service(self._job, subjob)
        try:
            found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        except OSError:
            return []
        return [f"{where[0]}:{port}" for *_, where in found]

    def announce(self, subjob: str, instance: str, address: str, status: str) -> None:
        """Nothing to do: the Service finds a pod by its labels."""

    def start_time(self) -> WallMillis | None:
        """It never changes once it exists."""
        if self._start is None:
            path = f"/api/v1/namespaces/{self._namespace}/configmaps/{names.run(self._job)}"
            text = (self._ask("GET", path).get("data") or {}).get("startTime")
            self._start = WallMillis(int(text)) if text else None
        return self._start

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """An object that the operator should have made, but has not made yet, counts as unreachable."""
        try:
            return self._api.request(method, path, body)
        except Conflict:
            raise
        except NotFound as error:
            raise Unreachable(f"not there (yet): {error}") from error
        except ApiError as error:
            raise Unreachable(str(error)) from error


def _record(lease: dict[str, Any]) -> LeaseRecord | None:
    holder = (lease.get("spec") or {}).get("holderIdentity")
    if not holder:
        return None
    annotations = lease["metadata"].get("annotations") or {}
    address, successor = annotations.get(names.ADDRESS, ""), annotations.get(names.SUCCESSOR) or None
    return LeaseRecord(
        holder, address, Epoch(_epoch(lease)), successor, annotations.get(names.QUESTION) or None
    )


def _epoch(lease: dict[str, Any]) -> int:
    return int((lease.get("spec") or {}).get("leaseTransitions") or 0)


def _taken(lease: dict[str, Any], won: LeaseRecord) -> dict[str, Any]:
    """The Lease as it was read, with its resourceVersion: the API server refuses it if it has changed
    since."""
    metadata = {**lease["metadata"]}
    said_to_the_former = (names.SUCCESSOR, names.QUESTION)
    kept = {k: v for k, v in (metadata.get("annotations") or {}).items() if k not in said_to_the_former}
    metadata["annotations"] = {**kept, names.ADDRESS: won.address}
    metadata.pop("managedFields", None)
    now = f"{iso_ms(now_ms())[:-1]}000Z"
    spec = {**(lease.get("spec") or {}), "holderIdentity": won.holder, "leaseTransitions": won.epoch}
    return {**lease, "metadata": metadata, "spec": spec | {"acquireTime": now, "renewTime": now}}
