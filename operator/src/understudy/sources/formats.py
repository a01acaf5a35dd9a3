"""The rows of one file, a batch at a time: memory does not grow with the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, assert_never

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from understudy.model.sources import Format

BATCH_ROWS: Final = 20_000
BLOCK_BYTES: Final = 4 << 20
"""What is parsed at once of a text file. A line may not be longer."""

BUFFER_BYTES: Final = 1 << 20
"""Of each column of a parquet file; otherwise a row group would be read as a whole."""


class BadFile(ValueError):
    """The file can't be read as the manifest declares it. The text names the reason, not the file."""


def count(file: pa.NativeFile, format: Format, schema: pa.Schema) -> int:
    """How many rows the file has. All of a text file is parsed; a parquet file's footer knows. Raises
    BadFile."""
    with _reasons():
        if format is Format.PARQUET:
            found = pyarrow.parquet.ParquetFile(file)
            _check(found.schema_arrow, schema)
            return int(found.metadata.num_rows)
    return sum(batch.num_rows for batch in batches(file, format, schema))


def batches(file: pa.NativeFile, format: Format, schema: pa.Schema) -> Iterator[pa.Table]:
    """The columns of the schema, at most BATCH_ROWS rows at a time. Raises BadFile."""
    if format is not Format.PARQUET and not file.size():
        return  # to pyarrow, text without a line is an error
    with _reasons():
        found = _batches(file, format, schema)
    while True:
        with _reasons():
            batch = next(found, None)
            if batch is None:
                return
            table = pa.Table.from_batches([batch]).select(schema.names).cast(schema)
        for first in range(0, table.num_rows, BATCH_ROWS):
            yield table.slice(first, BATCH_ROWS)


def _batches(file: pa.NativeFile, format: Format, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    match format:
        case Format.JSONL:
            return iter(_json(file, schema))
        case Format.CSV:
            types: dict[str, Any] = dict(zip(schema.names, schema.types, strict=True))
            convert = pyarrow.csv.ConvertOptions(column_types=types, include_columns=schema.names)
            read = pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES)
            return iter(pyarrow.csv.open_csv(file, read_options=read, convert_options=convert))
        case Format.PARQUET:
            found = pyarrow.parquet.ParquetFile(file, pre_buffer=False, buffer_size=BUFFER_BYTES)
            _check(found.schema_arrow, schema)
            return _row_groups(found, schema.names)
        case _:
            assert_never(format)


def _row_groups(file: pyarrow.parquet.ParquetFile, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """One after the other: what was read for one call is held until its end."""
    for group in range(file.num_row_groups):
        yield from file.iter_batches(BATCH_ROWS, row_groups=[group], columns=columns)


def _json(file: pa.NativeFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    options = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    read = pyarrow.json.ReadOptions(block_size=BLOCK_BYTES)
    return iter(pyarrow.json.open_json(file, read_options=read, parse_options=options))


def _check(found: pa.Schema, schema: pa.Schema) -> None:
    missing = [name for name in schema.names if name not in found.names]
    if missing:
        raise BadFile(f"the file has no column {', '.join(missing)}")


@contextmanager
def _reasons() -> Iterator[None]:
    """pyarrow raises errors of many kinds for what is wrong with a file's content."""
    try:
        yield
    except (pa.ArrowException, KeyError, ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk has failed, not the file
        raise BadFile(str(error).strip() or repr(error)) from error
