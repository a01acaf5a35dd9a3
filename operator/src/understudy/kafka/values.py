"""Record values as columns: many at once, and what is bad about a record is said of it alone.

Whether a record can be read depends on nothing but its own bytes, never on those beside it. So each value is
put into a row with its number, and the numbers that come out are compared: a value that ends its row early or
swallows the next one is found out, and then the half that it is in is read again."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from understudy.model.sources import Encoding

Parse = Callable[[Sequence[bytes | None], pa.Schema], pa.Table]
"""Values as rows with their number in `_n`. Raises ArrowInvalid if one of them can't be read."""

NUMBER = "_n"
VALUE = "v"
WHY_CHARS = 200


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The value at this place, and why it can't be read."""

    place: int
    why: str


@dataclass(frozen=True, slots=True)
class Decoded:
    rows: pa.Table
    """The good ones, in their order."""

    bad: tuple[Unreadable, ...] = ()


def decode(
    values: Sequence[bytes | None], format_: Encoding, schema: pa.Schema, avro: str | None = None
) -> Decoded:
    """A record without a value has null in every column. `avro`: the Avro schema of the values."""
    match format_:
        case Encoding.RAW:
            return Decoded(pa.table([pa.array(values, pa.binary()).cast(schema.types[0])], schema=schema))
        case Encoding.JSON:
            return _decoded(values, _parse_json, schema)
        case Encoding.CSV:
            return _decoded(values, _parse_csv, schema)
        case Encoding.AVRO:
            from understudy.kafka.avro import parser_of  # only topics of Avro pay for the library

            assert avro is not None
            return _decoded(values, parser_of(avro), schema)
        case _:
            assert_never(format_)


def _decoded(values: Sequence[bytes | None], parse: Parse, schema: pa.Schema) -> Decoded:
    tables: list[pa.Table] = []
    bad: list[Unreadable] = []
    waiting = [(0, len(values))] if values else []
    while waiting:
        start, stop = waiting.pop()
        try:
            tables.append(_checked(parse(values[start:stop], schema), stop - start))
        except pa.ArrowInvalid as error:
            if stop - start == 1:
                bad.append(Unreadable(start, str(error)[:WHY_CHARS]))
            else:
                middle = (start + stop) // 2
                waiting += [(middle, stop), (start, middle)]
    return Decoded(pa.concat_tables([schema.empty_table(), *tables]), tuple(bad))


def _checked(numbered: pa.Table, count: int) -> pa.Table:
    expected = pa.array(range(count), pa.int64())
    if numbered.num_rows != count or not numbered[NUMBER].combine_chunks().equals(expected):
        raise pa.ArrowInvalid("the value is not exactly one row")
    return numbered.drop_columns([NUMBER])


def _parse_json(values: Sequence[bytes | None], schema: pa.Schema) -> pa.Table:
    data = _lines(b'{"%s":%%d,"%s":%%b}\n' % (NUMBER.encode(), VALUE.encode()), values, b"null")
    _check_text(data)
    wrapped = pa.schema([(NUMBER, pa.int64()), (VALUE, pa.struct(list(schema)))])
    table = pyarrow.json.read_json(
        io.BytesIO(data),
        read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
        parse_options=pyarrow.json.ParseOptions(explicit_schema=wrapped, unexpected_field_behavior="ignore"),
    )
    columns = table[VALUE].combine_chunks().flatten() if len(schema) else []
    return pa.table([table[NUMBER], *columns], schema=pa.schema([wrapped.field(NUMBER), *schema]))


def _parse_csv(values: Sequence[bytes | None], schema: pa.Schema) -> pa.Table:
    data = _lines(b"%d,%b\n", values, b"," * (len(schema) - 1))
    types = {NUMBER: pa.int64(), **dict(zip(schema.names, schema.types, strict=True))}
    numbered = pa.schema(list(types.items()))
    return pyarrow.csv.read_csv(
        io.BytesIO(data),
        read_options=pyarrow.csv.ReadOptions(
            use_threads=False, block_size=len(data) + 1, column_names=list(types)
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    ).cast(numbered)


def _check_text(data: bytes) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise pa.ArrowInvalid(f"not UTF-8: {error.reason}") from error


def _lines(row: bytes, values: Iterable[bytes | None], null: bytes) -> bytes:
    return b"".join(row % (place, null if value is None else value) for place, value in enumerate(values))
