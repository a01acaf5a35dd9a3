"""What an instance serves: streams to consumers, state to its secondary, rows to its own data source, and
answers to orders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, assert_never

import pyarrow as pa
import pyarrow.compute as pc
import structlog

from understudy.engine import serve as engine
from understudy.faults.freeze import freeze, hang, throttle
from understudy.faults.partition import cut_off
from understudy.instance.context import Context
from understudy.instance.shell import Shell
from understudy.model.ha import Ha
from understudy.process.clock import steady_ms
from understudy.process.credentials import own
from understudy.protocol import events as on
from understudy.protocol.ids import Consumer, Epoch, Seq, Stream
from understudy.protocol.peermessage import (
    Ack,
    Acked,
    Age,
    Answer,
    AskHears,
    Batch,
    Beat,
    Change,
    Chosen,
    Done,
    Drill,
    Follow,
    FollowRefused,
    FromSecondary,
    Harm,
    Hears,
    Held,
    NotLeading,
    Order,
    Origin,
    Peek,
    Ping,
    Pong,
    Progress,
    Recover,
    Recovered,
    Refused,
    Resumes,
    Stored,
    Subscribe,
    SubscriptionRefused,
    Waiting,
)
from understudy.streams.hearing import first_of, newest_before
from understudy.streams.server import Batches, Letters

log = structlog.get_logger()
LONGEST_DRILL = 1200.0  # a hang lasts for two engine timeouts
RECOVER_SECONDS = 1.0
HARMS: Final[Mapping[Harm, Callable[[float], None]]] = {
    Harm.FREEZE: freeze,
    Harm.HANG: hang,
    Harm.PARTITION: cut_off,
    Harm.THROTTLE: throttle,
}


@dataclass(frozen=True, slots=True)
class _Start:
    """From where to send, and what the first message must contain, in the consumer's own count of seqs."""

    at: int
    resumes: Resumes | None = None
    held: Held | None = None


class InstanceServing:
    """Serves for one shell, and exists before it: until the shell exists, only the instance's own data source
    is served."""

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

    def serve_stream(self, request: Subscribe) -> Batches:
        context, asked_at = self._ready().context, steady_ms()
        stream, consumer = request.stream, request.consumer
        nothing = _empty(self.schemas[stream])
        yield from _until(context, lambda: context.leading, nothing)
        with context.lock:
            generation = context.generation
            replaced = _replaced(context, stream, consumer, request.epoch)
            refusal = replaced or _refusal(context, request)
            if refusal is None:
                _note_life(context, request.ages, asked_at)
                _hear(context, request)
        if refusal is not None:
            yield nothing, SubscriptionRefused(refusal, replaced is not None)
            return
        yield from _until(
            context, lambda: context.generation != generation or not context.core.roll_open, nothing
        )
        with context.lock:
            if context.generation != generation:
                return
            start = _begin(context, request)
        yield from self._send(context, request, start, generation)

    def _send(self, context: Context, request: Subscribe, start: _Start, generation: int) -> Batches:
        """Sends a stream. For a silent second reader it is a copy, and does not count as output."""
        stream, consumer, counts = request.stream, request.consumer, not request.replica
        store, seen, asked, at = context.stores[stream], None, 0, start.at
        shift, first, told = context.core.numbering.theirs(stream, consumer, Seq(0)), True, None
        while True:
            delivery = store.wait(at, seen, context.heartbeat)
            at += delivery.rows.num_rows
            with context.lock:
                if context.generation != generation or context.stopping.is_set():
                    return
                if counts and delivery.rows.num_rows:
                    context.note_sent(stream, consumer, at, steady_ms())
                shell = self._ready()
                mark = shell.changing.mark(stream, Seq(at)) if delivery.rows.num_rows or first else None
                wanted, anew = (
                    context.backups_wanted.get(stream, 0),
                    context.core.numbering.diverged_at.get(stream),
                )
                said = Batch(
                    epoch=context.core.epoch,
                    next=Seq(context.core.ledger.queues[stream].next + shift),
                    standby=shell.peers.secondary_address,
                    replicas=context.core.replicated,
                    resumes=start.resumes if first else None,
                    held=start.held if first else None,
                    mark=mark.renumbered(shift) if mark is not None else None,
                    progress=delivery.progress,
                    end=Seq(at + shift) if delivery.ended else None,
                    diverged_at=Seq(anew + shift) if anew is not None and anew != told else None,
                    share=store.share if first else None,
                    # sent after the tuples before the position
                    backup=Seq(wanted + shift) if asked < wanted <= at else None,
                    still_ms=context.still_ms(steady_ms()),
                )
            told, first = anew, False
            asked = wanted if said.backup is not None else asked
            seen = delivery.progress if delivery.progress is not None else seen
            yield _one_batch(_shifted(delivery.rows, shift)), said

    # --- the secondary

    def serve_follower(self, request: Follow) -> Letters:
        context, peers = self._ready().context, self._ready().peers
        with context.lock:
            another = context.leading and peers.has_another_than(request.instance)
            fit = request.stalled is None and not context.stopping.is_set()
            free = context.leading and not another and fit
            outbox = peers.joined(request.instance, request.address, request.mode) if free else None
        if outbox is None:
            why = "not primary, another instance follows, or the engine of the one that asks stands still"
            yield [], FollowRefused(why, another)
            return
        try:
            while peers.is_current(outbox):
                for said, blobs in peers.next_letters(outbox, context.heartbeat):
                    yield blobs, said
        finally:
            peers.left(request.instance, outbox)

    # --- rows and actions

    def peek(self, request: Peek) -> pa.Table:
        context = self._ready().context
        with context.lock:
            held = context.core.ledger.queues[request.stream].held
        return context.stores[request.stream].rows(max(held.start, held.stop - request.count), held.stop)

    def plan_rows(self, request: bytes) -> pa.Table:
        return engine.rows(self.inboxes, request)

    def cut(self, request: bytes) -> bytes:
        return engine.cut(self.inboxes, request)

    def act(self, order: Order) -> Answer:
        match order:
            case Ack():
                return _ack(self._ready().context, order)
            case Ping():
                context = self.shell.context if self.shell is not None else None
                return Pong(context.core.epoch if context is not None and context.leading else None)
            case AskHears(subjob, epoch):
                return Hears(self._ready().inputs.hears(subjob, epoch))
            case Change(ha):
                return _change(self._ready(), ha)
            case Drill():
                return _drill(order)
            case Recover():
                return _recover(self._ready(), order)
            case Beat() | Progress() | Stored() | Chosen():
                return _heard(self._ready(), order)
            case _:
                assert_never(order)


