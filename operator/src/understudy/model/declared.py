"""Columns that a manifest declares: of a source's rows, of a function's result, and which names columns may
have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from .refusal import Fault
from .scope import Columns
from .sql import Malformed, parse_columns, shown

_RESERVED: Final = re.compile(r"_.*|i[0-9]+_.*")
_BOOLEANS: Final = ("true", "false")


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


def schema_faults(schema: str) -> Iterator[Fault]:
    columns = parse_columns(schema)
    if isinstance(columns, Malformed):
        what = (
            f"{shown(schema)} {columns.why}; write names and Spark types, such as patient string, mv double"
        )
        yield Fault("InvalidSchema", what)
    else:
        yield from column_name_faults(tuple(column.name for column in columns))


def column_name_faults(columns: Columns) -> Iterator[Fault]:
    for name in columns:
        if _RESERVED.fullmatch(name):
            what = f"the column name {name} is reserved"
            instead = "write one that begins neither with _ nor with i, digits and _"
            yield Fault("ReservedName", f"{what}; {instead}")
        if name.lower() in _BOOLEANS:
            what = f"the column name {name} is a boolean in YAML (as are y, n, on, off, yes, no)"
            yield Fault("ReservedName", f"{what}; write another name")
    counts = Counter(name.lower() for name in columns)
    for name in [name for name, count in counts.items() if count > 1]:
        yield Fault(
            "DuplicateColumn", f"the column {name} comes out twice; write select with different names"
        )
