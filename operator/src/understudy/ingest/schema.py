"""A declared schema as Arrow types, without Spark: the ingest process has no JVM."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from understudy.model.sql import Malformed, parse_columns

_TYPES: Final[dict[str, pa.DataType]] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "TEXT": pa.string(),
    "VARCHAR": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "TIMESTAMPTZ": pa.timestamp("us", "UTC"),
    "TIMESTAMPLTZ": pa.timestamp("us", "UTC"),
}


def arrow_schema(text: str) -> pa.Schema:
    """Raises ValueError with a sentence for what push can't take."""
    columns = parse_columns(text)
    if isinstance(columns, Malformed):
        raise ValueError(f"{text!r} is no list of columns such as patient string, mv double")
    return pa.schema([pa.field(column.name, _type(column)) for column in columns])


def _type(column: Any) -> pa.DataType:
    name = column.args["kind"].this.name
    if name not in _TYPES:
        known = ", ".join(sorted(kind.lower() for kind in _TYPES))
        raise ValueError(f"the column {column.name} is of type {name.lower()}; push takes {known}")
    return _TYPES[name]
