"""The source kind `kafka`: what `kafka.source` delivers, as a reader of a subjob wants it (docs/kafka.md)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

import pyarrow as pa

from understudy.kafka import source as topics
from understudy.kafka.client import Connection
from understudy.kafka.outbox import Delivery, Ended, Missing, Rows, SkipTo
from understudy.kafka.records import PROGRESS, STAMP, Reading
from understudy.kafka.security import security_of
from understudy.kafka.topic import SourceTopic
from understudy.model.brokers import OF_THE_RECORD
from understudy.model.sources import KafkaSource, Starting
from understudy.protocol.ids import Range, Seq, WallMillis
from understudy.sources.port import News, Opening, Reader

CHUNK_ROWS: Final = 20_000


class KafkaReader(Reader):
    """A thread of the source reads the topic. What it has delivered is never asked for again: a role that
    begins reads anew, from the first tuple that it lacks."""

    def __init__(self, kafka: KafkaSource, opening: Opening) -> None:
        topic = topic_of(kafka, opening)
        self._source = topics.KafkaSource(topic)
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
            case Ended():
                return replace(self._news(rows), ended=True)
            case _:
                return self._news(rows)

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

    @property
    def fault(self) -> str | None:
        return self._source.fault

    def close(self) -> None:
        self._source.stop()


def topic_of(kafka: KafkaSource, opening: Opening) -> SourceTopic:
    """Raises NoSecret."""
    schema = pa.schema([field for field in opening.schema if field.name not in OF_THE_RECORD])
    return SourceTopic(
        Connection(kafka.bootstrap_servers, security_of(opening.secrets, kafka.secret)),
        kafka.topic,
        numbering_topic(opening.identity, opening.source),
        Reading(schema, kafka.format, kafka.event_time),
        _starting(kafka),
        kafka.limit,
        round(kafka.idle_after.total_seconds() * 1000),
        kafka.on_bad_record,
        kafka.group,
    )


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
