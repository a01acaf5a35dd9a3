"""Avro values as columns, by a library that is known for it.

A value is one binary datum of the manifest's schema, and nothing before or behind it. The header that clients
of a schema registry write (a zero byte and four bytes with an id) is not accepted: without the registry
nobody can say which schema the id means, and a datum may begin with the same five bytes."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from fastavro import parse_schema, schemaless_reader

NUMBER: Final = "_n"
HEADER: Final = b"\0"
HEADER_BYTES: Final = 5

Row = Mapping[str, Any]


def parser_of(text: str) -> Callable[[Sequence[bytes | None], pa.Schema], pa.Table]:
    """Parses values of this Avro schema as `values.Parse` says."""
    avro = parse_schema(json.loads(text))

    def parse(values: Sequence[bytes | None], schema: pa.Schema) -> pa.Table:
        rows = [_row(value, avro) for value in values]
        numbers = pa.array(range(len(rows)), pa.int64())
        columns = [_column([row.get(field.name) for row in rows], field.type) for field in schema]
        return pa.table([numbers, *columns], schema=pa.schema([(NUMBER, pa.int64()), *schema]))

    return parse


def _row(value: bytes | None, avro: Any) -> Row:
    if value is None:
        return {}
    try:
        return _datum(value, avro)
    except pa.ArrowInvalid as error:
        if _has_header(value, avro):
            what = "the value begins with the header of a schema registry, which is not accepted"
            raise pa.ArrowInvalid(what) from error
        raise


def _datum(value: bytes, avro: Any) -> Row:
    stream = io.BytesIO(value)
    try:
        row: Row = schemaless_reader(stream, avro, None)
    except Exception as error:  # the library has no exception of its own for bytes that are no datum
        raise pa.ArrowInvalid(f"not a value of the Avro schema: {error or type(error).__name__}") from error
    if stream.tell() != len(value):
        raise pa.ArrowInvalid(f"{len(value) - stream.tell()} bytes follow the Avro value")
    return row


def _has_header(value: bytes, avro: Any) -> bool:
    if not value.startswith(HEADER):
        return False
    try:
        _datum(value[HEADER_BYTES:], avro)
    except pa.ArrowInvalid:
        return False
    return True


def _column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Raises ArrowInvalid also for a value of the right type that is too large for the column."""
    try:
        return pa.array(values, kind)
    except (OverflowError, pa.ArrowTypeError) as error:
        raise pa.ArrowInvalid(str(error)) from error
