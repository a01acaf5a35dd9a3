"""The writer of each kind of sink."""

from __future__ import annotations

from typing import assert_never

from understudy.model.sinks import ConsoleSink, DeltaSink, FilesSink, KafkaSink, PostgresSink
from understudy.sinks.console import ConsoleLog
from understudy.sinks.files import LineLog
from understudy.sinks.port import Opening, Writer
from understudy.sinks.rolling import Rolling


def writer_of(opening: Opening) -> Writer:
    """Raises Superseded if a later life of the sink has begun, or another OSError if it can't write. Only
    sinks that need a client import it."""
    match opening.sink.target:
        case FilesSink(lines=True):
            return LineLog(opening.output, opening.life, disk=opening.disk)
        case FilesSink() as files:
            from understudy.sinks.parquet import ParquetLog

            return ParquetLog(opening.output, opening.life, Rolling.of(files.roll), opening.disk)
        case DeltaSink() as delta:
            from understudy.sinks.delta import DeltaLog

            name = f"{opening.identity or opening.job.name}.sink.{opening.sink.name}"
            return DeltaLog(opening.output, opening.life, name, Rolling.of(delta.roll), opening.disk)
        case ConsoleSink():
            return ConsoleLog(opening.disk)
        case KafkaSink() as kafka:
            from understudy.sinks.kafka import KafkaWriter

            return KafkaWriter(kafka, opening)
        case PostgresSink() as postgres:
            from understudy.sinks.postgres import PostgresTable

            return PostgresTable(postgres, opening)
        case target:
            assert_never(target)
