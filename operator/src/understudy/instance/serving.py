"""What an instance answers: to consumers of its streams, to its secondary, to its own data source, to the
curious."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import structlog

from understudy.engine import serve as engine
from understudy.faults.freeze import freeze, hang, throttle
from understudy.faults.partition import cut_off
from understudy.instance.context import Context
from understudy.instance.shell import Shell
from understudy.instance.status import status_of
from understudy.model.ha import Ha
from understudy.process.clock import steady_ms
from understudy.process.credentials import own
from understudy.protocol import events as on
from understudy.protocol.ids import Consumer, Epoch, Seq, Stream
from understudy.streams import wire
from understudy.streams.encoding import (
    positions_from_json,
    step_from_json,
    step_to_json,
    tree_from_json,
    tree_to_json,
)
from understudy.streams.hearing import first_of, newest_before
from understudy.streams.reader import Origin
from understudy.streams.server import Messages

log = structlog.get_logger()
LONGEST_DRILL = 1200.0  # a hang lasts for two engine timeouts
RECOVER_SECONDS = 1.0


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
        context = self._ready().context
        stream, consumer, asked_at = Stream(request["stream"]), Consumer(request["consumer"]), steady_ms()
        nothing = _empty(self.schemas[stream])
        yield from _until(context, lambda: context.leading, nothing)
        with context.lock:
            generation = context.generation
            replaced = _replaced(context, stream, consumer, request["epoch"])
            refusal = replaced or self._refusal(context, stream, consumer, request)
            if refusal is None:
                _note_life(context, request.get("ages", ()), asked_at)
                self._hear(context, stream, consumer, request)
        if refusal is not None:
            yield nothing, wire.pack({"refused": refusal, "replaced": replaced is not None})
            return
        yield from _until(
            context, lambda: context.generation != generation or not context.core.roll_open, nothing
        )
        with context.lock:
            if context.generation != generation:
                return
            at, first = self._begin(context, stream, consumer, request)
        yield from self._send(context, stream, consumer, at, first, generation, counts=not request["replica"])

    def _refusal(
        self, context: Context, stream: Stream, consumer: Consumer, request: dict[str, Any]
    ) -> str | None:
        meant = request.get("meant")
        if context.stopping.is_set():
            return "it stops"
        if consumer not in context.core.ledger.queues[stream].acks:
            return f"{consumer} is no consumer of {stream}"
        if meant is not None and meant < context.core.epoch:
            return f"{consumer} asked who led in epoch {meant}, and it is {context.core.epoch} now"
        return None

    def _hear(self, context: Context, stream: Stream, consumer: Consumer, request: dict[str, Any]) -> None:
        """A subscription says what the consumer has; a silent second reader's does not count."""
        if request["replica"]:
            return
        at, _ = self._begin(context, stream, consumer, request)
        start = at if request["start"] is None else context.core.ours(stream, consumer, request["start"])
        mark = step_from_json(request["mark"])
        context.post(on.Subscribed(stream, consumer, Seq(start), Epoch(request["epoch"]), mark))

    def _begin(
        self, context: Context, stream: Stream, consumer: Consumer, request: dict[str, Any]
    ) -> tuple[int, dict[str, Any]]:
        """From where to send, and what the first message must say, in the consumer's own count."""
        core, queue = context.core, context.core.ledger.queues[stream]
        released = queue.acks[consumer].released

        def resumes(known: Seq, start: Seq) -> tuple[int, dict[str, Any]]:
            said = {
                "released": core.theirs(stream, consumer, known),
                "start": core.theirs(stream, consumer, start),
            }
            return start, {"resumes": said}

        match Origin(request["origin"]):
            case Origin.NEWEST:
                return resumes(released, queue.next)
            case Origin.HELD:
                held, anew = Seq(max(released, queue.trimmed)), core.anew_for(stream, consumer)
                said = {"held": held, "others": anew, "released": released}
                return held, {
                    k: n if n is None else core.theirs(stream, consumer, n) for k, n in said.items()
                }
            case Origin.POSITION:
                start = core.ours(stream, consumer, request["start"])
                if queue.refusal(start) is None:
                    return start, {}
                return resumes(queue.known_until(start, context.given_up.get(stream)), queue.trimmed)

    def _send(
        self,
        context: Context,
        stream: Stream,
        consumer: Consumer,
        at: int,
        first: dict[str, Any],
        generation: int,
        counts: bool,
    ) -> Messages:
        """`counts`: what is sent is output, not a copy for a silent second reader."""
        store, seen, is_new, asked, told = context.stores[stream], None, True, 0, None
        shift = context.core.theirs(stream, consumer, 0)
        while True:
            delivery = store.wait(at, seen, context.heartbeat)
            at += delivery.rows.num_rows
            with context.lock:
                if context.generation != generation or context.stopping.is_set():
                    return
                if counts and delivery.rows.num_rows:
                    context.note_sent(stream, consumer, at, steady_ms())
                meta = {
                    "epoch": context.core.epoch,
                    "next": context.core.ledger.queues[stream].next + shift,
                    "standby": self._ready().peers.secondary_address,
                    "replicas": context.core.replicated,
                    **first,
                }
                mark = (
                    self._ready().changing.mark(stream, Seq(at)) if delivery.rows.num_rows or is_new else None
                )
                wanted = context.backups_wanted.get(stream, 0)
                anew = context.core.anew.get(stream)
            if anew != told:
                told = anew
                meta["anew"] = anew + shift if anew is not None else None
            if is_new:
                meta["share"] = store.share
            first, is_new = {}, False
            if asked < wanted <= at:  # behind the tuples that it speaks of
                asked, meta["backup"] = wanted, wanted + shift
            if still := context.still_ms(steady_ms()):
                meta["still"] = still
            seen = delivery.progress if delivery.progress is not None else seen
            if mark is not None:
                meta["mark"] = step_to_json(mark.renumbered(shift))
            if delivery.progress is not None:
                meta["progress"] = delivery.progress
            if delivery.ended:
                meta["end"] = at + shift
            yield _one_batch(_shifted(delivery.rows, shift)), wire.pack(meta)

    # --- the secondary

    def serve_follower(self, request: dict[str, Any]) -> Messages:
        context, peers = self._ready().context, self._ready().peers
        with context.lock:
            another = context.leading and peers.has_another_than(request["instance"])
            fit = request.get("engine") is None and not context.stopping.is_set()
            free = context.leading and not another and fit
            outbox = (
                peers.joined(request["instance"], request["address"], request.get("mode", ""))
                if free
                else None
            )
        if outbox is None:
            why = "not primary, another instance follows, or the engine of the one that asks stands still"
            yield wire.blobs([]), wire.pack({"refused": why, "another": another})
            return
        try:
            while peers.is_current(outbox):
                for meta, blobs in peers.next_letters(outbox, context.heartbeat):
                    yield wire.blobs(blobs), wire.pack(meta)
        finally:
            peers.left(request["instance"], outbox)

    # --- rows and actions

    def peek(self, stream: str, count: int) -> pa.Table:
        context = self._ready().context
        with context.lock:
            held = context.core.ledger.queues[Stream(stream)].held
        return context.stores[stream].rows(max(held.start, held.stop - count), held.stop)

    def plan_rows(self, request: dict[str, Any]) -> pa.Table:
        return engine.handle_get(self.inboxes, request)

    def act(self, kind: str, body: dict[str, Any]) -> Any:
        match kind:
            case "cut":
                return engine.handle_action(self.inboxes, body)
            case "ack":
                return self._ack(self._ready().context, body)
            case "ping":
                context = self.shell.context if self.shell is not None else None
                return {"epoch": context.core.epoch} if context is not None and context.leading else {}
            case "hears":
                return {"heard": self._ready().inputs.hears(body["subjob"], body["epoch"])}
            case "change":
                return self._change(self._ready(), body)
            case "freeze":
                return _drill(kind, freeze, body)
            case "hang":
                return _drill(kind, hang, body)
            case "partition":
                return _drill(kind, cut_off, body)
            case "throttle":
                return _drill(kind, throttle, body)
            case "recover":
                return self._recover(self._ready(), body)
            case "status":
                return status_of(self._ready().context)
            case "beat" | "progress" | "stored" | "chosen":
                return self._heard(self._ready(), kind, body)
            case _:
                return {"error": f"unknown action {kind!r}"}

    def _change(self, shell: Shell, body: dict[str, Any]) -> Any:
        """What the manifest now says of this subjob. Nobody but the job's own may say so."""
        try:
            shell.changing.tell(Ha.model_validate(body["ha"]))
        except ValueError as error:
            return {"error": str(error)}
        return {}

    def _heard(self, shell: Shell, kind: str, body: dict[str, Any]) -> Any:
        """A word of the secondary."""
        with shell.context.lock:
            shell.peers.spoke(body["instance"], body.get("engine"))
            match kind:
                case "progress":
                    shell.post(on.SecondaryAt(Epoch(body["epoch"]), positions_from_json(body["positions"])))
                case "stored":
                    shell.post(on.CheckpointStored(Epoch(body["epoch"]), body["number"]))
                case "chosen":
                    shell.post(on.DeterminantsStored(Epoch(body["epoch"]), body["number"]))
        return {}

    def _ack(self, context: Context, body: dict[str, Any]) -> Any:
        replaced, told = None, {}
        if context.leading:
            stream, consumer, epoch = Stream(body["stream"]), Consumer(body["consumer"]), Epoch(body["epoch"])
            with context.lock:
                replaced = _replaced(context, stream, consumer, epoch)
                _note_life(context, body.get("ages", ()), steady_ms())
            for level, upto in body["acks"]:
                tree = tree_from_json(body.get("tree")) if level == 1 else None
                said = context.core.ours(stream, consumer, upto)
                context.post(on.Acked(stream, consumer, level, said, epoch, tree))
            context.starved[stream, consumer] = context.core.ours(stream, consumer, body.get("starved") or 0)
            with context.lock:
                end = context.core.theirs(stream, consumer, context.core.ledger.queues[stream].next)
                told = {"end": end, "lagMs": context.lag(stream, consumer)[1]}
        return {"epoch": context.core.epoch, "replaced": replaced, **told}

    def _recover(self, shell: Shell, body: dict[str, Any]) -> Any:
        """Waits for a while until this instance leads: one that recovers itself has nothing to say yet."""
        with shell.context.role_changed:
            if not shell.context.role_changed.wait_for(lambda: shell.context.leading, RECOVER_SECONDS):
                return {}
            return {"tree": tree_to_json(shell.recovery.requested(body["stream"], body["consumer"]))}


