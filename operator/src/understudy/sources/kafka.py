"""The source kind `kafka`: what `kafka.source` delivers, as a reader of a subjob wants it (docs/kafka.md)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

import pyarrow as pa

from understudy.kafka import source as topics
from understudy.kafka.client import Connection
from understudy.kafka.dead_letters import Copying
from understudy.kafka.outbox import Delivery, Ended, Missing, Rows, SkipTo
from understudy.kafka.records import PROGRESS, STAMP, Reading
from understudy.kafka.security import security_of
from understudy.kafka.topic import DeadLetters, SourceTopic
from understudy.model.brokers import OF_THE_RECORD
from understudy.model.sources import Encoding, KafkaSource, OnBadRecord, Starting
from understudy.protocol.ids import Range, Seq, WallMillis
from understudy.sources.port import News, Opening, Reader

CHUNK_ROWS: Final = 20_000


class KafkaReader(Reader):
    """A thread of the source reads the topic. What it has delivered is never asked for again: a role that
    begins reads anew, from the first tuple that it lacks."""

    def __init__(self, kafka: KafkaSource, opening: Opening) -> None:
        topic = topic_of(kafka, opening)
        self._source = topics.KafkaSource(topic)
        letters = topic.dead_letters if opening.keeper else None
        self._copying = Copying(topic, letters) if letters is not None else None
        self._none = rows_schema(topic).empty_table()
        self._next = Seq(0)
        self._kept: Delivery | None = None

    def begin(self, start: Seq | None, elapsed_ms: int) -> Seq:
        self._source.begin(start)
        self._next, self._kept = start or Seq(0), None
        return self._next

    def poll(self, elapsed_ms: int) -> News:
        rows = self._rows()
        if rows.num_rows:
            return self._news(rows)
        kept, self._kept = self._kept, None
        match kept:
            case Missing(gone):
                return self._skip(gone)
            case SkipTo(seq):
                return self._skip(Range(Seq(0), seq))
            case Ended() if not self._has_copied(kept):
                self._kept = kept
                return self._news(rows)
            case Ended():
                return replace(self._news(rows), ended=True)
            case _:
                return self._news(rows)

    def _has_copied(self, end: Ended) -> bool:
        """A stream has not ended before its bad records are copied: the job would stop too early."""
        return self._copying is None or self._copying.has_copied(end.serial)

    def _rows(self) -> pa.Table:
        """All rows that are here, up to something else."""
        tables = [self._none]
        while self._kept is None and sum(table.num_rows for table in tables) < CHUNK_ROWS:
            match self._source.poll():
                case Rows(table):
                    tables.append(table)
                case None:
                    break
                case other:
                    self._kept = other
        return pa.concat_tables(tables) if len(tables) > 1 else self._none

    def _skip(self, skipped: Range) -> News:
        self._next = skipped.stop
        return replace(self._news(self._none), skipped=skipped)

    def _news(self, rows: pa.Table) -> News:
        self._next = Seq(self._next + rows.num_rows)
        self._source.release(self._next)
        return News(self._next, rows, waiting=self._source.waiting, bad=self._source.bad)

    def rows(self, wanted: Range) -> None:
        return None

    def lead(self, leading: bool) -> None:
        if self._copying is not None:
            self._copying.lead(leading)

    @property
    def fault(self) -> str | None:
        return self._source.fault or (self._copying.fault if self._copying is not None else None)

    def close(self) -> None:
        self._source.stop()
        if self._copying is not None:
            self._copying.stop()


def topic_of(kafka: KafkaSource, opening: Opening) -> SourceTopic:
    """Raises NoSecret."""
    schema = pa.schema([field for field in opening.schema if field.name not in OF_THE_RECORD])
    avro = kafka.schema_ if kafka.format is Encoding.AVRO else None
    return SourceTopic(
        Connection(kafka.bootstrap_servers, security_of(opening.secrets, kafka.secret)),
        kafka.topic,
        numbering_topic(opening.identity, opening.source),
        Reading(schema, kafka.format, kafka.event_time, avro),
        _starting(kafka),
        kafka.limit,
        round(kafka.idle_after.total_seconds() * 1000),
        OnBadRecord.FAIL if kafka.on_bad_record is OnBadRecord.FAIL else OnBadRecord.SKIP,
        kafka.group,
        _dead_letters(kafka, opening),
    )


def _dead_letters(kafka: KafkaSource, opening: Opening) -> DeadLetters | None:
    if kafka.dead_letter is None:
        return None
    return DeadLetters(kafka.dead_letter, f"{opening.identity}.dead.{opening.source}")


def rows_schema(topic: SourceTopic) -> pa.Schema:
    return pa.schema([("_seq", pa.int64()), *topic.reading.columns, (PROGRESS, STAMP)])


def numbering_topic(identity: str, source: str) -> str:
    return f"{identity}.source.{source}"


def _starting(kafka: KafkaSource) -> Starting | WallMillis:
    match kafka.starting:
        case datetime() as moment:
            return WallMillis(round(moment.timestamp() * 1000))
        case named:
            return named
