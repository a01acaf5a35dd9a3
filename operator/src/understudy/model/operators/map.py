"""The operator `map`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ..classes import OperatorClass, Verdict
from ..refusal import Fault
from ..scope import Columns, Scope
from .kind import OperatorKind, Select, select_faults


class Map(OperatorKind):
    """Makes one tuple of each: the selected columns and no others."""

    names_columns: ClassVar[bool] = True

    select: Select
    """Output column → Spark SQL expression over the input's columns, `_seq` and `ts`."""

    @property
    def verdict(self) -> Verdict:
        return Verdict(OperatorClass.REPEATABLE, "map looks at one tuple at a time")

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(self.select.values())

    def columns(self, scope: Scope) -> Columns:
        return tuple(self.select)

    def faults(self, scope: Scope) -> Iterator[tuple[str, Fault]]:
        return select_faults(self.select, scope)
