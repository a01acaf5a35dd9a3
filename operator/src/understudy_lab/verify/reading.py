"""What a sink wrote, read back: by a reader of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import assert_never

from understudy.model.sinks import ConsoleSink, FilesSink, KafkaSink, Sink
from understudy_lab.verify.rows import Row, Torn, read_sink, rows_of


def read_back(sink: Sink, folder: Path) -> Sequence[Row] | None:
    """The tuples, in the order in which they were written; None if the sink keeps none. Raises Torn."""
    match sink.target:
        case FilesSink(lines=True):
            return read_sink(folder)
        case FilesSink():
            return read_parquet(folder)
        case ConsoleSink() | KafkaSink():
            return None
        case target:
            assert_never(target)


def read_parquet(folder: Path) -> list[Row]:
    """The files of the manifest. Raises Torn."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from understudy.sinks.manifest import entries

    found: list[Row] = []
    try:
        for entry in entries(folder):
            content = (folder / entry.file).read_bytes()
            entry.check(content)
            found += rows_of(pq.read_table(pa.BufferReader(content)))
    except OSError as error:
        raise Torn(str(error)) from error
    return found
