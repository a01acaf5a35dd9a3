"""Avro values as columns: what the library's own writer wrote comes out, and a bad value touches no other."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from fastavro import parse_schema, schemaless_writer
from hypothesis import given
from hypothesis import strategies as st

from understudy.kafka.values import Decoded, decode
from understudy.model.sources import Encoding

FIELDS: dict[str, tuple[Any, pa.DataType, st.SearchStrategy[Any]]] = {
    "flag": ("boolean", pa.bool_(), st.booleans()),
    "small": ("int", pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "n": ("long", pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "ratio": ("float", pa.float32(), st.floats(width=32, allow_nan=False)),
    "mv": ("double", pa.float64(), st.floats(allow_nan=False)),
    "body": ("bytes", pa.binary(), st.binary(max_size=20)),
    "name": ("string", pa.string(), st.text("aé€\n\0😀", max_size=8)),
    "suit": (
        {"type": "enum", "name": "Suit", "symbols": ["HEARTS", "SPADES"]},
        pa.string(),
        st.sampled_from(["HEARTS", "SPADES"]),
    ),
    "four": ({"type": "fixed", "name": "Four", "size": 4}, pa.binary(), st.binary(min_size=4, max_size=4)),
    "day": ({"type": "int", "logicalType": "date"}, pa.date32(), st.dates()),
    "at": (
        {"type": "long", "logicalType": "timestamp-micros"},
        pa.timestamp("us", "UTC"),
        st.datetimes(timezones=st.just(UTC)),
    ),
    "sent": (
        {"type": "long", "logicalType": "timestamp-millis"},
        pa.timestamp("us", "UTC"),
        st.integers(0, 10**12).map(lambda ms: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)),
    ),
    "price": (
        {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        pa.decimal128(10, 2),
        st.integers(-(10**10) + 1, 10**10 - 1).map(lambda n: Decimal(n).scaleb(-2)),
    ),
}
SCHEMA = pa.schema([(name, kind) for name, (_, kind, _) in FIELDS.items()])
WRITTEN = {
    "type": "record",
    "name": "Reading",
    "fields": [{"name": name, "type": ["null", kind]} for name, (kind, _, _) in FIELDS.items()],
}
ROWS = st.fixed_dictionaries({name: st.none() | values for name, (_, _, values) in FIELDS.items()})
ONE = {"type": "record", "name": "One", "fields": [{"name": "n", "type": "long"}]}
N = pa.schema([("n", pa.int64())])


def written(row: dict[str, Any], schema: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    schemaless_writer(stream, parse_schema(schema), row)
    return stream.getvalue()


def read(values: list[bytes | None]) -> Decoded:
    return decode(values, Encoding.AVRO, N, json.dumps(ONE))


@given(st.lists(ROWS, max_size=5))
def test_what_the_library_writes_comes_out_of_every_type(rows: list[dict[str, Any]]) -> None:
    values = [written(row, WRITTEN) for row in rows]
    decoded = decode(values, Encoding.AVRO, SCHEMA, json.dumps(WRITTEN))
    assert decoded.bad == ()
    assert decoded.rows.to_pylist() == rows


def test_a_record_without_a_value_is_null_in_every_column() -> None:
    assert read([None, written({"n": 7}, ONE)]).rows.to_pylist() == [{"n": None}, {"n": 7}]


@given(st.lists(st.none() | st.binary(max_size=12), max_size=8))
def test_whether_a_value_is_bad_depends_on_no_other(values: list[bytes | None]) -> None:
    alone = [read([value]) for value in values]
    decoded = read(values)
    assert [bad.place for bad in decoded.bad] == [place for place, one in enumerate(alone) if one.bad]
    assert decoded.rows.to_pylist() == [row for one in alone for row in one.rows.to_pylist()]


@given(ROWS, st.binary(min_size=1, max_size=4))
def test_a_value_that_is_cut_or_has_more_behind_it_is_bad(row: dict[str, Any], more: bytes) -> None:
    value = written(row, WRITTEN)
    decoded = decode([value[:-1], value + more, value], Encoding.AVRO, SCHEMA, json.dumps(WRITTEN))
    assert [bad.place for bad in decoded.bad] == [0, 1]


@pytest.mark.parametrize("digits", [10**10, -(10**10)])
def test_a_decimal_with_more_digits_than_the_schema_says_is_bad_for_itself(digits: int) -> None:
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
    wider = {**kind, "precision": 20}
    both = [{"type": "record", "name": "P", "fields": [{"name": "price", "type": k}]} for k in (kind, wider)]
    values = [written({"price": Decimal(n).scaleb(-2)}, both[1]) for n in (1, digits, 2)]
    columns = pa.schema([("price", pa.decimal128(10, 2))])
    decoded = decode(values, Encoding.AVRO, columns, json.dumps(both[0]))
    assert [bad.place for bad in decoded.bad] == [1]


def test_a_timestamp_that_no_calendar_has_is_bad_for_itself() -> None:
    kind = {"type": "long", "logicalType": "timestamp-micros"}
    schema = {"type": "record", "name": "T", "fields": [{"name": "at", "type": kind}]}
    plain = {"type": "record", "name": "T", "fields": [{"name": "at", "type": "long"}]}
    values = [written({"at": at}, plain) for at in (0, 2**62, 1)]
    decoded = decode(
        values, Encoding.AVRO, pa.schema([("at", pa.timestamp("us", "UTC"))]), json.dumps(schema)
    )
    assert [bad.place for bad in decoded.bad] == [1]


def test_the_header_of_a_schema_registry_is_refused_by_name() -> None:
    (bad,) = read([b"\0\0\0\0\7" + written({"n": 7}, ONE)]).bad
    assert "header of a schema registry" in bad.why


def test_a_day_is_a_day() -> None:
    kind = {"type": "int", "logicalType": "date"}
    schema = {"type": "record", "name": "D", "fields": [{"name": "day", "type": kind}]}
    value = written({"day": date(2026, 11, 18)}, schema)
    decoded = decode([value], Encoding.AVRO, pa.schema([("day", pa.date32())]), json.dumps(schema))
    assert decoded.rows.to_pylist() == [{"day": date(2026, 11, 18)}]
