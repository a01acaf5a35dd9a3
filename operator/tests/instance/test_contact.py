"""A new standby that can't reach a healthy primary: real shells, Leases and Flight connections; only Spark is
left out.

Everybody else reaches the primary. The newcomer is led astray: its surroundings show it another address of
the holder.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.flight as flight
import pytest

from understudy.instance.serving import InstanceServing
from understudy.kubernetes.certificates import Authority, issue, new_authority
from understudy.local.surroundings import LocalSurroundings
from understudy.process.credentials import FOLDER, own
from understudy.process.ports import Unreachable
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Epoch
from understudy.protocol.peermessage import KeepAlive, to_bytes
from understudy.streams import wire
from understudy.streams.server import Server

from .in_process import InProcessInstance, InProcessJob, expected, until

BEAT = "heartbeat: {interval: 100ms, misses: 5}"
PASSIVE = f"{{mode: passiveStandby, checkpoint: {{interval: 100ms}}, {BEAT}}}"
REPLICAS = f"{{mode: replicaBackup, {BEAT}}}"
SPARE = f"{{mode: amnesia, spare: true, {BEAT}}}"
PATIENCE_MS = 3_000  # the holder looks at its Lease every second
AGES = 2 * PATIENCE_MS / 1_000


class Astray(LocalSurroundings):
    """Shows another address of the holder, as long as there is one."""

    def __init__(self, folder: Path, address: str | None) -> None:
        super().__init__(folder)
        self.address = address
        self.questions: set[str] = set()  # all that it has seen in the Lease
        self.tried = 0

    def read_lease(self, subjob: str) -> LeaseRecord | None:
        found = super().read_lease(subjob)
        if found is None or self.address is None:
            return found
        if found.question is not None:
            self.questions.add(found.question)
        return replace(found, address=self.address)

    def try_lease(
        self, subjob: str, expected: LeaseRecord | None, holder: str, address: str
    ) -> LeaseRecord | None:
        self.tried += 1
        return super().try_lease(subjob, expected, holder, address)


class CutOff(LocalSurroundings):
    """Does not reach the Leases, as long as it is told so."""

    away = False

    def read_lease(self, subjob: str) -> LeaseRecord | None:
        if self.away:
            raise Unreachable("cut off")
        return super().read_lease(subjob)


@contextmanager
def refused_port() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    yield f"127.0.0.1:{port}"


@contextmanager
def one_way() -> Iterator[str]:
    """The connection can be made, and nothing ever comes back."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        yield f"127.0.0.1:{mute.getsockname()[1]}"


@contextmanager
def wrong_certificate() -> Iterator[str]:
    """It wants another authority's certificate."""
    now = datetime.now(UTC)
    credentials = issue(new_authority("other", now), now + timedelta(days=1), now)
    with Server("127.0.0.1", 0, InstanceServing(), credentials) as server:
        yield f"127.0.0.1:{server.port}"


BEATING = to_bytes(KeepAlive(epoch=Epoch(1)))
NONSENSE = b'{"kind": "determinants", "version": "1.0", "epoch": 1, "steps": "nonsense"}'
LATER = b'{"kind": "keepAlive", "version": "2.0", "epoch": 1}'


class Babbling(Server):
    """A primary whose words are not understood."""

    def __init__(self, *words: bytes) -> None:
        super().__init__("127.0.0.1", 0, InstanceServing())
        self._words = words
        self.followed = 0

    def do_get(self, context: Any, ticket: flight.Ticket) -> flight.FlightDataStream:
        self.followed += 1
        return flight.GeneratorStream(wire.BLOB, ((wire.blobs([]), word) for word in self._words))


