"""Tuples as the values and keys of records."""

from __future__ import annotations

import pyarrow as pa

from understudy.streams.jsonvalues import json_objects, json_texts


def json_values(rows: pa.Table) -> list[bytes]:
    """An object for each row."""
    return json_objects(rows).cast(pa.binary()).to_pylist()  # type: ignore[no-any-return]


def keys(column: pa.Array | pa.ChunkedArray) -> list[bytes | None]:
    """Strings and bytes as they are, other values as JSON."""
    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_string(flat.type) or pa.types.is_large_string(flat.type) or pa.types.is_binary(flat.type):
        return flat.cast(pa.binary()).to_pylist()  # type: ignore[no-any-return]
    texts = json_texts(flat).cast(pa.binary()).to_pylist()
    return [text if known else None for text, known in zip(texts, flat.is_valid().to_pylist(), strict=True)]