def _refusal(context: Context, request: Subscribe) -> str | None:
    if context.stopping.is_set():
        return "it stops"
    if request.consumer not in context.core.ledger.queues[request.stream].acks:
        return f"{request.consumer} is no consumer of {request.stream}"
    if request.meant is not None and request.meant < context.core.epoch:
        asked = f"{request.consumer} asked who led in epoch {request.meant}"
        return f"{asked}, and it is {context.core.epoch} now"
    return None


def _hear(context: Context, request: Subscribe) -> None:
    """Posts the position that a subscription reports. That of a silent second reader does not count."""
    if request.replica:
        return
    stream, consumer, start = request.stream, request.consumer, request.start
    at = (
        _begin(context, request).at if start is None else context.core.numbering.ours(stream, consumer, start)
    )
    context.post(on.Subscribed(stream, consumer, Seq(at), request.epoch, request.mark))


def _begin(context: Context, request: Subscribe) -> _Start:
    stream, consumer = request.stream, request.consumer
    core, queue = context.core, context.core.ledger.queues[stream]
    released = queue.acks[consumer].released

    def theirs(seq: Seq) -> Seq:
        return Seq(core.numbering.theirs(stream, consumer, seq))

    match request.origin:
        case Origin.NEWEST:
            return _Start(queue.next, resumes=Resumes(theirs(released), theirs(queue.next)))
        case Origin.HELD:
            held, anew = Seq(max(released, queue.trimmed)), core.books.diverged_for(stream, consumer)
            return _Start(
                held, held=Held(theirs(held), theirs(anew) if anew is not None else None, theirs(released))
            )
        case Origin.POSITION:
            start = core.numbering.ours(stream, consumer, request.start or Seq(0))
            if queue.refusal(start) is None:
                return _Start(start)
            known = queue.known_until(start, context.given_up.get(stream))
            return _Start(queue.trimmed, resumes=Resumes(theirs(known), theirs(queue.trimmed)))
        case _:
            assert_never(request.origin)


