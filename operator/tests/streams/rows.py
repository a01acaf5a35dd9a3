"""Rows as they travel: `_seq`, `_ts` and one payload column."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema([("_seq", pa.int64()), ("_ts", pa.timestamp("us", "UTC")), ("v", pa.int64())])


def rows(start: int, stop: int) -> pa.Table:
    seqs = list(range(start, stop))
    return pa.table(
        {"_seq": seqs, "_ts": [s * 1000 for s in seqs], "v": [s * 10 for s in seqs]}, schema=SCHEMA
    )


def seqs(table: pa.Table | None) -> list[int]:
    return [] if table is None else table["_seq"].to_pylist()
