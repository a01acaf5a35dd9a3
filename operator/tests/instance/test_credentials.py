"""Mutual TLS on real Flight connections: the job's pods are served, everybody else gets nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.flight as flight
import pytest

from understudy.kubernetes.certificates import Authority, issue, new_authority
from understudy.process.credentials import SUBJECT, Credentials
from understudy.protocol.ids import Epoch, Stream
from understudy.protocol.peermessage import Answer, Follow, Order, Peek, Ping, Pong, Subscribe
from understudy.streams import wire
from understudy.streams.connection import connect
from understudy.streams.server import Batches, Letters, Server

NOW = datetime.now(UTC)
SECRET = Pong(Epoch(7))
PEEK = Peek(Stream("s"), 3)


class Secretive:
    """Serves one table and one word."""

    def stream_schema(self, stream: str) -> pa.Schema:
        raise NotImplementedError

    def serve_stream(self, request: Subscribe) -> Batches:
        raise NotImplementedError

    def serve_follower(self, request: Follow) -> Letters:
        raise NotImplementedError

    def peek(self, request: Peek) -> pa.Table:
        return pa.table({"v": [1, 2, 3]})

    def plan_rows(self, request: bytes) -> pa.Table:
        raise NotImplementedError

    def cut(self, request: bytes) -> bytes:
        raise NotImplementedError

    def act(self, order: Order) -> Answer:
        return SECRET


@pytest.fixture(scope="module")
def authority() -> Authority:
    return new_authority("demo", NOW)


@pytest.fixture(scope="module")
def mine(authority: Authority) -> Credentials:
    return issue(authority, NOW + timedelta(days=1), NOW)


@pytest.fixture(scope="module")
def address(mine: Credentials) -> Iterator[str]:
    with Server("127.0.0.1", 0, Secretive(), mine) as server:
        yield f"127.0.0.1:{server.port}"


def ask(client: flight.FlightClient) -> Answer:
    assert client.do_get(wire.ticket(PEEK)).read_all().num_rows == 3
    return wire.say(client, Ping(), 5.0)


def test_pods_of_the_same_job_are_served(authority: Authority, address: str) -> None:
    """Each with a certificate of its own: the next one is issued while the last is still in use."""
    with connect(address, issue(authority, NOW + timedelta(days=30), NOW)) as client:
        assert ask(client) == SECRET


def stranger() -> Credentials:
    """A pod of another job: its authority has the same name and another key."""
    return issue(new_authority("demo", NOW), NOW + timedelta(days=1), NOW)


def disguised(mine: Credentials) -> Credentials:
    """It trusts the right authority and shows a certificate of its own making."""
    other = stranger()
    return Credentials(mine.authority, other.certificate, other.key)


def expired(authority: Authority) -> Credentials:
    return issue(authority, NOW - timedelta(minutes=1), NOW - timedelta(days=2))


@pytest.mark.parametrize(
    "who", ["plain", "without a certificate", "of another job", "in disguise", "expired"]
)
def test_nobody_else_gets_anything(authority: Authority, mine: Credentials, address: str, who: str) -> None:
    def client_of() -> flight.FlightClient:
        match who:
            case "plain":
                return flight.FlightClient(f"grpc://{address}")
            case "without a certificate":
                trusted = {"tls_root_certs": mine.authority, "override_hostname": SUBJECT}
                return flight.FlightClient(f"grpc+tls://{address}", **trusted)
            case "of another job":
                return connect(address, stranger())
            case "in disguise":
                return connect(address, disguised(mine))
            case _:
                return connect(address, expired(authority))

    with client_of() as client, pytest.raises((flight.FlightError, pa.ArrowException)):
        wire.say(client, Ping(), 5.0)
    with client_of() as client, pytest.raises((flight.FlightError, pa.ArrowException)):
        client.do_get(wire.ticket(PEEK), flight.FlightCallOptions(timeout=5.0)).read_all()


def test_a_client_refuses_a_server_that_the_jobs_authority_did_not_sign(mine: Credentials) -> None:
    with Server("127.0.0.1", 0, Secretive(), stranger()) as server:
        client = connect(f"127.0.0.1:{server.port}", mine)
        with client, pytest.raises((flight.FlightError, pa.ArrowException)):
            wire.say(client, Ping(), 5.0)


def test_an_authority_cannot_be_used_as_a_pod_nor_a_pod_as_an_authority(
    authority: Authority, mine: Credentials
) -> None:
    from cryptography import x509

    for pem, may_sign in ((authority.certificate, True), (mine.certificate, False)):
        basic = x509.load_pem_x509_certificate(pem).extensions.get_extension_for_class(x509.BasicConstraints)
        assert basic.value.ca is may_sign
