"""The protocol of a sink of any kind: read the last stream, give each tuple to the writer once, ack what is
durable, continue at the same place after a crash. What differs between kinds is behind `port.py`.

For a while there may be two processes of a sink: one on a machine that was only cut off, and its replacement.
The later life has the greater number. The earlier life fails as soon as it notices that, and from then on
neither writes nor acks:

| it notices | by |
|---|---|
| before it asks for the stream, around each write, before an ack | the writer's fence, such as `fence.py` |
| when a producer that has heard the later one answers | its number, the epoch of its subscription and acks |

A writer without a fence has only the number. The process that deploys the job counts the lives, and records
each number before it gives it out: a clock may go back, and a count in the folder would begin again with
every new volume.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import structlog

from understudy.model.job import StreamJob
from understudy.model.sinks import Sink
from understudy.modes.build import sink_consumer
from understudy.process.clock import steady_ms
from understudy.process.latencies import Latencies
from understudy.process.ports import Surroundings, Unreachable
from understudy.protocol.duplicates import DuplicateFilter, Hole
from understudy.protocol.epochs import EpochGuard
from understudy.protocol.ids import Epoch, Range, Seq
from understudy.protocol.peermessage import Age
from understudy.protocol.statuspage import SinkPage, State
from understudy.protocol.watermarks import Step
from understudy.sinks.disk import Disk
from understudy.sinks.port import Opening, Superseded, Writer
from understudy.streams.hearing import Hearing
from understudy.streams.reader import Asking, Handler, Incoming, StreamReader
from understudy.streams.replicas import reading_of

log = structlog.get_logger()
ACK_SECONDS = 0.05
ASK_MS = 1_000  # an ack is repeated after so long, because its answer contains the end of the stream
SILENCE_MS = 1_000
RETRY_SECONDS = 0.5
FINISH_SECONDS = 0.5
STOPPED = 143  # by SIGTERM, as a shell reports it. Never 0: that means that everything is written


class SinkProcess(Handler):
    """Reads one stream into a writer. Duplicates and fenced producers are dropped by the same rules as in a
    subjob.

    A disk that hangs blocks the thread that reads the stream, and may block the one that acks. The status
    page and the watch of the disk do not use the disk.
    """

    def __init__(self, opening: Opening, writer: Writer, surroundings: Surroundings) -> None:
        self.job, self.sink, self.disk = opening.job, opening.sink, opening.disk
        self.writer = writer
        self._filter = DuplicateFilter(Seq(writer.next))
        self._guard = EpochGuard()
        self.done = threading.Event()
        self._stop = threading.Event()
        self.error: str | None = None
        self.lost = 0
        self._surroundings = surroundings
        self._latencies = Latencies(surroundings.neighbours)
        self._mark: Step | None = None
        self._hearing = Hearing()
        if writer.age_ms is not None:
            self._hearing.found(self.sink.input, steady_ms() - writer.age_ms)
        self._end, self._lag_ms = writer.next, 0  # of the stream, as last reported by the producer
        self._lock = threading.Lock()  # replicas of a producer are read at the same time
        self._waits_since: int | None = None  # since when tuples wait for a commit; under the lock
        self._finished = False
        asking = Asking(self.sink.input, sink_consumer(self.sink.name), epoch=lambda: opening.life.number)
        self._reader = reading_of(
            self.job, asking, self, lambda: surroundings.addresses(self.sink.input), SILENCE_MS
        )

    def run(self) -> int:
        """Runs until the stream has ended (0), a write fails (1) or the process is asked to stop
        (STOPPED)."""
        self._reader.start()
        acked = asked = None
        while not self.done.wait(ACK_SECONDS) and not self._stop.is_set() and not self.error:
            self._reader.watch()
            self._commit_if_due()
            upto, now = self.writer.next, steady_ms()
            if (upto != acked or asked is None or now - asked >= ASK_MS) and self._ack(upto):
                acked, asked = upto, now
        finished = self._finish()
        self._ack(self.writer.next)
        self._reader.stop()
        if finished:
            self.writer.close()
        if self.error:
            log.error("failed", error=self.error)
            return 1
        if self.done.is_set():
            self._note_end()
        return 0 if self.done.is_set() else STOPPED

    def _ack(self, upto: int) -> bool:
        return self._is_ours() and self._reader.ack([(1, upto)])

    def _is_ours(self) -> bool:
        """Whether no later life of this sink is known."""
        if self.error is None:
            with self._failing():
                self.writer.check()
        return self.error is None

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """An error of the writer ends the sink."""
        try:
            yield
        except (OSError, ValueError) as error:
            self._fail(str(error))

    def _fail(self, why: str) -> None:
        self.error = self.error or f"sink {self.sink.name} cannot write: {why}"

    def behind(self, reader: StreamReader, end: int, lag_ms: int) -> None:
        self._end, self._lag_ms = end, lag_ms

    def replaced(self, reader: StreamReader, why: str) -> None:
        self._fail(why)

    def _note_end(self) -> None:
        """Before the process ends: otherwise a producer that restarts would wait for this sink's answer to
        its roll call."""
        while not self._stop.is_set():
            try:
                return self._surroundings.note_end(self.sink.input, self.sink.name, self.writer.next)
            except Unreachable as error:
                log.warning("end of stream not recorded", error=str(error))
                self._stop.wait(RETRY_SECONDS)

    def stop(self) -> None:
        self._stop.set()
        self.writer.stop()

    def expected(self, stream: str) -> int:
        """Raises Superseded. The answer to a roll call must be durable, so everything before it is."""
        if self._waits_since is not None:
            with self._lock, self._failing():
                self._commit()
        if not self._is_ours():
            raise Superseded(self.error)
        return self._filter.expected

    def mark(self, stream: str) -> Step | None:
        return self._mark

    def ages(self, stream: str) -> tuple[Age, ...]:
        return self._hearing.ages(stream, steady_ms())

    # ---- writing: under the lock -------------------------------------------------------------------------

    def incoming(self, reader: StreamReader, message: Incoming) -> None:
        with self._lock:
            self._guard, admitted = self._guard.admit(Epoch(message.epoch))
            if not admitted or self.error or self._finished:
                return  # rows after a failed write would be taken for the end of a hole
            before = self._filter.expected
            with self._failing():
                self._write(message)
                if self.writer.commit_ms == 0 or _ends(message, self._filter.expected):
                    self._commit()
            new, stream = self._filter.expected > before, self.sink.input
            self._hearing.heard(stream, message.epoch, steady_ms(), message.still_ms, new_tuples=new)
        if _ends(message, self.writer.next):
            self.done.set()

    def _write(self, message: Incoming) -> None:
        self._mark = message.mark or self._mark
        if not message.rows.num_rows:
            return
        first = message.rows["_seq"][0].as_py()
        arrived = Range(Seq(first), Seq(first + message.rows.num_rows))
        filter_, new = self._filter.accept(arrived)
        if isinstance(new, Hole):
            self._skip(new.missing)
            filter_, new = DuplicateFilter(arrived.stop), arrived
        if len(new):
            self.writer.write(message.rows.slice(new.start - first))
            self._waits_since = self._waits_since or steady_ms()
        self._filter = filter_

    def _commit(self) -> None:
        if self._waits_since is not None and self.error is None:
            self.writer.commit()
            self._waits_since = None

    def _commit_if_due(self) -> None:
        """Commits even if the stream pauses, so that written tuples do not wait. With a writer that commits
        each message, this never waits for a write that hangs."""
        since = self._waits_since
        if self.writer.commit_ms and since is not None and steady_ms() - since >= self.writer.commit_ms:
            with self._lock, self._failing():
                self._commit()

    def _finish(self) -> bool:
        """Ends writing. False if a write hangs: then the writer can't be closed."""
        if not self._lock.acquire(timeout=FINISH_SECONDS):
            return False
        with self._failing():
            self._commit()
        self._finished = True
        self._lock.release()
        return True

    def resumes(self, reader: StreamReader, released: int, start: int) -> None:
        """The tuples from `released` to the expected seq were given up by a renumbering: they are not
        lost."""
        with self._lock, self._failing():
            expected = self._filter.expected
            self._skip(
                Range(Seq(min(max(released, expected), max(start, expected))), Seq(max(start, expected)))
            )
            self._filter = DuplicateFilter(Seq(max(start, expected)))

    def _skip(self, missing: Range) -> None:
        self._commit()
        self.writer.skip(missing.stop)
        if len(missing):
            self.lost += len(missing)
            log.error("input lost", stream=self.sink.input, start=missing.start, stop=missing.stop)

    # ------------------------------------------------------------------------------------------------------

    def status(self) -> SinkPage:
        return replace(
            status_of(self.job, self.sink, self._state(), self.disk),
            error=self.error,
            tuples=self.writer.next,
            next=self.writer.next,
            lost=self.lost + self.writer.lost,
            quiet_ms=self._hearing.quiet_ms(self.sink.input, steady_ms()),
            lag=max(0, self._end - self.writer.next),
            lag_ms=self._lag_ms if self._end > self.writer.next else 0,
            ended=self.done.is_set(),
            latencies=self._latencies.figures(),
        )

    def _state(self) -> State:
        return State.FAILED if self.error else State.FINISHED if self.done.is_set() else State.READY

    def is_ready(self) -> bool:
        return self.error is None and self.disk.stalled is None


def status_of(job: StreamJob, sink: Sink, state: State, disk: Disk) -> SinkPage:
    """All that is known even before the folder is taken, because taking it may hang."""
    stalled = disk.stalled
    shown = State.STALLED if stalled is not None and state not in (State.FAILED, State.FINISHED) else state
    return SinkPage(job.name, sink.name, shown, stalled)


def _ends(message: Incoming, next_: int) -> bool:
    """Whether the stream ends at `next_`."""
    return message.end is not None and next_ >= message.end
