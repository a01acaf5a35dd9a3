"""What an instance answers: to consumers of its streams, to its secondary, to its own data source, to the curious."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import structlog

from understudy.modes.build import millis
from understudy.modes.instance import Role
from understudy.protocol import events as on
from understudy.protocol.ids import Consumer, Epoch, Seq, Stream
from understudy.runtime import wire
from understudy.runtime.checkpoints import Message, encode
from understudy.runtime.engine import serve as engine
from understudy.runtime.server import Messages
from understudy.runtime.shell import Shell
from understudy.runtime.status import status_of

log = structlog.get_logger()


class InstanceServing:
    """Serves one shell. It exists before the shell does: until then only its own data source is answered."""

    def __init__(self) -> None:
        self.shell: Shell | None = None
        self.inboxes: dict[str, Any] = {}
        self.schemas: dict[str, pa.Schema] = {}

    def _ready(self) -> Shell:
        if self.shell is None:
            raise ConnectionRefusedError("this instance is still starting")
        return self.shell

    def stream_schema(self, stream: str) -> pa.Schema:
        self._ready()
        return self.schemas[stream]

    # --- consumers

    def serve_stream(self, request: dict[str, Any]) -> Messages:
        shell = self._ready()
        stream, consumer = Stream(request["stream"]), Consumer(request["consumer"])
        nothing = _empty(self.schemas[stream])
        interval = millis(shell.subjob.ha.heartbeat.interval) / 1000
        while shell.core.role is not Role.PRIMARY:
            yield nothing, wire.pack({"waiting": True})
            with shell.role_changed:
                shell.role_changed.wait_for(lambda: shell.core.role is Role.PRIMARY, interval)
        with shell.lock:
            generation = shell.generation
            refusal = self._refusal(shell, stream, consumer, request["epoch"])
            if refusal is None:
                at, first = self._subscribe(shell, stream, consumer, request["start"], request["epoch"])
        if refusal is not None:
            yield nothing, wire.pack({"refused": refusal})
            return
        yield from self._send(shell, stream, at, first, generation, interval)

    def _refusal(self, shell: Shell, stream: Stream, consumer: Consumer, epoch: int) -> str | None:
        acks = shell.core.ledger.queues[stream].acks.get(consumer)
        if acks is None:
            return f"{consumer} is no consumer of {stream}"
        if epoch < acks.epoch:
            return f"{consumer} asks with epoch {epoch}, but {acks.epoch} has begun"
        return None

    def _subscribe(
        self, shell: Shell, stream: Stream, consumer: Consumer, start: int | None, epoch: int
    ) -> tuple[int, dict[str, Any]]:
        """From where to send, and what the first message must say."""
        queue_ = shell.core.ledger.queues[stream]
        if start is not None:
            shell.post(on.Subscribed(stream, consumer, Seq(start), Epoch(epoch)))
            queue_ = shell.core.ledger.queues[stream]
            if queue_.refusal(Seq(start)) is None:
                return start, {}
        at = queue_.next if start is None else queue_.trimmed
        return at, {"resumes": {"released": queue_.acks[consumer].released, "start": at}}

    def _send(
        self, shell: Shell, stream: Stream, at: int, first: dict[str, Any], generation: int, interval: float
    ) -> Messages:
        store, seen = shell.stores[stream], None
        while True:
            delivery = store.wait(at, seen, interval)
            with shell.lock:
                if shell.generation != generation:
                    return
                meta = {
                    "epoch": shell.core.epoch,
                    "next": shell.core.ledger.queues[stream].next,
                    "standby": shell.secondary_address,
                    **first,
                }
            at, first = at + delivery.rows.num_rows, {}
            seen = delivery.progress if delivery.progress is not None else seen
            if delivery.progress is not None:
                meta["progress"] = delivery.progress
            if delivery.ended:
                meta["end"] = at
            yield _one_batch(delivery.rows), wire.pack(meta)

    # --- the secondary

    def serve_follower(self, request: dict[str, Any]) -> Messages:
        shell = self._ready()
        nothing = wire.blobs([])
        interval = millis(shell.subjob.ha.heartbeat.interval) / 1000
        outbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        with shell.lock:
            leading, generation = shell.core.role is Role.PRIMARY, shell.generation
            if leading:
                log.info("secondary joined", secondary=request["instance"])
                shell.outbox, shell.secondary_address = outbox, request["address"]
                shell.post(on.SecondaryJoined(request["instance"]))
        if not leading:
            yield nothing, wire.pack({"refused": "not primary"})
            return
        try:
            while shell.generation == generation and shell.outbox is outbox:
                yield self._next(shell, outbox, interval)
        finally:
            with shell.lock:
                if shell.outbox is outbox:
                    log.info("secondary left", secondary=request["instance"])
                    shell.outbox = shell.secondary_address = None
                    shell.post(on.SecondaryLeft(request["instance"]))

    def _next(self, shell: Shell, outbox: queue.SimpleQueue[Message], interval: float) -> tuple[pa.RecordBatch, bytes]:
        meta: dict[str, Any] = {"epoch": shell.core.epoch}
        blobs: list[bytes] = []
        try:
            meta["header"], blobs = encode(outbox.get(timeout=interval))
        except queue.Empty:
            with shell.lock:
                meta["positions"] = shell.positions()
        return wire.blobs(blobs), wire.pack(meta)

    # --- rows and actions

    def peek(self, stream: str, count: int) -> pa.Table:
        shell = self._ready()
        with shell.lock:
            held = shell.core.ledger.queues[Stream(stream)].held
        return shell.stores[stream].rows(max(held.start, held.stop - count), held.stop)

    def plan_rows(self, request: dict[str, Any]) -> pa.Table:
        return engine.handle_get(self.inboxes, request)

    def act(self, kind: str, body: dict[str, Any]) -> Any:
        match kind:
            case "cut":
                return engine.handle_action(self.inboxes, body)
            case "ack":
                return self._ack(self._ready(), body)
            case "stored":
                self._ready().post(on.CheckpointStored(Epoch(body["epoch"]), body["number"]))
                return {}
            case "status":
                return status_of(self._ready())
            case _:
                return {"error": f"unknown action {kind!r}"}

    def _ack(self, shell: Shell, body: dict[str, Any]) -> Any:
        if shell.core.role is Role.PRIMARY:
            stream, consumer, epoch = Stream(body["stream"]), Consumer(body["consumer"]), Epoch(body["epoch"])
            for level, upto in body["acks"]:
                shell.post(on.Acked(stream, consumer, level, Seq(upto), epoch))
        return {"epoch": shell.core.epoch}


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=schema)


def _one_batch(rows: pa.Table) -> pa.RecordBatch:
    batches: Iterator[pa.RecordBatch] = iter(rows.combine_chunks().to_batches())
    return next(batches, None) or _empty(rows.schema)
