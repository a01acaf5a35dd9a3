"""Tuples as JSON, a column at a time: every byte as it would be one value at a time."""

from __future__ import annotations

import datetime
import decimal
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from understudy.sinks.jsonl import lines
from understudy.streams.jsonvalues import as_json, json_objects

UTC = datetime.UTC


def one_at_a_time(rows: pa.Table) -> bytes:
    """The encoding of the files that earlier versions wrote."""
    return b"".join(
        json.dumps(
            {k: as_json(v) for k, v in row.items() if k != "_ts"}, separators=(",", ":"), allow_nan=False
        ).encode()
        + b"\n"
        for row in rows.to_pylist()
    )


def moments(zone: datetime.tzinfo | None) -> st.SearchStrategy[Any]:
    edges = [datetime.datetime(2026, 1, 1, tzinfo=zone), datetime.datetime(1, 1, 1, tzinfo=zone)]
    return st.sampled_from(edges) | (
        st.datetimes() if zone is None else st.datetimes(timezones=st.just(zone))
    )


COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "int8": (pa.int8(), st.integers(-128, 127)),
    "bool": (pa.bool_(), st.booleans()),
    "float64": (
        pa.float64(),
        st.floats()
        | st.integers(-(2**60), 2**60).map(float)
        | st.decimals(-(10**12), 10**12, places=3).map(float)
        | st.sampled_from([0.0, -0.0, 1e-4, 9.999999e-5, 1e10, 9999999999.5, 1e16, 5e-324]),
    ),
    "float32": (pa.float32(), st.floats(width=32)),
    "string": (pa.string(), st.text() | st.text("ab \"\\/<&'\x7f\x1f\n\u2028é", max_size=4)),
    "large_string": (pa.large_string(), st.text()),
    "binary": (pa.binary(), st.binary(max_size=8)),
    "timestamp in UTC": (pa.timestamp("us", "UTC"), moments(UTC)),
    "timestamp": (pa.timestamp("us"), moments(None)),
    "milliseconds": (pa.timestamp("ms", "UTC"), st.integers(-(10**12), 10**13)),
    "seconds": (pa.timestamp("s"), st.integers(-(10**9), 10**10)),
    "nanoseconds": (pa.timestamp("ns", "UTC"), st.integers(0, 10**18)),
    "elsewhere": (pa.timestamp("us", "Europe/Berlin"), st.integers(0, 10**15)),
    "date": (pa.date32(), st.dates()),
    "time": (pa.time64("us"), st.times()),
    "duration": (pa.duration("us"), st.integers(0, 10**12)),
    "decimal": (pa.decimal128(20, 6), st.decimals(-(10**12), 10**12, places=6)),
    "null": (pa.null(), st.none()),
    "list": (pa.list_(pa.float64()), st.lists(st.none() | st.floats(), max_size=3)),
    "struct": (
        pa.struct([("a", pa.string()), ("b", pa.timestamp("us", "UTC"))]),
        st.fixed_dictionaries({"a": st.none() | st.text(max_size=3), "b": st.none() | moments(UTC)}),
    ),
    "map": (
        pa.map_(pa.string(), pa.int64()),
        st.dictionaries(st.text(max_size=2), st.integers(0, 9), max_size=2).map(lambda d: list(d.items())),
    ),
}


@pytest.mark.parametrize("kind", COLUMNS)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_line_is_the_one_that_was_written_one_value_at_a_time(kind: str, data: st.DataObject) -> None:
    type_, value = COLUMNS[kind]
    values = data.draw(st.lists(st.none() | value, min_size=1, max_size=6))
    table = pa.table({"_seq": range(len(values)), "_ts": [0] * len(values), 'na"mé': pa.array(values, type_)})
    assert bytes(lines(table)) == one_at_a_time(table)


@given(st.lists(st.tuples(*(st.none() | value for _, value in COLUMNS.values())), max_size=3))
@example([])
@settings(max_examples=30, deadline=None)
def test_columns_of_all_types_stand_side_by_side(found: list[tuple[Any, ...]]) -> None:
    columns = {
        name: pa.array([row[n] for row in found], type_)
        for n, (name, (type_, _)) in enumerate(COLUMNS.items())
    }
    table = pa.table(columns)
    assert bytes(lines(table)) == one_at_a_time(table)


def test_slices_and_chunks_are_written_as_they_are_cut() -> None:
    table = pa.concat_tables([pa.table({"_seq": [n, n + 1], "s": ["é", None]}) for n in range(0, 10, 2)])
    assert bytes(lines(table.slice(3, 4))) == one_at_a_time(table.slice(3, 4))
    assert bytes(lines(table.slice(3, 0))) == b""


def test_a_time_that_python_does_not_know_is_refused_and_not_written_otherwise() -> None:
    table = pa.table({"at": pa.array([2**62], pa.timestamp("us", "UTC"))})
    with pytest.raises((ValueError, OverflowError)):
        lines(table)


def test_a_tuple_without_columns_is_an_empty_object() -> None:
    assert json_objects(pa.table({"a": [1, 2]}).select([])).to_pylist() == ["{}", "{}"]


def test_decimals_keep_their_digits() -> None:
    table = pa.table({"d": [decimal.Decimal("1.50")]})
    assert bytes(lines(table)) == b'{"d":"1.50"}\n'
