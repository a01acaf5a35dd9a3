"""Values of records as columns: a bad one is named, and touches no other."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.kafka.values import decode
from understudy.model.sources import Encoding

SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.string())])
GOOD = [b'{"a":1,"b":"x"}', b'{"b":"y\\n","c":[1]}', b' {"a":\n3}\n', b"{}"]
BAD = [
    b"",
    b" ",
    b"[]",
    b"7",
    b"nonsense",
    b'{"a":1.5}',
    b'{"a":"1"}',
    b'{"a":1',
    b'{"a":1}}',
    b'{"a":1} {"a":2}',
    b'{"a":1}}\n{"_n":1,"v":{"a":2}',
    b'{"b":"\n',
    b'{"b":"\xff"}',
    b"\x00",
]


def read(values: list[bytes | None]) -> tuple[list[dict[str, object]], list[int]]:
    decoded = decode(values, Encoding.JSON, SCHEMA)
    return decoded.rows.to_pylist(), [bad.place for bad in decoded.bad]


def test_json_values_become_columns_and_what_is_absent_null() -> None:
    rows, bad = read([*GOOD, None])
    assert [(row["a"], row["b"]) for row in rows] == [
        (1, "x"),
        (None, "y\n"),
        (3, None),
        (None, None),
        (None, None),
    ]
    assert bad == []


@pytest.mark.parametrize("value", BAD, ids=map(str, BAD))
def test_a_value_that_is_not_one_object_of_the_schema_is_bad(value: bytes) -> None:
    assert read([value]) == ([], [0])


@given(st.lists(st.sampled_from([*GOOD, *BAD, None]), max_size=12))
def test_whether_a_record_is_bad_depends_on_no_other(values: list[bytes | None]) -> None:
    alone = [decode([value], Encoding.JSON, SCHEMA) for value in values]
    rows, bad = read(values)
    assert bad == [place for place, decoded in enumerate(alone) if decoded.bad]
    assert rows == [row for decoded in alone for row in decoded.rows.to_pylist()]


def test_a_bad_record_says_why() -> None:
    assert "1.5" in decode([b"{}", b'{"a":1.5}'], Encoding.JSON, SCHEMA).bad[0].why


def test_csv_values_are_lines_without_a_header() -> None:
    decoded = decode([b"1,x", b"2", b'3,"y,z"', b"4,x\n5,y", None, b"six,x"], Encoding.CSV, SCHEMA)
    assert [tuple(row.values()) for row in decoded.rows.to_pylist()] == [(1, "x"), (3, "y,z"), (None, None)]
    assert [bad.place for bad in decoded.bad] == [1, 3, 5]


def test_raw_values_are_one_column() -> None:
    schema = pa.schema([("value", pa.binary())])
    assert decode([b"\xff", None], Encoding.RAW, schema).rows["value"].to_pylist() == [b"\xff", None]
