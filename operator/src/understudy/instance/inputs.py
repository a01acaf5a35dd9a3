"""Input: readers of other subjobs' streams, the sources that this subjob reads, and the acks that it
sends."""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass

import pyarrow as pa
import structlog

from understudy.instance.context import Context
from understudy.modes.build import millis
from understudy.process.clock import steady_ms
from understudy.process.ports import Unreachable
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.delivered_acks import DeliveredAcks
from understudy.protocol.events import Event
from understudy.protocol.ids import Consumer, Epoch, Range, Seq, Stream
from understudy.protocol.peermessage import Age, Origin, size_of_ack
from understudy.protocol.savepoints import Tree
from understudy.protocol.watermarks import Step
from understudy.sources.port import News
from understudy.sources.reading import Sources
from understudy.streams.reader import Asking, Handler, Incoming, Reading, StreamReader
from understudy.streams.replicas import reading_of

log = structlog.get_logger()
START_POLL_SECONDS = 0.2
# a producer that is silent for less is not given up: its standby may still take over
LEAST_SILENCE_MS = 1_000


class Inputs(Handler):
    def __init__(self, context: Context, sources: Sources) -> None:
        self._context = context
        self._wiring = context.core.wiring
        self._sources = sources
        self._readers: dict[str, Reading] = {}
        self._acks: dict[str, dict[int, int]] = defaultdict(dict)
        self._trees: dict[str, Tree] = {}
        self._sent: dict[Reading, _Due] = {}
        self._arriving: pa.Table | None = None
        self.reading = False
        sources.advance, sources.has_room = self._advance, self._has_room
        sources.is_through = self._is_through

    def start(self) -> None:
        threading.Thread(target=self._ack_forever, name="acks", daemon=True).start()
        threading.Thread(target=self._await_start, name="start-time", daemon=True).start()

    def poll(self) -> None:
        """Polls sources and watches readers. Called every few milliseconds."""
        with self._context.lock:
            self._sources.lead(self._context.leading)
            self._sources.poll()
            self._context.story.faults = self._sources.faults
        for reader in list(self._readers.values()):
            reader.watch()

    def hears(self, stream: str, epoch: int) -> bool:
        """Whether a producer of this epoch, or of a later one, serves the stream to this instance now."""
        reader = self._readers.get(stream)
        served = reader.served_by if reader is not None else None
        return served is not None and served >= epoch

    def stop(self) -> None:
        """Leaves the role: takes no more input."""
        self.reading = False
        for reader in self._readers.values():
            reader.stop()
        self._readers.clear()
        self._acks.clear()
        self._trees.clear()
        self._context.delivered = DeliveredAcks()
        self._context.sent.clear()
        self._sources.stop()

    def source_rows(self, source: str, wanted: Range) -> pa.Table | None:
        return self._sources.rows(source, wanted)

    def _await_start(self) -> None:
        """Sources begin when the job does. The process that deployed it reports the time, which never changes
        once known."""
        while not self._context.stopping.is_set() and self._sources.start_ms is None:
            try:
                self._sources.start_ms = self._context.surroundings.start_time()
            except Unreachable as error:
                log.warning("start time unknown", error=str(error))
            self._context.stopping.wait(START_POLL_SECONDS)

    # --- commands

    def read(self, command: do.ReadInput) -> None:
        stream, self.reading = command.stream, True
        if stream in self._wiring.replayable:
            self._sources.begin(stream, self._first_wanted(stream, command.start))
            return
        self._read(stream, Origin.NEWEST if command.start is None else Origin.POSITION)

    def _first_wanted(self, source: str, start: Seq | None) -> Seq | None:
        """Where to read from: earlier than `start` if a restored state still lacks its tail."""
        if start is None:
            return None
        wanted = (self._context.inboxes[name].wanted(source) for name in self._wiring.readers(Stream(source)))
        return Seq(min([start, *wanted]))

    def replay(self, command: do.Replay) -> None:
        self._read(command.stream, Origin.HELD)

    def _read(self, stream: str, origin: Origin) -> None:
        context, heartbeat = self._context, self._context.subjob.ha.heartbeat
        asking = Asking(stream, context.subjob.name, lambda: context.core.epoch, lambda: not context.leading)
        silence = max(millis(heartbeat.interval) * heartbeat.misses, LEAST_SILENCE_MS)
        reading = reading_of(
            context.job, asking, self, lambda: context.surroundings.addresses(stream), silence, origin
        )
        self._readers[stream] = reading
        reading.start()

    def take(self, command: do.Take) -> None:
        assert self._arriving is not None
        first = self._arriving["_seq"][0].as_py()
        rows = self._arriving.slice(command.range.start - first, len(command.range))
        for name in self._wiring.readers(command.stream):
            self.offer(name, command.stream, rows)

    def offer(self, element: str, stream: str, rows: pa.Table) -> None:
        """Gives an element the rows that it lacks: elements of one subjob may have different positions on the
        same input."""
        inbox = self._context.inboxes[element]
        known = inbox.wanted(stream) - rows["_seq"][0].as_py()
        if known < rows.num_rows:
            inbox.offer(stream, rows.slice(max(known, 0)))

    def skip(self, command: do.Skip) -> None:
        readers = self._wiring.readers(command.stream) if command.element is None else (command.element,)
        for name in readers:
            self._context.inboxes[name].skip(command.stream, command.to)

    def report_loss(self, command: do.ReportLoss) -> None:
        missing, story = command.missing, self._context.story
        log.error("input lost", stream=command.stream, start=missing.start, stop=missing.stop)
        story.losses.append((command.stream, missing.start, missing.stop))
        if story.take_over is not None:
            story.take_over.lost += len(missing)

    def send_ack(self, command: do.SendAck) -> None:
        stream = command.stream
        if stream in self._wiring.inputs:
            for name in self._wiring.readers(stream):
                epoch = self._context.core.epoch
                self._context.post(
                    on.Acked(stream, Consumer(name), command.level, command.upto, epoch, command.tree)
                )
            return
        self._acks[stream][command.level] = command.upto
        if command.tree is not None:
            self._trees[stream] = command.tree

    # --- what readers report

    def ages(self, stream: str) -> tuple[Age, ...]:
        """How long ago earlier producers were heard. A new life has heard none. The time at which its own
        output stopped comes from its consumers, and is passed on."""
        now, take_over = steady_ms(), self._context.story.take_over
        stopped = take_over.stopped if take_over is not None else None
        passed_on = (Age(epoch=0, ms=now - stopped),) if stopped is not None else ()
        return (*self._context.hearing.ages(stream, now), *passed_on)

    def expected(self, stream: str) -> int:
        with self._context.lock:
            return self._context.core.goes_on_from(Stream(stream))

    def mark(self, stream: str) -> Step | None:
        with self._context.lock:
            core = self._context.core
            return core.neighbours.mark_of(Stream(stream), core.goes_on_from(Stream(stream)))

    def incoming(self, reader: StreamReader, message: Incoming) -> None:
        context, stream = self._context, reader.stream
        with context.lock:
            if reader.stopped:
                return
            generation, received = context.generation, context.core.ledger.received(Stream(stream))
            context.story.available[stream] = max(context.story.available.get(stream, 0), message.available)
            context.story.aim(stream, message.available)
            if message.share is not None:
                self._take_at_most(stream, message.share)
            if message.rows.num_rows or message.mark is not None or message.anew is not None:
                self._arriving = message.rows
                context.post(_arrived(Stream(stream), self._range(stream, message), message))
                self._arriving = None
            admitted = context.core.ledger.admits(Stream(stream), Epoch(message.epoch))
            if admitted:
                new = context.core.ledger.received(Stream(stream)) > received
                context.hearing.heard(stream, message.epoch, steady_ms(), message.still_ms, new_tuples=new)
            for name in self._wiring.readers(Stream(stream)) if admitted else ():
                context.inboxes[name].learn(stream, message.progress, message.end)
        self._wait_for_room(stream, generation)

    def _take_at_most(self, stream: str, share: int) -> None:
        for name in self._wiring.readers(Stream(stream)):
            self._context.inboxes[name].take_at_most(share, of=stream)

    def _range(self, stream: str, message: Incoming) -> Range:
        """The seqs of a message's rows. A message without rows may carry information about the last tuple
        before it."""
        if not message.rows.num_rows:
            at = self._context.core.ledger.received(Stream(stream))
            return Range(at, at)
        first = message.rows["_seq"][0].as_py()
        return Range(Seq(first), Seq(first + message.rows.num_rows))

    def redirected(self, reader: StreamReader, epoch: int) -> None:
        self._report(reader, on.Redirected(Stream(reader.stream), Epoch(epoch)))

    def resumes(self, reader: StreamReader, released: int, start: int) -> None:
        self._report(reader, on.Resumes(Stream(reader.stream), Seq(released), Seq(start)))

    def backup_requested(self, reader: StreamReader, upto: int, epoch: int) -> None:
        self._report(reader, on.BackupRequested(Stream(reader.stream), Seq(upto), Epoch(epoch)))

    def held(self, reader: StreamReader, start: int, anew: int | None, released: int | None) -> None:
        others = Seq(anew) if anew is not None else None
        known = Seq(released) if released is not None else None
        self._report(reader, on.Released(Stream(reader.stream), Seq(start), others, known))

    def _report(self, reader: StreamReader, event: Event) -> None:
        with self._context.lock:
            if not reader.stopped:
                self._context.post(event)

    def _wait_for_room(self, stream: str, generation: int) -> None:
        """Backpressure: while a reader does not read, its producer's queue grows, and finally that producer's
        source waits."""
        while generation == self._context.generation and not self._has_room(stream):
            if self._context.stopping.wait(0.02):
                return

    def _has_room(self, stream: str) -> bool:
        return all(
            self._context.inboxes[name].room(stream) > 0 for name in self._wiring.readers(Stream(stream))
        )

    def _is_through(self, source: str) -> bool:
        """Whether all that can be made of the tuples that have arrived is made."""
        readers = [self._context.inboxes[name] for name in self._wiring.readers(Stream(source))]
        return all(inbox.starved(source) or inbox.idle for inbox in readers)

    def _advance(self, source: str, news: News) -> None:
        """A source has advanced. Called under the lock."""
        story, upto = self._context.story, news.upto
        story.available[source], story.bad[source] = upto + news.waiting, news.bad
        if news.skipped is not None:
            self._skip_of_source(Stream(source), news.skipped)
        for name in self._wiring.readers(Stream(source)):
            inbox = self._context.inboxes[name]
            if news.rows is None:
                inbox.advance(source, upto)
            elif news.rows.num_rows:
                self.offer(name, source, news.rows)
            if news.ended:
                inbox.end(source, upto)
        story.aim(source, upto)

    def _skip_of_source(self, source: Stream, skipped: Range) -> None:
        """The core decides what is lost. It knows nothing of tuples before its position: if they are gone, a
        state lacks them."""
        self._context.post(on.Resumes(source, skipped.start, skipped.stop))
        lacking = [
            name
            for name in self._wiring.readers(source)
            if self._context.inboxes[name].wanted(source) < skipped.stop
        ]
        if lacking:
            self.report_loss(do.ReportLoss(source, skipped))
        for name in lacking:
            self.skip(do.Skip(source, skipped.stop, name))

    # --- acks

    def _ack_forever(self) -> None:
        while not self._context.stopping.wait(self._context.subjob.ha.ack_interval.total_seconds()):
            with self._context.lock:
                due = {r: self._due(s, r) for s, r in self._readers.items() if self._context.leading}
            sent = {reader: ack for reader, ack in self._sent.items() if reader in due}
            for reader, ack in due.items():
                if sent.get(reader) != ack and reader.ack(ack.levels, ack.tree, ack.starved):
                    sent[reader] = ack
                    self._note_told(reader, ack)
                    self._context.story.acked_bytes += size_of_ack(ack.levels, ack.tree)
            self._sent = sent

    def _note_told(self, reader: Reading, ack: _Due) -> None:
        with self._context.lock:
            for stream in (s for s, r in self._readers.items() if r is reader):
                if (upto := dict(ack.levels).get(1)) is not None:
                    self._context.delivered = self._context.delivered.with_ack(
                        Stream(stream), Seq(upto), ack.tree
                    )

    def forget_trees(self) -> None:
        self._trees.clear()
        self._sent = {}

    def tree_delivered(self, stream: str) -> bool:
        """Whether the producer has received a savepoint tree of this subjob."""
        sent = self._sent.get(self._readers[stream]) if stream in self._readers else None
        return sent is not None and sent.tree is not None

    def _due(self, stream: str, reader: Reading) -> _Due:
        """Level 0: what is processed. Input that was received but not processed does not go along with a
        move. Level 1: what the mode has released. A new producer has to receive both again."""
        levels = {0: int(self._context.core.ledger.position(Stream(stream))), **self._acks.get(stream, {})}
        starved, take_over = self._starved(stream), self._context.story.take_over
        stopped = take_over.stopped if take_over is not None else None
        return _Due(
            tuple(sorted(levels.items())), self._trees.get(stream), reader.connections, starved, stopped
        )

    def _starved(self, stream: str) -> int | None:
        found = (self._context.starved_at(name, stream) for name in self._wiring.readers(Stream(stream)))
        return min((at for at in found if at is not None), default=None)


def _arrived(stream: Stream, range_: Range, message: Incoming) -> on.Arrived:
    anew = Seq(message.anew) if message.anew is not None else None
    return on.Arrived(stream, range_, Epoch(message.epoch), message.mark, anew)


@dataclass(frozen=True, slots=True)
class _Due:
    levels: tuple[tuple[int, int], ...]
    tree: Tree | None
    connections: int
    starved: int | None = None
    stopped: int | None = None  # a take-over learns it from its consumers, after it has subscribed here
