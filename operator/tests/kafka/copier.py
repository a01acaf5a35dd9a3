"""One life of a process that copies a topic to another, as a subjob and a sink do it together.

usage: python -m tests.kafka.copier BROKER FROM TO LIFE [STOP_AT]

With STOP_AT it stops itself (SIGSTOP) when it has written so many tuples that it has not committed. It exits
with 3 if a later life has taken its place.
"""

from __future__ import annotations

import os
import signal
import sys
import time

import pyarrow as pa

from understudy.kafka.client import Connection
from understudy.kafka.outbox import Rows
from understudy.kafka.records import Reading
from understudy.kafka.sink import Fenced, KafkaSink, SinkTopic
from understudy.kafka.source import KafkaSource
from understudy.kafka.topic import SourceTopic

SCHEMA = pa.schema([("n", pa.int64())])
FENCED = 3


def copy(broker: str, from_: str, to: str, life: int, stop_at: int | None) -> int:
    connection = Connection(broker)
    source = KafkaSource(SourceTopic(connection, from_, f"understudy.{from_}", Reading(SCHEMA)))
    try:
        sink = KafkaSink(SinkTopic(connection, to, f"understudy.{to}.sink"), life)
        source.begin(sink.next)
        written = 0
        due = time.monotonic()
        while True:
            match source.poll():
                case Rows(table):
                    sink.write(table.select(["_seq", "n", "_partition", "_offset"]))
                    written += table.num_rows
                    if stop_at is not None and written >= stop_at:
                        os.kill(os.getpid(), signal.SIGSTOP)
                        stop_at = None
                case None:
                    time.sleep(0.002)
                case other:
                    raise AssertionError(other)
            if time.monotonic() >= due:
                sink.commit()
                due = time.monotonic() + sink.commit_ms / 1000
    except Fenced:
        return FENCED


if __name__ == "__main__":
    broker, from_, to, life, *more = sys.argv[1:]
    sys.exit(copy(broker, from_, to, int(life), int(more[0]) if more else None))
