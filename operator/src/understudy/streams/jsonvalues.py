"""A column's value as JSON has it, for all sinks alike."""

from __future__ import annotations

from typing import Any


def as_json(value: Any) -> Any:
    """Times in ISO 8601; NaN and infinities as strings, because JSON has none; bytes in hexadecimal."""
    match value:
        case float() if value != value or value in (float("inf"), float("-inf")):
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [as_json(each) for each in value]
        case dict():
            return {key: as_json(each) for key, each in value.items()}
        case bytes():
            return value.hex()
        case _ if hasattr(value, "isoformat"):
            return value.isoformat().replace("+00:00", "Z")
        case _:
            return str(value)
