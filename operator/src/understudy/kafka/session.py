"""One session of reading a topic: from opening the consumer to the first thing that can't be handled in
it."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition

from understudy.kafka.client import CALL_SECONDS
from understudy.kafka.numbering_log import NumberingLog
from understudy.kafka.outbox import Ended, Missing, Outbox, Rows, SkipTo
from understudy.kafka.position import read_position
from understudy.kafka.records import PROGRESS, STAMP, Records
from understudy.kafka.topic import Described, SourceTopic, describe, described, first_state, watermarks
from understudy.model.sources import OnBadRecord
from understudy.process.clock import steady_ms
from understudy.protocol.chosen import Chosen
from understudy.protocol.ids import Millis, Range, Seq
from understudy.protocol.interleaving import Partitions, propose
from understudy.protocol.numbering import Bad, Numbering, Offset, Recreated, Removed

log = structlog.get_logger()
POLL_SECONDS: Final = 0.005
BATCH: Final = 5_000
ENTRY_ROWS: Final = 20_000
WAITING_ROWS: Final = 50_000  # of one partition: then it is not fetched for a while
HOLD_MS: Final = 500
"""A partition that has sent nothing for so long, although it has not been read to its end, holds no other
back."""

DESCRIBE_MS: Final = 5_000
SHOW_MS: Final = 1_000
COUNT_MS: Final = 200
TRIM_MS: Final = 10_000


class Stopped(Exception):
    """The topic can't be read on before somebody decides; the text says what is wrong."""


class Again(Exception):
    """The next session can go on."""


