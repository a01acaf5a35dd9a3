"""The writer of each kind of sink."""

from __future__ import annotations

from typing import assert_never

from understudy.model.sinks import ConsoleSink, FilesSink, KafkaSink
from understudy.sinks.console import ConsoleLog
from understudy.sinks.files import LineLog
from understudy.sinks.port import Opening, Writer


def writer_of(opening: Opening) -> Writer:
    """Raises Superseded if a later life of the sink has begun, or another OSError if it can't write."""
    match opening.sink.target:
        case FilesSink():
            return LineLog(opening.output, opening.life, disk=opening.disk)
        case ConsoleSink():
            return ConsoleLog(opening.disk)
        case KafkaSink() as kafka:
            from understudy.sinks.kafka import KafkaWriter  # only sinks that need it pay for the client

            return KafkaWriter(kafka, opening)
        case target:
            assert_never(target)
