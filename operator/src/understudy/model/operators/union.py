"""The operator `union`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ..classes import OperatorClass, Verdict
from ..refusal import Fault, listed
from ..scope import Scope
from .kind import OperatorKind


class Union(OperatorKind):
    """All tuples of all inputs, columns by name. The order is that of `merge`."""

    merges: ClassVar[bool] = True

    @property
    def verdict(self) -> Verdict:
        return Verdict(OperatorClass.REPEATABLE, "union passes tuples in the order of its input")

    def faults(self, scope: Scope) -> Iterator[tuple[str, Fault]]:
        """Columns are matched by name, so every input needs the same ones."""
        if not scope.is_known:
            return
        (first, columns), *others = ((name, set(columns or ())) for name, columns in scope.tables.items())
        for name, theirs in others:
            if theirs != columns:
                missing = sorted(columns - theirs) or sorted(theirs - columns)
                without = name if columns - theirs else first
                instead = "give all inputs the same columns, with map in a subjob"
                yield "", Fault("DifferentColumns", f"{without} has no {listed(missing, 'and')}; {instead}")

    def misplaced(self, place: int, inputs: int) -> Fault | None:
        if place == 0 and inputs > 1:
            return None
        instead = "write it first, in a subjob with two inputs or more"
        return Fault("MisplacedUnion", f"union makes one stream of several inputs; {instead}")
