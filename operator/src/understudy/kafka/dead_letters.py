"""Bad records, copied to a topic of their own, each once.

Which records are bad stands in the numbering log. A copy reads the log in its order and commits, in one Kafka
transaction, the records of an entry and a position that names the entry by its serial. So an entry that does
not count is not copied, and none is copied twice. A new copy fences the one before it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from understudy.kafka.client import CALL_SECONDS, ensure_topic
from understudy.kafka.position import KEY, TOPIC, Position, read_position
from understudy.kafka.sink import TRANSACTION_MS
from understudy.kafka.topic import DeadLetters, SourceTopic, describe
from understudy.process.clock import steady_ms
from understudy.protocol.ids import Seq
from understudy.protocol.numbering import Bad, Numbering, Offset, Taken, follow
from understudy.protocol.numbering_wire import from_bytes

log = structlog.get_logger()
BATCH: Final = 1_000
POSITION_EVERY: Final = 500  # entries
RETRY_SECONDS: Final = 0.5


class Copying:
    """The thread of one instance that copies while the instance leads. One that does not lead only looks how
    far the copy has come, and only while somebody wants to know."""

    def __init__(self, source: SourceTopic, letters: DeadLetters) -> None:
        self._source, self._letters = source, letters
        self._stopping = threading.Event()
        self._leading = self._asked = False
        self._thread: threading.Thread | None = None
        self._copied = 0
        self.fault: str | None = None
        """Why nothing is copied; None while all is well."""

    def lead(self, leading: bool) -> None:
        """Whether this instance copies from now on. Does not wait."""
        if leading != self._leading:
            self._leading = leading
            self._turn()

    def has_copied(self, serial: int) -> bool:
        """Whether all bad records of the entries before this serial are copied, by whichever instance."""
        lacking = self._copied < serial
        if lacking != self._asked:
            self._asked = lacking
            if not self._leading:
                self._turn()
        return not lacking

    def stop(self) -> None:
        """Returns before the thread has ended."""
        self._leading = self._asked = False
        self._turn()

    def _turn(self) -> None:
        """Another thread for another task; the former one ends by itself."""
        self._stopping.set()
        self._stopping, self.fault = threading.Event(), None
        if self._leading or self._asked:
            task = self._copy if self._leading else self._look
            name = f"dead-letters-{self._source.topic}"
            self._thread = threading.Thread(
                target=self._run, args=(task, self._stopping), name=name, daemon=True
            )
            self._thread.start()

    def _run(self, task: Callable[[threading.Event], None], stopping: threading.Event) -> None:
        while not stopping.is_set():
            try:
                task(stopping)
            except KafkaException as error:
                self._fail(stopping, error.args[0].str())
                log.warning("dead letters not copied", topic=self._letters.to, error=str(error))
            except Exception as error:  # nobody waits for this thread: what it does not say stays unknown
                self._fail(stopping, str(error))
                log.exception("dead letters not copied", topic=self._letters.to)
            stopping.wait(RETRY_SECONDS)

    def _fail(self, stopping: threading.Event, why: str) -> None:
        if not stopping.is_set():
            self.fault = f"bad records are not copied to {self._letters.to}: {why}"

    def _copy(self, stopping: threading.Event) -> None:
        copy_dead_letters(self._source, self._letters, stopping, self._note)

    def _look(self, _: threading.Event) -> None:
        self._note(read_position(self._source.connection, self._letters.position).next)

    def _note(self, copied: int) -> None:
        self._copied, self.fault = max(self._copied, copied), None


def copy_dead_letters(
    source: SourceTopic,
    letters: DeadLetters,
    stopping: threading.Event,
    note: Callable[[int], None] = lambda copied: None,
) -> None:
    """Until asked to stop. `note` hears the serial of the first entry that is not copied. Raises
    KafkaException, also if another copy has begun: if it was begun by mistake, this one may begin again."""
    ensure_topic(source.connection, letters.position, **TOPIC)
    producer = source.connection.producer(
        transactional_id=letters.position, transaction_timeout_ms=TRANSACTION_MS
    )
    producer.init_transactions(CALL_SECONDS)
    done: int = read_position(source.connection, letters.position).next
    note(done)
    consumer = source.connection.consumer()
    try:
        low, _ = consumer.get_watermark_offsets(TopicPartition(source.log, 0), timeout=CALL_SECONDS)
        consumer.assign([TopicPartition(source.log, 0, low)])
        state: Numbering | None = None
        while not stopping.is_set():
            for message in consumer.consume(BATCH, 0.1):
                if message.error() is not None:
                    _raise_unless_end(message.error())
                    continue
                before, entry = state, from_bytes(message.value())
                state = follow(before, entry)
                if state is None or before is None or state.serial <= max(before.serial, done):
                    continue
                bad = entry.bad if isinstance(entry, Taken) else ()
                if bad or _position_is_due(source, state, done):
                    _commit(source, letters, producer, bad, before.topic, state.serial)
                    done = state.serial
                    note(done)
                if stopping.is_set():
                    return
    finally:
        consumer.close()


def _position_is_due(source: SourceTopic, state: Numbering, done: int) -> bool:
    """Without a bad record: now and then, because the log is not trimmed beyond the position; and at the end
    of the stream, because the stream ends when all is copied."""
    ended = source.limit is not None and state.next >= source.limit
    return ended or state.serial - done >= POSITION_EVERY


def _commit(
    source: SourceTopic, letters: DeadLetters, producer: Producer, bad: Sequence[Bad], topic: str, serial: int
) -> None:
    """`topic`: the id of the topic that has the bad records."""
    found = _fetched(source, bad, topic)
    producer.begin_transaction()
    for each in bad:
        record, headers = found.get((each.partition, each.offset)), _headers(source.topic, each)
        if record is not None:
            headers = [*(record.headers() or ()), *headers]
        value, key = (record.value(), record.key()) if record is not None else (None, None)
        producer.produce(letters.to, value, key, headers=headers)
        producer.poll(0)
    producer.produce(letters.position, Position(Seq(serial)).to_bytes(), KEY, partition=0)
    producer.commit_transaction(CALL_SECONDS)


def _headers(topic: str, bad: Bad) -> list[tuple[str, bytes]]:
    place = {"topic": topic, "partition": bad.partition, "offset": bad.offset, "why": bad.why}
    return [(f"understudy.{name}", str(value).encode()) for name, value in place.items()]


def _fetched(source: SourceTopic, bad: Sequence[Bad], topic: str) -> dict[tuple[int, int], Any]:
    """The records by partition and offset, without those that the topic no longer holds: of these only place
    and reason are copied."""
    if not bad or describe(source).id != topic:
        return {}
    consumer = source.connection.consumer()
    try:
        partitions = sorted({each.partition for each in bad})
        return {
            place: record
            for partition in partitions
            for place, record in _of_partition(
                consumer, source.topic, partition, [b.offset for b in bad if b.partition == partition]
            ).items()
        }
    finally:
        consumer.close()


def _of_partition(
    consumer: Consumer, topic: str, partition: int, offsets: Sequence[Offset]
) -> dict[tuple[int, int], Any]:
    wanted, found, last = set(offsets), dict[tuple[int, int], Any](), max(offsets)
    low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=CALL_SECONDS)
    at = max(low, min(offsets))
    consumer.assign([TopicPartition(topic, partition, at)])
    deadline = steady_ms() + int(CALL_SECONDS * 1000)
    while at <= min(last, high - 1):
        if steady_ms() > deadline:
            what = f"bad records of partition {partition} were not read in time"
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, what))
        for message in consumer.consume(BATCH, 0.1):
            if message.error() is not None:
                _raise_unless_end(message.error())
                return found
            at = message.offset() + 1
            if message.offset() in wanted:
                found[partition, message.offset()] = message
    return found


def _raise_unless_end(error: Any) -> None:
    if error.code() != KafkaError._PARTITION_EOF:
        raise KafkaException(error)
