"""Tuples as JSON values, a column at a time."""

from __future__ import annotations

import datetime
import decimal
import json
import math

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from understudy.kafka.encode import json_values, keys

ROWS = st.fixed_dictionaries(
    {
        "i": st.none() | st.integers(-(2**63), 2**63 - 1),
        "f": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "b": st.none() | st.booleans(),
        's"': st.none() | st.text(),
        "l": st.none() | st.lists(st.none() | st.integers(0, 9), max_size=2),
    }
)
SCHEMA = pa.schema(
    [
        ("i", pa.int64()),
        ("f", pa.float64()),
        ("b", pa.bool_()),
        ('s"', pa.string()),
        ("l", pa.list_(pa.int64())),
    ]
)


@given(st.lists(ROWS, max_size=5))
def test_json_says_what_the_columns_say(rows: list[dict[str, object]]) -> None:
    table = pa.Table.from_pylist(rows, SCHEMA)
    assert [json.loads(value) for value in json_values(table)] == table.to_pylist()


def test_what_json_does_not_have_is_text() -> None:
    at = datetime.datetime(2026, 1, 2, 3, 4, 5, 600, datetime.UTC)
    table = pa.table(
        {
            "f": [math.nan],
            "at": pa.array([at], pa.timestamp("us", "UTC")),
            "x": [b"\xff"],
            "d": [decimal.Decimal("1.50")],
        }
    )
    assert json_values(table) == [b'{"f":"nan","at":"2026-01-02T03:04:05.000600Z","x":"ff","d":"1.50"}']


def test_keys_are_bytes_as_they_are_and_other_values_as_json() -> None:
    assert keys(pa.array(["a", None])) == [b"a", None]
    assert keys(pa.array([b"\xff"])) == [b"\xff"]
    assert keys(pa.chunked_array([pa.array([7])])) == [b"7"]