class Session:
    def __init__(
        self,
        source: SourceTopic,
        start: Seq | None,
        outbox: Outbox,
        stopping: threading.Event,
        writes: bool = True,
    ) -> None:
        """One that does not write delivers what others have numbered."""
        self._source, self._outbox, self._stopping, self._writes = source, outbox, stopping, writes
        self.delivered = start
        """All tuples before this are in the outbox, or are known to be missing."""

        self._admin = source.connection.admin()
        group = {"group_id": source.group} if source.group is not None else {}
        self._consumer: Consumer = source.connection.consumer(**group)
        self._records = Records(source.reading)
        self._heard: dict[int, Millis] = {}
        self._at_end: set[int] = set()
        self._paused: set[int] = set()
        self._asked: tuple[Millis, Future[Any] | None] = (steady_ms(), None)
        self._log: NumberingLog
        self._bad_record: str | None = None
        self._shown = self._counted = self._trimmed = steady_ms()
        self._ended = False

    def run(self) -> None:
        """Until asked to stop. Raises KafkaException, Again, Stopped or NotUnderstood."""
        self.open()
        while not self._stopping.is_set():
            self.step()

    def close(self) -> None:
        self._consumer.close()
        if hasattr(self, "_log"):
            self._log.close()

    @property
    def _chosen(self) -> Chosen:
        assert self._log.history is not None
        return self._log.history.chosen

    @property
    def _at(self) -> Seq:
        assert self.delivered is not None
        return self.delivered

    @property
    def numbered(self) -> Seq:
        """The end of the tuples that are numbered by now."""
        limit = self._source.limit
        return self._chosen.next if limit is None else Seq(min(self._chosen.next, limit))

    # --- opening

    def open(self) -> None:
        known = describe(self._source)
        self._log = NumberingLog(self._source.connection, self._source.log, self.delivered)
        self._read_log(known)
        self._log.settled()
        if self.delivered is None:
            self.delivered = self._log.numbering.next
            self._outbox.put(SkipTo(self.delivered))
        if self.delivered > self._log.numbering.next:
            raise Stopped(
                f"the job has read to {self.delivered}, and its numbering ends at {self._log.numbering.next}"
            )
        self._miss(
            max(self._chosen.start, self._chosen.unreadable_before), "their records are not kept any more"
        )
        if self._is_read(known.id):
            begin = self._chosen.begin_at(self._at, self._log.numbering)
            for partition in sorted({*begin, *known.partitions}):
                self._begin(partition, begin.get(partition, Offset(0)))
        self._outbox.fault = None

    def _read_log(self, known: Described) -> None:
        """To its present end. If it is empty, this source begins now."""
        at = TopicPartition(self._source.log, 0)
        low, high = self._consumer.get_watermark_offsets(at, timeout=CALL_SECONDS)
        self._log.next = low
        self._consumer.assign([TopicPartition(self._source.log, 0, low)])
        if low == high:
            self._log.append(first_state(self._source, self._consumer, known))
        deadline = steady_ms() + int(CALL_SECONDS * 1000)
        while self._log.next < high or self._log.history is None:
            if self._stopping.is_set() or steady_ms() > deadline:
                raise Again("the numbering log was not read in time")
            for message in self._consumer.consume(BATCH, POLL_SECONDS):
                if message.error() is None:
                    self._log.take(message)
                    deadline = steady_ms() + int(CALL_SECONDS * 1000)
            self._log.poll()

    def _begin(self, partition: int, offset: Offset) -> None:
        self._records.begin(partition, offset)
        self._heard[partition] = steady_ms()
        self._consumer.incremental_assign([TopicPartition(self._source.topic, partition, offset)])

    # --- reading

    def step(self) -> None:
        first = self._consumer.poll(POLL_SECONDS)
        self._take([first, *self._consumer.consume(BATCH, 0)] if first is not None else [])
        self._log.poll()
        self._forget_taken()
        self._deliver()
        now = steady_ms()
        self._write(now)
        self._pause()
        self._look_at_topic(now)
        self._show_progress(now)
        self._count_waiting(now)
        self._chosen.trim(Seq(min(self._outbox.released, self._at)))
        self._trim_log(now)

    def _take(self, messages: Sequence[Any]) -> None:
        """In their order: what is said of a partition holds after the records before it."""
        records: list[Any] = []
        for message in messages:
            if message.error() is None and message.topic() == self._source.topic:
                records.append(message)
                continue
            self._take_records(records)
            records = []
            if (error := message.error()) is not None:
                self._handle(message, error)
            else:
                self._take_entry(message)
        self._take_records(records)

    def _take_entry(self, message: Any) -> None:
        topic = self._log.numbering.topic
        self._log.take(message)
        if self._log.numbering.topic != topic:
            self._deliver()
            raise Again("the topic was made again")

    def _take_records(self, messages: Sequence[Any]) -> None:
        if not messages or self._bad_record is not None:
            return
        bad = self._records.add(messages, keep_bad=self._source.on_bad is OnBadRecord.SKIP)
        if bad and self._source.on_bad is OnBadRecord.FAIL:
            self._stop_at(bad[0])
        now = steady_ms()
        for partition in {message.partition() for message in messages}:
            self._heard[partition] = now
            self._at_end.discard(partition)

    def _stop_at(self, bad: Bad) -> None:
        where = f"partition {bad.partition}, offset {bad.offset}"
        self._bad_record = f"{where} can't be read: {bad.why}"
        self._outbox.fault = f"{self._source.topic}: {self._bad_record}"
        log.error(
            "bad record", topic=self._source.topic, partition=bad.partition, offset=bad.offset, why=bad.why
        )

    def _handle(self, message: Any, error: Any) -> None:
        match error.code():
            case KafkaError._PARTITION_EOF if message.topic() == self._source.topic:
                self._at_end.add(message.partition())
                self._records.partitions[message.partition()].nothing_before(Offset(message.offset()))
            case KafkaError._AUTO_OFFSET_RESET | KafkaError.OFFSET_OUT_OF_RANGE:
                if message.topic() == self._source.log:
                    raise Again("the numbering log was trimmed")
                self._out_of_range(message.partition())
            case KafkaError._PARTITION_EOF:
                pass
            case _:
                raise KafkaException(error)

    def _out_of_range(self, partition: int) -> None:
        low, high = watermarks(self._source, self._consumer, partition)
        found = self._records.partitions[partition]
        if found.next > high and describe(self._source).id != self._log.numbering.topic:
            raise Again("the topic was made again")
        if found.next > high:
            raise Stopped(
                f"partition {partition} ends at {high}, and was read to {found.next}: it lost records"
            )
        taken = max(found.next, self._log.numbering.place(partition).next)
        if taken < low:
            log.error("records removed", topic=self._source.topic, partition=partition, start=taken, stop=low)
            found.unproposed.append(Removed(partition, Offset(taken), Offset(low)))
        found.nothing_before(Offset(low))
        self._consumer.incremental_unassign([TopicPartition(self._source.topic, partition)])
        self._consumer.incremental_assign([TopicPartition(self._source.topic, partition, found.next)])

    # --- delivering

    def _forget_taken(self) -> None:
        for partition, place in self._log.numbering.places.items():
            if (found := self._records.partitions.get(partition)) is not None:
                found.taken(place.next)

    def _deliver(self) -> None:
        limit, end = self._source.limit, self.numbered
        while self._at < end and not self._outbox.full:
            if not self._deliver_some(Range(self._at, Seq(min(end, self._at + ENTRY_ROWS)))):
                break
        if limit is not None and self._at >= limit and not self._ended:
            self._ended = True
            self._outbox.put(Ended(Seq(limit), self._log.numbering.serial))

    def _deliver_some(self, wanted: Range) -> bool:
        """As many as are here. False: the next one is on its way."""
        tables: list[pa.Table] = []
        missing = 0
        for numbered in self._chosen.runs(wanted):
            rest = numbered.run
            while len(rest) and not missing:
                rows, after = self._records.take(rest)
                if rows is not None:
                    tables.append(rows)
                elif after == rest:
                    break
                else:
                    missing = len(rest) - len(after)
                rest = after
            if len(rest) or missing:
                break
        self._put(tables)
        self._miss(Seq(self._at + missing), "their records were removed from the topic")
        return bool(tables or missing)

    def _put(self, tables: list[pa.Table]) -> None:
        if tables:
            rows = numbered_rows(pa.concat_tables(tables), self._at, self._chosen)
            self._outbox.put(Rows(rows))
            self.delivered = Seq(self._at + rows.num_rows)

    def _miss(self, upto: Seq, why: str) -> None:
        if self._at < upto:
            gone = Range(self._at, upto)
            log.error("tuples lost", topic=self._source.topic, start=gone.start, stop=gone.stop, why=why)
            self._outbox.put(Missing(gone, why))
            self.delivered = upto

    # --- writing

    def _write(self, now: Millis) -> None:
        if not self._writes or self._log.waiting or self._outbox.full:
            return
        self._log.append_state_if_due()
        if self._log.waiting or not self._log.is_my_turn(now):
            return
        limit, numbering = self._source.limit, self._log.numbering
        most = ENTRY_ROWS if limit is None else max(0, min(ENTRY_ROWS, limit - numbering.next))
        known = self._partitions(now)
        entry = propose(numbering, known, most)
        if entry is not None and limit is not None and numbering.next + entry.count >= limit:
            entry = propose(numbering, replace(known, active=frozenset()), most)  # no partition has more
        if entry is None:
            self._log.nothing_to_write(now)
        else:
            self._log.append(entry)

    def _partitions(self, now: Millis) -> Partitions:
        known = self._records.partitions
        fetched = {number: found.unproposed for number, found in known.items() if found.unproposed}
        awaited = {p for p in known if not self._is_at_end(p) and now - self._heard[p] < HOLD_MS}
        active = {p for p in known if now - self._heard[p] < self._source.idle_after_ms}
        return Partitions(fetched, awaited, active)

    def _is_at_end(self, partition: int) -> bool:
        if partition in self._at_end:
            return True
        return 0 <= self._end_of(partition) <= self._records.partitions[partition].next

    def _end_of(self, partition: int) -> int:
        """The offset after the last record, as the broker said it last; less than 0 if it has not."""
        at = TopicPartition(self._source.topic, partition)
        end: int = self._consumer.get_watermark_offsets(at, cached=True)[1]
        return end

    # --- the topic

    def _pause(self) -> None:
        known = self._records.partitions
        full = {p for p, found in known.items() if found.rows >= WAITING_ROWS}
        if full - self._paused:
            self._consumer.pause(self._of(full - self._paused))
        if self._paused - full:
            self._consumer.resume(self._of(self._paused - full))
        self._paused = full

    def _of(self, partitions: set[int]) -> list[TopicPartition]:
        return [TopicPartition(self._source.topic, partition) for partition in sorted(partitions)]

    def _look_at_topic(self, now: Millis) -> None:
        """Partitions that were added, a topic that was made again: asked for without waiting."""
        at, asked = self._asked
        if asked is not None and asked.done():
            self._asked = (now, None)
            self._renew(described(asked.result()))
        elif asked is None and now - at >= DESCRIBE_MS:
            wanted = TopicCollection([self._source.topic])
            self._asked = (now, self._admin.describe_topics(wanted)[self._source.topic])

    def _show_progress(self, now: Millis) -> None:
        """To the group, by whoever writes the log. If it fails, the next time will do."""
        if self._source.group is None or not self._log.wrote_last or now - self._shown < SHOW_MS:
            return
        self._shown = now
        places = self._log.numbering.places.items()
        shown = [TopicPartition(self._source.topic, partition, place.next) for partition, place in places]
        self._consumer.commit(offsets=shown, asynchronous=True)

    def _count_waiting(self, now: Millis) -> None:
        """By what the broker said last of each partition; offsets without a record count, too."""
        if now - self._counted < COUNT_MS:
            return
        self._counted = now
        places = self._log.numbering.places
        ends = {partition: self._end_of(partition) for partition in self._records.partitions}
        behind = sum(max(0, end - places[p].next) for p, end in ends.items() if p in places)
        self._outbox.bad = self._log.bad
        self._outbox.waiting = behind + self._chosen.next - self._at

    def _trim_log(self, now: Millis) -> None:
        """By whoever writes the log."""
        if now - self._trimmed < TRIM_MS or not (self._log.wrote_last and self._log.may_be_trimmed):
            return
        self._trimmed = now
        lows = {p: watermarks(self._source, self._consumer, p)[0] for p in self._records.partitions}
        copied = self._copied()
        self._log.trim(self._admin, lambda state: state.serial <= copied and self._is_gone(state, lows))

    def _copied(self) -> float:
        """The bad records of the entries before this serial need not be copied any more."""
        letters = self._source.dead_letters
        if letters is None:
            return math.inf
        try:
            return read_position(self._source.connection, letters.position).next
        except KafkaException:
            return 0  # nothing is copied yet

    def _is_gone(self, state: Numbering, lows: Mapping[int, int]) -> bool:
        """Whether the topic has none of the records before this state any more."""
        if state.topic != self._log.numbering.topic:
            return True
        return all(place.next <= lows.get(partition, 0) for partition, place in state.places.items())

    def _renew(self, found: Described) -> None:
        if self._is_read(found.id):
            for partition in sorted(found.partitions - self._records.partitions.keys()):
                self._begin(partition, self._log.numbering.place(partition).next)

    def _is_read(self, topic: str) -> bool:
        """Whether this is the topic that is numbered. If it was made again, the log says so from now on."""
        numbering = self._log.numbering
        if topic != numbering.topic and self._writes and not self._log.waiting:
            log.error("topic made again", topic=self._source.topic, id=topic)
            self._log.append(Recreated(numbering.serial, topic))
        return topic == numbering.topic


def numbered_rows(rows: pa.Table, first: Seq, chosen: Chosen) -> pa.Table:
    """With the seq of each, and how far event time has come with it."""
    end = Seq(first + rows.num_rows)
    at = [(first, chosen.progress(first)), *chosen.changes(Range(first, end))]
    counts = [stop - start for start, stop in pairwise([*(seq for seq, _ in at), end])]
    passed = [pa.repeat(pa.scalar(time, pa.int64()), n) for (_, time), n in zip(at, counts, strict=True)]
    seqs = pa.array(np.arange(first, end))
    return rows.add_column(0, "_seq", seqs).append_column(PROGRESS, pa.chunked_array(passed).cast(STAMP))
