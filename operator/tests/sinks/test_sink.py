"""What a sink makes of the messages of its producers."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pyarrow as pa

from tests.model.manifests import job, manifest
from tests.streams.rows import rows
from understudy.local.surroundings import LocalSurroundings
from understudy.sinks.port import Life, Opening
from understudy.sinks.sink import SinkProcess
from understudy.sinks.writers import writer_of
from understudy.streams.reader import Incoming, StreamReader


def message(table: pa.Table, epoch: int, end: int | None = None) -> Incoming:
    return Incoming(table, epoch, None, 0, end)


def test_a_producer_that_was_replaced_does_not_end_the_stream(tmp_path: Path) -> None:
    """It may have numbered less than its successor, which sends again what it can't tell from new tuples."""
    found = job(manifest())
    opening = Opening(found, found.sinks[0], tmp_path / "out", Life())
    sink = SinkProcess(opening, writer_of(opening), LocalSurroundings(tmp_path / "surroundings"))
    reader = cast(StreamReader, sink._reader)
    sink.incoming(reader, message(rows(0, 5), 1))
    sink.incoming(reader, message(rows(5, 8), 2))
    sink.incoming(reader, message(rows(8, 8), 1, end=6))
    assert not sink.done.is_set()
    sink.incoming(reader, message(rows(8, 9), 2, end=9))
    assert sink.done.is_set()
