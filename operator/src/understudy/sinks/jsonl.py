"""Tuples as lines of JSON: their columns and `_seq`."""

from __future__ import annotations

import pyarrow as pa

from understudy.streams.jsonvalues import json_objects


def columns_of(rows: pa.Table) -> pa.Table:
    """What a sink writes of a tuple: all but its event time, which is for the job only."""
    return rows.drop_columns(["_ts"]) if "_ts" in rows.column_names else rows


def lines(rows: pa.Table) -> memoryview:
    """A line for each tuple."""
    texts = json_objects(columns_of(rows), end="\n")
    _, offsets, data = texts.buffers()
    if data is None:
        return memoryview(b"")
    ends = memoryview(offsets).cast("i")
    return memoryview(data)[ends[texts.offset] : ends[texts.offset + len(texts)]]
