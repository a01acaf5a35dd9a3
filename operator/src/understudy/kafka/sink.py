"""A topic as a sink: tuples and the position behind them in one transaction.

Whoever reads committed records sees each tuple once. The transactional id is the sink's: when a life of the
sink begins, the broker ends the open transaction of the one before and refuses all it still sends. What a
life has not committed it keeps in memory and sends again, after any error that the broker recovers from.

| the broker says | then |
|---|---|
| the transaction must be aborted | it is, and all its tuples are sent in the next one |
| this producer is fenced, or can't go on | this life ends if a later one has begun, else it begins again |
| nothing | wait, and try again |

Fencing alone does not say by whom: the broker also fences a producer whose transaction timed out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import structlog
from confluent_kafka import KafkaException, Producer

from understudy.kafka.client import CALL_SECONDS, Connection, ensure_topic
from understudy.kafka.encode import json_values, keys
from understudy.kafka.position import KEY, TOPIC, Position, read_position
from understudy.protocol.ids import Seq

log = structlog.get_logger()
COMMIT_MS: Final = 100
TRANSACTION_MS: Final = 10_000
"""A sink that has died holds readers of committed records up for so long, if no successor begins."""

RETRY_SECONDS: Final = 0.2
ABORT_SECONDS: Final = 2.0
OWN: Final = {"_seq", "_ts", "_wm"}


class Fenced(OSError):
    """A later life of the sink has begun."""


@dataclass(frozen=True, slots=True)
class SinkTopic:
    connection: Connection
    topic: str
    position: str
    """The topic of the position; the transactional id has the same name."""

    key: str | None = None
    """The column whose value is the record's key."""

    encode: Callable[[pa.Table], list[bytes]] = json_values


class KafkaSink:
    """`write` and `commit` wait for the broker, however long it is away; `stop` ends that, from any thread.
    All else is called by one thread."""

    commit_ms: int = COMMIT_MS

    def __init__(self, sink: SinkTopic, life: int) -> None:
        """Fences off all earlier lives. Raises Fenced if a later one has begun."""
        self._sink, self._life = sink, life
        self._stopping = threading.Event()
        self._waiting: list[pa.Table] = []
        self._producer: Producer
        self._open = False
        self.next = Seq(0)
        """All tuples before this are committed."""

        self.forgotten = 0
        """Tuples whose commit was answered, and that the broker has forgotten, by its own position."""

        self._position = Position()
        self._lasting(self._take)
        self.wrote_at_ms = self._position.at_ms
        self._written = self.next
        self._lasting(self._claim)

    def write(self, rows: pa.Table) -> None:
        """The next tuples, by `_seq`. Raises Fenced."""
        self._waiting.append(rows)
        self._written = Seq(rows["_seq"][-1].as_py() + 1)
        self._lasting(lambda: self._send(rows), again=self._send_all)

    def skip(self, to: Seq) -> None:
        """The tuples before this that were not written are lost or given up. Counts with the next commit."""
        self._written = Seq(max(self._written, to))

    def commit(self) -> None:
        """What was written is seen by readers of committed records, and `next` is past it. Raises Fenced."""
        if self._written != self.next:
            self._lasting(self._commit, again=self._send_all_and_commit)
            self._waiting.clear()

    def stop(self) -> None:
        """Wait for the broker no more."""
        self._stopping.set()

    def close(self) -> None:
        """What is not committed is not written, and holds no reader up."""
        self.stop()
        if self._open:
            with suppress(KafkaException):
                self._producer.abort_transaction(ABORT_SECONDS)
        self._abandon()

    # --- one attempt each

    def _take(self) -> None:
        """Fence the lives before, and see how far they came. Twice, since to fence by mistake costs a
        restart."""
        sink = self._sink
        ensure_topic(sink.connection, sink.position, **TOPIC)
        self._check(read_position(sink.connection, sink.position))
        self._producer = sink.connection.producer(
            transactional_id=sink.position,
            transaction_timeout_ms=TRANSACTION_MS,
            delivery_timeout_ms=TRANSACTION_MS,
            linger_ms=5,
            compression_type="lz4",
        )
        self._open = False
        self._producer.init_transactions(CALL_SECONDS)
        self._position = read_position(sink.connection, sink.position)
        self._check(self._position)
        self._notice_what_is_forgotten(self._position.next)
        self.next = max(self.next, self._position.next)

    def _notice_what_is_forgotten(self, position: Seq) -> None:
        """A broker that was killed can forget what it has confirmed (KAFKA-20734). These tuples are acked:
        nobody holds them, and some of them may be there."""
        if position < self.next:
            self.forgotten += self.next - position
            log.error("broker forgot a commit", topic=self._sink.topic, start=position, stop=self.next)

    def _check(self, found: Position) -> None:
        if found.life > self._life:
            raise Fenced(f"life {found.life} writes to {self._sink.topic} now; this is life {self._life}")

    def _claim(self) -> None:
        """From here on, an earlier life that looks finds this one."""
        self._begin()
        self._end(self.next)

    def _send(self, rows: pa.Table) -> None:
        self._begin()
        sink, producer = self._sink, self._producer
        columns = [name for name in rows.column_names if name not in OWN]
        values = sink.encode(rows.select(columns))
        known = keys(rows[sink.key]) if sink.key is not None else [None] * rows.num_rows
        seqs = rows["_seq"].to_pylist()
        for seq, key, value in zip(seqs, known, values, strict=True):
            headers = [("_seq", b"%d" % seq)]
            while True:
                try:
                    producer.produce(sink.topic, value, key, headers=headers)
                    break
                except BufferError:
                    producer.poll(0.01)
        producer.poll(0)

    def _send_all(self) -> None:
        """What is not committed, from memory."""
        for rows in self._waiting:
            first = rows["_seq"][0].as_py()
            left = rows.slice(max(0, self.next - first))
            if left.num_rows:
                self._send(left)

    def _commit(self) -> None:
        self._begin()
        self._end(self._written)

    def _send_all_and_commit(self) -> None:
        if self.next < self._written:  # else the commit had come through
            self._send_all()
            self._commit()

    def _begin(self) -> None:
        if not self._open:
            self._producer.begin_transaction()
            self._open = True

    def _end(self, position: Seq) -> None:
        value = Position(position, self._life).to_bytes()
        self._producer.produce(self._sink.position, value, KEY, partition=0)
        self._producer.commit_transaction(CALL_SECONDS)
        self._open = False
        self.next = position

    # --- until it has worked

    def _lasting(self, attempt: Callable[[], None], again: Callable[[], None] | None = None) -> None:
        """Try, and after an error bring the producer into a state from which `again` can work."""
        failed: KafkaException | None = None
        while True:
            try:
                if failed is not None and attempt != self._take:
                    self._recover(failed)
                ((again or attempt) if failed is not None else attempt)()
                return
            except KafkaException as error:
                failed = error
                log.warning("kafka sink tries again", topic=self._sink.topic, error=str(error))
            if self._stopping.wait(RETRY_SECONDS):
                raise OSError(
                    f"stopped while the broker of {self._sink.topic} was away: {failed}"
                ) from failed

    def _recover(self, failed: KafkaException) -> None:
        if failed.args[0].txn_requires_abort():
            self._producer.abort_transaction(CALL_SECONDS)
            self._open = False
        else:
            self._abandon()
            self._take()

    def _abandon(self) -> None:
        """Leave a transaction to whoever fences this producer next."""
        if hasattr(self, "_producer"):
            with suppress(KafkaException):  # one that was fenced says so again and again
                self._producer.purge()
                self._producer.poll(0)
