"""A consumer looks for who serves its stream, over real connections."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa
import pyarrow.flight as flight
import pytest

from understudy.instance.serving import InstanceServing
from understudy.protocol.ids import Epoch, Seq
from understudy.protocol.peermessage import Answer, Batch, Order, Pong, Subscribe, Waiting, to_bytes
from understudy.streams.reader import Asking, Handler, Incoming, StreamReader
from understudy.streams.server import Batches, Server

from .in_process import until

SCHEMA = pa.schema([("_seq", pa.int64())])
ONE = pa.record_batch([pa.array([0])], schema=SCHEMA)
LAST = Batch(epoch=Epoch(1), next=Seq(1), end=Seq(1))
REDIRECTIONS = 300


class Producer(InstanceServing):
    """Sends one tuple."""

    def stream_schema(self, stream: str) -> pa.Schema:
        return SCHEMA

    def serve_stream(self, request: Subscribe) -> Batches:
        yield ONE, LAST


class Consumer(Handler):
    def __init__(self) -> None:
        self.arrived = threading.Event()

    def expected(self, stream: str) -> int:
        return 0

    def incoming(self, reader: StreamReader, message: Incoming) -> None:
        self.arrived.set()


class Brief(Producer):
    """Sends one tuple, and is gone."""

    def serve_stream(self, request: Subscribe) -> Batches:
        yield ONE, Batch(epoch=Epoch(1), next=Seq(1))

    def act(self, order: Order) -> Answer:
        return Pong(None)


@pytest.fixture
def hung() -> Iterator[str]:
    """A process that is stopped: its kernel takes connections, and nobody answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def test_who_takes_the_connection_and_says_nothing_is_given_up(hung: str) -> None:
    server = Server("127.0.0.1", 0, Producer())
    consumer = Consumer()
    reader = StreamReader(Asking("s", "c"), consumer, lambda: [hung, f"127.0.0.1:{server.port}"], 300)
    reader.start()
    assert consumer.arrived.wait(20)
    reader.stop()
    server.shutdown()


class Babbling(Server):
    """Sends words that nobody understands, and one that is."""

    words: ClassVar = [
        b"nonsense",
        b'{"kind": "batch", "version": "1.0", "epoch": 1}',
        b'{"kind": "batch", "version": "2.0", "epoch": 1, "next": 1}',
        to_bytes(Pong(Epoch(1))),
        to_bytes(LAST),
    ]
    asked = 0

    def do_get(self, context: object, ticket: flight.Ticket) -> flight.FlightDataStream:
        self.asked += 1
        return flight.GeneratorStream(SCHEMA, iter([(ONE, self.words[self.asked - 1])]))


def test_a_message_that_cannot_be_handled_ends_in_another_attempt() -> None:
    consumer = Consumer()
    server = Babbling("127.0.0.1", 0, Producer())
    reader = StreamReader(Asking("s", "c"), consumer, lambda: [f"127.0.0.1:{server.port}"], 5_000)
    reader.start()
    assert consumer.arrived.wait(20)
    assert server.asked == len(server.words)
    reader.stop()
    server.shutdown()


class Slow(Consumer):
    """Takes longer for a message than a producer may be silent."""

    def incoming(self, reader: StreamReader, message: Incoming) -> None:
        until(lambda: self.looked > 20)
        self.arrived.set()

    looked = 0


def test_a_message_that_takes_its_time_here_is_no_silence_of_the_producer() -> None:
    consumer = Slow()
    server = Server("127.0.0.1", 0, Producer())
    reader = StreamReader(Asking("s", "c"), consumer, lambda: [f"127.0.0.1:{server.port}"], 100)
    reader.start()
    until(lambda: reader.connections == 1)
    while not consumer.arrived.wait(0.05):
        reader.watch()
        consumer.looked += 1
    until(lambda: reader.finished)
    assert reader.connections == 1
    reader.stop()
    server.shutdown()


class Standby(Producer):
    """Lets a request wait, in vain."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def serve_stream(self, request: Subscribe) -> Batches:
        self.asked += 1
        while True:
            yield ONE.slice(0, 0), Waiting()
            time.sleep(0.01)


class Primary(Producer):
    def act(self, order: Order) -> Answer:
        return Pong(Epoch(1))


def test_nobody_waits_at_a_standby_while_another_leads() -> None:
    standby, consumer = Standby(), Consumer()
    servers = [Server("127.0.0.1", 0, standby), Server("127.0.0.1", 0, Primary())]
    reader = StreamReader(Asking("s", "c"), consumer, lambda: [f"127.0.0.1:{s.port}" for s in servers], 5_000)
    reader.start()
    assert consumer.arrived.wait(20)
    assert standby.asked == 0
    reader.stop()
    for server in servers:
        server.shutdown()


def test_where_nobody_leads_one_that_may_soon_is_waited_for() -> None:
    standby = Standby()
    server = Server("127.0.0.1", 0, standby)
    reader = StreamReader(Asking("s", "c"), Consumer(), lambda: [f"127.0.0.1:{server.port}"], 5_000)
    reader.start()
    until(lambda: standby.asked > 0)
    reader.stop()
    server.shutdown()


def test_acks_on_their_way_outlive_the_connection() -> None:
    """It is not closed under them: that is a crash of the whole process, once in some hundred
    redirections."""
    server = Server("127.0.0.1", 0, Brief())
    reader = StreamReader(Asking("s", "c"), Consumer(), lambda: [f"127.0.0.1:{server.port}"], 3_000)
    over = threading.Event()

    def ack() -> None:
        while not over.wait(0.0005):
            reader.ack([(1, 1)])

    acking = [threading.Thread(target=ack) for _ in range(3)]
    for thread in (reader, *acking):
        thread.start()
    try:
        until(lambda: reader.connections >= REDIRECTIONS, 120)
    finally:
        over.set()
        reader.stop()
        for thread in acking:
            thread.join()
        server.shutdown()
