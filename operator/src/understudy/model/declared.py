"""Columns that a manifest declares, in Spark's notation: of a source's rows, of a function's result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .refusal import Fault
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
    more: Mapping[str, str] = field(default_factory=dict)
    """Columns that each row has besides those of the schema, with their types."""
    ts_is_time: bool = True
    """A column `ts` is the event time if no other is named."""
    fault: Fault | None = None
    """Why the manifest's schema could not be turned into `schema`, which is empty then."""

    @property
    def all(self) -> str:
        """The schema with the columns that each row has besides."""
        return ", ".join([self.schema, *(f"{name} {kind}" for name, kind in self.more.items())])

    @property
    def columns(self) -> Columns | None:
        columns = declared_columns(self.schema)
        return (*columns, *self.more) if columns is not None else None

    @property
    def has_event_time(self) -> bool:
        names = [name.lower() for name in self.columns or ("ts",)]
        return not self.ts_is_time or self.event_time is not None or "ts" in names