@contextmanager
def not_yet_valid() -> Iterator[str]:
    """Its certificate is of the right authority, and valid from tomorrow on: one of the two clocks is
    wrong."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    authority = Authority(*((Path(os.environ[FOLDER]) / name).read_bytes() for name in ("ca.crt", "ca.key")))
    credentials = issue(authority, tomorrow + timedelta(days=1), tomorrow)
    with Server("127.0.0.1", 0, InstanceServing(), credentials) as server:
        yield f"127.0.0.1:{server.port}"


@pytest.fixture
def with_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process is a pod of a job: whatever it serves and asks is mutual TLS."""
    now, folder = datetime.now(UTC), tmp_path / "credentials"
    authority = new_authority("demo", now)
    mine = issue(authority, now + timedelta(days=1), now)
    folder.mkdir()
    files = {
        "ca.crt": authority.certificate,
        "ca.key": authority.key,
        "tls.crt": mine.certificate,
        "tls.key": mine.key,
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    monkeypatch.setenv(FOLDER, str(folder))
    own.cache_clear()
    yield
    own.cache_clear()


OBSTACLES = {
    "refused port": refused_port,
    "one way": one_way,
    "wrong certificate": wrong_certificate,
    "not yet valid": not_yet_valid,
}


def newcomer(running: InProcessJob, address: str) -> tuple[InProcessInstance, Astray]:
    surroundings = Astray(running.surroundings.folder, address)
    instance = running.add("first-1", surroundings)
    instance.context.core.patience = PATIENCE_MS
    return instance, surroundings


def assert_right(running: InProcessJob) -> None:
    rows = list(running.reader.rows)
    assert rows == expected(len(rows))


@pytest.mark.parametrize(
    ("ha", "obstacle"),
    [*((PASSIVE, name) for name in OBSTACLES), (SPARE, "refused port"), (REPLICAS, "refused port")],
    ids=lambda value: value.split(",")[0].strip("{"),
)
@pytest.mark.usefixtures("with_certificates")
def test_a_newcomer_that_cannot_reach_a_healthy_primary_leaves_it_its_lease(
    ha: str, obstacle: str, tmp_path: Path
) -> None:
    way: AbstractContextManager[str] = OBSTACLES[obstacle]()
    running = InProcessJob(ha, tmp_path)
    try:
        with way as address:
            running.begin()
            running.flows()
            instance, surroundings = newcomer(running, address)
            until(lambda: len(surroundings.questions) >= 2)  # so the first was answered
            time.sleep(AGES)
            assert surroundings.tried == 0
            lease = running.surroundings.read_lease("first")
            assert lease is not None
            assert (lease.holder, lease.epoch) == ("first-0", 1)
            running.flows()
            surroundings.address = None  # the way is free
            primary = running.instances["first-0"]
            until(
                lambda: primary.status()["secondary"] == instance.name and bool(primary.status()["protected"])
            )
        running.flows()
        assert_right(running)
        assert running.leader("first") == "first-0"
    finally:
        running.close()


def test_a_newcomer_replaces_a_primary_that_nobody_hears_and_that_does_not_answer(tmp_path: Path) -> None:
    """It is dead, and nobody has noticed; its state is lost, so its consumers are told."""
    running = InProcessJob(SPARE, tmp_path)
    try:
        running.begin()
        running.flows()
        running.instances.pop("first-0").leave()
        with refused_port() as address:
            instance, _ = newcomer(running, address)
            until(lambda: running.leader("first") == instance.name)
        running.flows()
    finally:
        running.close()


def test_a_primary_that_its_consumers_hear_keeps_its_lease_though_it_cannot_answer(tmp_path: Path) -> None:
    running = InProcessJob(PASSIVE, tmp_path, holder=CutOff)
    try:
        running.begin()
        running.flows()
        at = running.instances["first-0"].context.surroundings
        assert isinstance(at, CutOff)
        at.away = True
        with refused_port() as address:
            _, surroundings = newcomer(running, address)
            until(lambda: bool(surroundings.questions))
            time.sleep(AGES)
            assert surroundings.tried == 0
            assert running.leader("first") == "first-0"
            running.flows()
            at.away = False
        assert_right(running)
    finally:
        running.close()


def test_a_message_that_cannot_be_handled_ends_in_another_attempt(tmp_path: Path) -> None:
    running = InProcessJob(PASSIVE, tmp_path)
    try:
        with Babbling(BEATING, NONSENSE) as server:
            instance, surroundings = newcomer(running, f"127.0.0.1:{server.port}")
            until(lambda: server.followed >= 3)
            surroundings.address = None
            primary = running.instances["first-0"]
            running.begin()
            until(
                lambda: primary.status()["secondary"] == instance.name and bool(primary.status()["protected"])
            )
            assert running.leader("first") == "first-0"
    finally:
        running.close()


@pytest.mark.parametrize("ha", [PASSIVE, SPARE, REPLICAS], ids=["passiveStandby", "amnesia", "replicaBackup"])
def test_a_primary_of_another_major_version_keeps_its_lease(ha: str, tmp_path: Path) -> None:
    """Though nobody else hears it, and it answers no question in its Lease: it lives, since it speaks."""
    running = InProcessJob(ha, tmp_path)
    try:
        running.begin()
        running.flows()
        running.instances.pop("first-0").leave()
        with Babbling(LATER) as server:
            _, surroundings = newcomer(running, f"127.0.0.1:{server.port}")
            until(lambda: server.followed >= 3)
            time.sleep(AGES)
            assert surroundings.tried == 0
            assert running.leader("first") == "first-0"
    finally:
        running.close()