def _replaced(context: Context, stream: Stream, consumer: Consumer, epoch: int) -> str | None:
    """What an earlier life of a consumer is told when a later one has spoken."""
    queue = context.core.ledger.queues[stream]
    if not queue.replaced(consumer, Epoch(epoch)):
        return None
    return f"{consumer} speaks with epoch {epoch}, but {queue.acks[consumer].epoch} has begun"


def _note_life(context: Context, ages: Sequence[dict[str, Any]], asked_at: int) -> None:
    """What a consumer had of the primaries before. Called under the lock, while this instance leads."""
    take_over = context.story.take_over
    if take_over is not None:
        take_over.note_life(newest_before(context.core.epoch, ages, asked_at))
        if any(
            0 < age["epoch"] < context.core.epoch for age in ages
        ):  # else it has not seen the outage begin
            take_over.note_received(first_of(context.core.epoch, ages, asked_at))


def _drill(kind: str, fault: Callable[[float], None], body: dict[str, Any]) -> Any:
    """Only for those who have shown the job's certificate: the operator."""
    if own() is None:
        return {"error": "a drill is taken from nobody without certificates"}
    log.warning("drill", fault=kind, seconds=body["seconds"])
    fault(min(float(body["seconds"]), LONGEST_DRILL))
    return {}


def _until(context: Context, condition: Callable[[], bool], nothing: pa.RecordBatch) -> Messages:
    """Keep-alives until the condition holds, or the process stops."""
    while not condition() and not context.stopping.is_set():
        yield nothing, wire.pack({"waiting": True})
        with context.role_changed:
            context.role_changed.wait_for(condition, context.heartbeat)


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=schema)


def _shifted(rows: pa.Table, by: int) -> pa.Table:
    """To a consumer that counts from further on."""
    place = rows.schema.get_field_index("_seq")
    return rows.set_column(place, rows.schema.field(place), pc.add(rows["_seq"], by)) if by else rows


def _one_batch(rows: pa.Table) -> pa.RecordBatch:
    batches: Iterator[pa.RecordBatch] = iter(rows.combine_chunks().to_batches())
    return next(batches, None) or _empty(rows.schema)
