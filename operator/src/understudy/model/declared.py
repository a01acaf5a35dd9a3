"""Columns that a manifest declares, in Spark's notation: of a source's rows, of a function's result."""

from __future__ import annotations

from dataclasses import dataclass

from .scope import Columns
from .sql import Malformed, parse_columns


def declared_columns(schema: str) -> Columns | None:
    """None if the text is no schema."""
    columns = parse_columns(schema)
    return None if isinstance(columns, Malformed) else tuple(column.name for column in columns)


@dataclass(frozen=True, slots=True)
class Declared:
    """What the manifest declares about a source's rows."""

    schema: str
    event_time: str | None

    @property
    def columns(self) -> Columns | None:
        return declared_columns(self.schema)

    @property
    def has_event_time(self) -> bool:
        names = [name.lower() for name in self.columns or ("ts",)]
        return self.event_time is not None or "ts" in names
