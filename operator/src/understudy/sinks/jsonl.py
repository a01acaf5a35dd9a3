"""A tuple as a line of JSON."""

from __future__ import annotations

import json
from typing import Any


def line(row: dict[str, Any]) -> str:
    return json.dumps(as_json(row), separators=(",", ":"), allow_nan=False) + "\n"


def as_json(row: dict[str, Any]) -> dict[str, Any]:
    """A tuple as JSON: its columns and `_seq`; times in ISO 8601; NaN and infinities as strings, because JSON
    has none."""
    return {k: _value(v) for k, v in row.items() if k != "_ts"}


def _value(value: Any) -> Any:
    match value:
        case float() if value != value or value in (float("inf"), float("-inf")):
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [_value(v) for v in value]
        case dict():
            return {k: _value(v) for k, v in value.items()}
        case bytes():
            return value.hex()
        case _ if hasattr(value, "isoformat"):
            return value.isoformat().replace("+00:00", "Z")
        case _:
            return str(value)