def _change(shell: Shell, ha: Mapping[str, Any]) -> Answer:
    """Takes over the manifest's current `ha` of this subjob. Only processes of the same job may send it."""
    try:
        shell.changing.tell(Ha.model_validate(ha))
    except ValueError as error:
        return Refused(str(error))
    return Done()


def _heard(shell: Shell, word: FromSecondary) -> Answer:
    with shell.context.lock:
        shell.peers.spoke(word.instance, word.stalled)
        match word:
            case Progress():
                shell.post(on.SecondaryAt(word.epoch, word.positions))
            case Stored():
                shell.post(on.CheckpointStored(word.epoch, word.number))
            case Chosen():
                shell.post(on.DeterminantsStored(word.epoch, word.number))
            case Beat():
                pass
            case _:
                assert_never(word)
    return Done()


def _ack(context: Context, ack: Ack) -> Answer:
    if not context.leading:
        return Acked(context.core.epoch)
    stream, consumer = ack.stream, ack.consumer
    with context.lock:
        replaced = _replaced(context, stream, consumer, ack.epoch)
        _note_life(context, ack.ages, steady_ms())
    for level, upto in ack.levels:
        tree = ack.tree if level == 1 else None
        context.post(
            on.Acked(
                stream, consumer, level, context.core.numbering.ours(stream, consumer, upto), ack.epoch, tree
            )
        )
    context.starved[stream, consumer] = context.core.numbering.ours(stream, consumer, ack.starved or Seq(0))
    with context.lock:
        end = context.core.numbering.theirs(stream, consumer, context.core.ledger.queues[stream].next)
        return Acked(context.core.epoch, replaced, Seq(end), context.lag(stream, consumer)[1])


def _recover(shell: Shell, request: Recover) -> Answer:
    """Answers a consumer that recovers. Waits a limited time until this instance leads: one that is
    recovering itself has no answer yet."""
    with shell.context.role_changed:
        if not shell.context.role_changed.wait_for(lambda: shell.context.leading, RECOVER_SECONDS):
            return NotLeading()
        return Recovered(shell.recovery.requested(request.stream, request.consumer))


def _replaced(context: Context, stream: Stream, consumer: Consumer, epoch: int) -> str | None:
    """Why an earlier life of a consumer is refused when a later one has subscribed or acked."""
    queue = context.core.ledger.queues[stream]
    if not queue.replaced(consumer, Epoch(epoch)):
        return None
    return f"{consumer} speaks with epoch {epoch}, but {queue.acks[consumer].epoch} has begun"


def _note_life(context: Context, ages: Iterable[Age], asked_at: int) -> None:
    """Notes what a consumer received of former primaries. Called under the lock, while this instance
    leads."""
    take_over = context.story.take_over
    if take_over is not None:
        take_over.note_life(newest_before(context.core.epoch, ages, asked_at))
        # a consumer that has heard no earlier producer has not seen the outage begin
        if any(0 < age.epoch < context.core.epoch for age in ages):
            take_over.note_received(first_of(context.core.epoch, ages, asked_at))


def _drill(drill: Drill) -> Answer:
    """Does a fault to this process. Only the operator may order it, which has shown the job's certificate."""
    if own() is None:
        return Refused("a drill is taken from nobody without certificates")
    log.warning("drill", fault=drill.harm, seconds=drill.seconds)
    HARMS[drill.harm](min(drill.seconds, LONGEST_DRILL))
    return Done()


def _until(context: Context, condition: Callable[[], bool], nothing: pa.RecordBatch) -> Batches:
    """Sends keep-alives until the condition holds, or the process stops."""
    while not condition() and not context.stopping.is_set():
        yield nothing, Waiting()
        with context.role_changed:
            context.role_changed.wait_for(condition, context.heartbeat)


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=schema)


def _shifted(rows: pa.Table, by: int) -> pa.Table:
    """Adds the shift of a late consumer to the seqs."""
    place = rows.schema.get_field_index("_seq")
    return rows.set_column(place, rows.schema.field(place), pc.add(rows["_seq"], by)) if by else rows


def _one_batch(rows: pa.Table) -> pa.RecordBatch:
    batches: Iterator[pa.RecordBatch] = iter(rows.combine_chunks().to_batches())
    return next(batches, None) or _empty(rows.schema)
