"""Input: readers of other subjobs' streams, sources of our own, and the acks that go back."""

from __future__ import annotations

import threading
from collections import defaultdict

import pyarrow as pa
import structlog

from understudy.modes.build import millis
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.ids import Consumer, Epoch, Range, Seq, Stream
from understudy.runtime.ports import Unreachable
from understudy.runtime.reader import Handler, Incoming, StreamReader
from understudy.runtime.scene import Scene
from understudy.runtime.sources import Sources

log = structlog.get_logger()
START_POLL_SECONDS = 0.2
INBOX_ROWS = 500_000  # beyond this many waiting rows an input is not read further
LEAST_SILENCE_MS = 1_000  # a producer that is silent for less is not given up: its standby will call


class Inputs(Handler):
    def __init__(self, scene: Scene, sources: Sources) -> None:
        self._scene = scene
        self._wiring = scene.core.wiring
        self._sources = sources
        self._readers: dict[str, StreamReader] = {}
        self._acks: dict[str, dict[int, int]] = defaultdict(dict)
        self._arriving: pa.Table | None = None
        sources.advance = self._advance

    def start(self) -> None:
        threading.Thread(target=self._ack_forever, name="acks", daemon=True).start()
        threading.Thread(target=self._await_start, name="start-time", daemon=True).start()

    def poll(self) -> None:
        """Called every few milliseconds."""
        with self._scene.lock:
            self._sources.poll()
        for reader in list(self._readers.values()):
            reader.watch()

    def stop(self) -> None:
        """Leave the role: take no more input."""
        for reader in self._readers.values():
            reader.stop()
        self._readers.clear()
        self._acks.clear()
        self._sources.stop()

    def source_rows(self, source: str, wanted: Range) -> pa.Table | None:
        return self._sources.rows(source, wanted)

    def _await_start(self) -> None:
        """Sources begin when the job does; whoever deployed it says when. Once known, it never changes."""
        while not self._scene.stopping.is_set() and self._sources.start_ms is None:
            try:
                self._sources.start_ms = self._scene.surroundings.start_time()
            except Unreachable as error:
                log.warning("start time unknown", error=str(error))
            self._scene.stopping.wait(START_POLL_SECONDS)

    # --- commands

    def read(self, command: do.ReadInput) -> None:
        stream = command.stream
        if stream in self._wiring.replayable:
            self._sources.begin(stream, command.start)
            return
        heartbeat = self._scene.subjob.ha.heartbeat
        reader = StreamReader(
            stream,
            self._scene.subjob.name,
            self,
            lambda: self._scene.surroundings.addresses(stream),
            silence_ms=max(millis(heartbeat.interval) * heartbeat.misses, LEAST_SILENCE_MS),
            epoch=lambda: self._scene.core.epoch,
            replica=not self._scene.leading,
        )
        reader.start_at_newest = command.start is None
        self._readers[stream] = reader
        reader.start()

    def take(self, command: do.Take) -> None:
        assert self._arriving is not None
        first = self._arriving["_seq"][0].as_py()
        rows = self._arriving.slice(command.range.start - first, len(command.range))
        for name in self._wiring.readers(command.stream):
            self._offer(name, command.stream, rows)

    def _offer(self, element: str, stream: str, rows: pa.Table) -> None:
        """Give an element the rows it lacks: elements of one subjob may have come differently far on the same input."""
        inbox = self._scene.inboxes[element]
        known = inbox.wanted(stream) - rows["_seq"][0].as_py()
        if known < rows.num_rows:
            inbox.offer(stream, rows.slice(max(known, 0)))

    def skip(self, command: do.Skip) -> None:
        for name in self._wiring.readers(command.stream):
            self._scene.inboxes[name].skip(command.stream, command.to)

    def report_loss(self, command: do.ReportLoss) -> None:
        missing, story = command.missing, self._scene.story
        log.error("input lost", stream=command.stream, start=missing.start, stop=missing.stop)
        story.losses.append((command.stream, missing.start, missing.stop))
        if story.take_over is not None:
            story.take_over.lost += len(missing)

    def send_ack(self, command: do.SendAck) -> None:
        stream = command.stream
        if stream in self._wiring.inputs:
            for name in self._wiring.readers(stream):
                epoch = self._scene.core.epoch
                self._scene.post(on.Acked(stream, Consumer(name), command.level, command.upto, epoch))
        elif stream not in self._wiring.replayable:
            self._acks[stream][command.level] = command.upto

    # --- what readers report

    def expected(self, stream: str) -> int | None:
        with self._scene.lock:
            reader = self._readers.get(stream)
            if reader is not None and reader.start_at_newest:
                return None
            return self._scene.core.ledger.received(Stream(stream))

    def incoming(self, stream: str, message: Incoming) -> None:
        scene = self._scene
        with scene.lock:
            if self._readers.get(stream) is not threading.current_thread():
                return
            generation = scene.generation
            scene.story.available[stream] = max(scene.story.available.get(stream, 0), message.available)
            scene.story.aim(stream, message.available)
            if message.rows.num_rows:
                self._arriving = message.rows
                scene.post(on.Arrived(Stream(stream), _range_of(message.rows), Epoch(message.epoch)))
                self._arriving = None
            for name in self._wiring.readers(Stream(stream)):
                scene.inboxes[name].learn(stream, message.progress, message.end)
        self._wait_for_room(stream, generation)

    def redirected(self, stream: str, epoch: int) -> None:
        self._scene.post(on.Redirected(Stream(stream), Epoch(epoch)))

    def resumes(self, stream: str, released: int, start: int) -> None:
        with self._scene.lock:
            if self._readers.get(stream) is not threading.current_thread():
                return
            self._readers[stream].start_at_newest = False
            self._scene.post(on.Resumes(Stream(stream), Seq(released), Seq(start)))

    def _wait_for_room(self, stream: str, generation: int) -> None:
        """Backpressure: a reader that stops reading makes its producer's queue grow, and that one's source wait."""
        while generation == self._scene.generation and any(
            self._scene.inboxes[n].waiting(stream) > INBOX_ROWS for n in self._wiring.readers(Stream(stream))
        ):
            self._scene.stopping.wait(0.02)

    def _advance(self, source: str, upto: int, rows: pa.Table | None, ended: bool, skip_to: int | None) -> None:
        """A source has come further. Called under the lock."""
        self._scene.story.available[source] = upto
        for name in self._wiring.readers(Stream(source)):
            inbox = self._scene.inboxes[name]
            if skip_to is not None:
                inbox.skip(source, skip_to)
            if rows is None:
                inbox.advance(source, upto)
            elif rows.num_rows:
                self._offer(name, source, rows)
            if ended:
                inbox.end(source, upto)
        self._scene.story.aim(source, upto)

    # --- acks

    def _ack_forever(self) -> None:
        interval = millis(self._scene.subjob.ha.ack_interval) / 1000
        sent: dict[StreamReader, dict[int, int]] = {}
        while not self._scene.stopping.wait(interval):
            with self._scene.lock:
                due = {reader: self._due_acks(s) for s, reader in self._readers.items() if self._scene.leading}
            sent = {reader: levels for reader, levels in sent.items() if reader in due}
            for reader, levels in due.items():
                if levels and sent.get(reader) != levels and reader.ack(sorted(levels.items())):
                    sent[reader] = levels

    def _due_acks(self, stream: str) -> dict[int, int]:
        """Level 0: what has arrived. Level 1: what the mode has released."""
        return {0: int(self._scene.core.ledger.received(Stream(stream))), **self._acks.get(stream, {})}


def _range_of(rows: pa.Table) -> Range:
    first = rows["_seq"][0].as_py()
    return Range(Seq(first), Seq(first + rows.num_rows))
