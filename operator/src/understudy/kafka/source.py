"""A topic as a source: tuples in the order of their numbers, read by a thread of its own.

The shell polls an outbox and never waits for a broker. What the thread can't handle where it stands ends its
session; the next one begins at the first tuple that is not delivered yet, from the log and the topic
alone."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Final

import structlog
from confluent_kafka import KafkaError, KafkaException

from understudy.kafka.outbox import Delivery, Missing, Outbox, Rows
from understudy.kafka.session import Again, Session
from understudy.kafka.topic import SourceTopic
from understudy.process.clock import steady_ms
from understudy.protocol.ids import Range, Seq

log = structlog.get_logger()
RETRY_SECONDS: Final = 0.2
JOIN_SECONDS: Final = 30.0
REREAD_MS: Final = 60_000


class KafkaSource:
    """`begin`, then `poll` every few milliseconds; `stop` ends it, and it can begin again."""

    def __init__(self, source: SourceTopic) -> None:
        self._source = source
        self._outbox = Outbox()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, start: Seq | None) -> None:
        """Deliver the tuples from `start` on; None: those that nobody has numbered yet."""
        self.stop()
        self._outbox, self._stopping = Outbox(), threading.Event()
        run = (start, self._outbox, self._stopping)
        self._thread = threading.Thread(
            target=self._run, args=run, name=f"kafka-{self._source.topic}", daemon=True
        )
        self._thread.start()

    def poll(self) -> Delivery | None:
        """What comes next, if it is here. Never waits."""
        return self._outbox.poll()

    @property
    def waiting(self) -> int:
        """How many records follow that are not delivered, as far as that is known."""
        return self._outbox.waiting

    @property
    def bad(self) -> int:
        """How many records could not be read, by the numbering log from its present beginning on."""
        return self._outbox.bad

    @property
    def fault(self) -> str | None:
        """Why nothing comes; None while all is well."""
        return self._outbox.fault

    def release(self, upto: Seq) -> None:
        """Tuples before this will not be asked for again."""
        self._outbox.released = upto

    def rows(self, wanted: Range) -> list[Rows | Missing]:
        """Tuples that were delivered before, read again. Waits for the broker. Raises KafkaException, Stopped
        or NotUnderstood."""
        return reread(self._source, wanted)

    def stop(self) -> None:
        """Returns before the thread has ended: it delivers nothing any more."""
        self._stopping.set()

    def close(self) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join(JOIN_SECONDS)

    def _run(self, start: Seq | None, outbox: Outbox, stopping: threading.Event) -> None:
        at: Seq | None = start
        try:
            while not stopping.is_set():
                at = self._session(at, outbox, stopping)
                stopping.wait(RETRY_SECONDS)
        except Exception as error:  # nobody waits for this thread: what it does not say stays unknown
            outbox.fault = f"{self._source.topic}: {error}"
            log.exception("topic not read any more", topic=self._source.topic)

    def _session(self, at: Seq | None, outbox: Outbox, stopping: threading.Event) -> Seq | None:
        """Where the next one begins. Raises Stopped or NotUnderstood, among others, if there must be none."""
        session = Session(self._source, at, outbox, stopping)
        try:
            session.run()
        except Again as why:
            log.info("topic opened again", topic=self._source.topic, why=str(why))
        except KafkaException as error:
            outbox.fault = f"{self._source.topic}: {error.args[0].str()}"
            log.warning("topic not read", topic=self._source.topic, error=str(error))
        finally:
            session.close()
        return session.delivered


def reread(source: SourceTopic, wanted: Range | None = None) -> list[Rows | Missing]:
    """In a session of its own, which numbers nothing. Default: all that is numbered, up to the limit."""
    outbox, found = Outbox(), list[Rows | Missing]()
    start = wanted.start if wanted is not None else Seq(0)
    session = Session(source, start, outbox, threading.Event(), writes=False)
    try:
        session.open()
        wanted = wanted or Range(start, session.numbered)
        at, deadline = start, steady_ms() + REREAD_MS
        while at < wanted.stop:
            if steady_ms() > deadline:
                raise KafkaException(
                    KafkaError(KafkaError._TIMED_OUT, f"{wanted} was not read again in time")
                )
            session.step()
            found += _all(outbox)
            before, at = at, session.delivered or start
            deadline = steady_ms() + REREAD_MS if at > before else deadline
        return [*_within(wanted, [*found, *_all(outbox)])]
    finally:
        session.close()


def _all(outbox: Outbox) -> Iterator[Rows | Missing]:
    while (delivery := outbox.poll()) is not None:
        if isinstance(delivery, Rows | Missing):
            yield delivery


def _within(wanted: Range, found: Iterable[Rows | Missing]) -> Iterator[Rows | Missing]:
    for each in found:
        match each:
            case Rows(table) if (first := table["_seq"][0].as_py()) < wanted.stop:
                yield Rows(table.slice(0, wanted.stop - first))
            case Missing(gone, why) if gone.start < wanted.stop:
                yield Missing(Range(gone.start, Seq(min(gone.stop, wanted.stop))), why)
            case _:
                pass
