"""The numbering log of a source as a topic: what this process has read of it, and what it appends.

Its consumer is the reader's: entries and records come through one queue. An entry of our own counts as read
when the broker says that it follows directly on what we have read."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import structlog
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from understudy.kafka.client import Connection, ensure_topic
from understudy.process.clock import steady_ms
from understudy.protocol.chosen import History
from understudy.protocol.ids import Millis, Seq
from understudy.protocol.numbering import LogEntry, Numbering, Taken
from understudy.protocol.numbering_wire import from_bytes, to_bytes

log = structlog.get_logger()
STATE_EVERY: Final = 500  # entries
PATIENCE_MS: Final = 50
"""For so long the others wait for whoever wrote last. It saves entries that do not count, nothing else."""

SEND_MS: Final = 5_000


class NumberingLog:
    """Called by one thread."""

    def __init__(self, connection: Connection, topic: str, wanted: Seq | None) -> None:
        """`wanted` is the first tuple whose record has to be found; None: only those to come. Raises
        KafkaException."""
        self.topic = topic
        self.history: History | None = None
        self.next = 0
        """The offset of the next entry to read."""

        ensure_topic(connection, topic, cleanup_policy="delete", retention_ms="-1", retention_bytes="-1")
        self._producer = connection.producer(delivery_timeout_ms=SEND_MS)
        self._me = uuid.uuid4().hex.encode()
        self._wanted = wanted
        self._mine = False
        self._last_state = 0
        self._sent = 0
        self._delivered: list[tuple[int, LogEntry]] = []
        self._states: deque[tuple[Numbering, int]] = deque()
        """States that count, with their offsets in the log."""
        self._serial, self._since = -1, steady_ms()
        self.bad = 0
        """How many records could not be read, by the entries that count."""

    @property
    def numbering(self) -> Numbering:
        assert self.history is not None
        return self.history.numbering

    def take(self, message: Any) -> None:
        """The next entry, as the consumer brings it. Raises NotUnderstood."""
        mine = dict(message.headers() or ()).get("by") == self._me
        self._take(message.offset(), from_bytes(message.value()), mine)

    def _take(self, offset: int, entry: LogEntry, mine: bool) -> None:
        if offset < self.next:
            return  # the broker's answer was faster
        self.next = offset + 1
        if self.history is None:
            if isinstance(entry, Numbering):
                self._begin(entry)
                self._states.append((entry, offset))
            return
        if self.history.take(entry):
            self._mine = mine
            self.bad += len(entry.bad) if isinstance(entry, Taken) else 0
            if isinstance(entry, Numbering):
                self._last_state = entry.serial
                self._states.append((entry, offset))
                if self._wanted is None or entry.next <= self._wanted:
                    self._begin(entry)

    def _begin(self, state: Numbering) -> None:
        """Entries before a state are not needed by whoever wants nothing before it."""
        self.history, self._last_state = History.beginning(state), state.serial

    def settled(self) -> None:
        """From here on, what has been read is kept until it is released."""
        self._wanted = Seq(-1)

    def poll(self) -> None:
        """Take up the broker's answers."""
        self._producer.poll(0)
        delivered, self._delivered = self._delivered, []
        for offset, entry in delivered:
            if offset == self.next:
                self._take(offset, entry, mine=True)

    @property
    def waiting(self) -> bool:
        """Whether an entry of ours is on its way."""
        return self._sent > 0

    @property
    def wrote_last(self) -> bool:
        return self._mine

    def is_my_turn(self, now: Millis) -> bool:
        """Whoever wrote last goes on; others take over when nothing was written for a while, though there
        was something to write."""
        if self.numbering.serial != self._serial:
            self._serial, self._since = self.numbering.serial, now
        return self._mine or now - self._since >= PATIENCE_MS

    def nothing_to_write(self, now: Millis) -> None:
        self._since = now

    def append(self, entry: LogEntry) -> None:
        self._sent += 1
        try:
            self._producer.produce(
                self.topic,
                to_bytes(entry),
                partition=0,
                headers={"by": self._me},
                on_delivery=self._answered(entry),
            )
        except (BufferError, KafkaException):
            self._sent -= 1
            raise
        self._producer.poll(0)

    def append_state_if_due(self) -> None:
        if self._mine and not self.waiting and self.numbering.serial - self._last_state >= STATE_EVERY:
            self._last_state = self.numbering.serial  # if it does not count, the next one comes as late
            self.append(self.numbering)

    @property
    def may_be_trimmed(self) -> bool:
        return len(self._states) > 1

    def trim(self, admin: AdminClient, is_gone: Callable[[Numbering], bool]) -> None:
        """Deletes the entries before the last state of which it is so: that the topic has none of the records
        before it. Does not wait."""
        upto: int | None = None
        while self.may_be_trimmed and is_gone(self._states[1][0]):
            self._states.popleft()
            upto = self._states[0][1]
        if upto is not None:
            admin.delete_records([TopicPartition(self.topic, 0, upto)])

    def _answered(self, entry: LogEntry) -> Any:
        def answered(error: Any, message: Any) -> None:
            self._sent -= 1
            if error is None:
                self._delivered.append((message.offset(), entry))
            else:
                log.warning("entry not written", topic=self.topic, error=str(error))

        return answered

    def close(self) -> None:
        with suppress(KafkaException):
            self._producer.purge()
            self._producer.poll(0)
