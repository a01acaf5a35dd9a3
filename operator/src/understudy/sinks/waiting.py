"""Tuples that wait in a sink's memory until they are committed together."""

from __future__ import annotations

import pyarrow as pa


class Waiting:
    """Tuples of one schema, in the order of `_seq`."""

    def __init__(self) -> None:
        self._tables: list[pa.Table] = []
        self.bytes = 0

    def __bool__(self) -> bool:
        return bool(self._tables)

    def fits(self, rows: pa.Table) -> bool:
        return not self._tables or self._tables[0].schema.equals(rows.schema)

    def add(self, rows: pa.Table) -> None:
        self._tables.append(rows)
        self.bytes += rows.nbytes

    @property
    def rows(self) -> pa.Table:
        return pa.concat_tables(self._tables)

    def clear(self) -> None:
        self._tables, self.bytes = [], 0
