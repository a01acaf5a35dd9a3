"""The operator `filter`."""

from __future__ import annotations

from collections.abc import Iterator

from ..classes import OperatorClass, Verdict
from ..refusal import Fault
from ..scope import Scope, row_faults
from ..value import Expression
from .kind import OperatorKind


class Filter(OperatorKind):
    """Lets a tuple pass where the condition is true. Keeps the input's order and seqs."""

    where: Expression
    """A Spark SQL condition over the columns, `_seq` and `ts`, such as `mv > 0.8`."""

    @property
    def verdict(self) -> Verdict:
        return Verdict(OperatorClass.REPEATABLE, "filter looks at one tuple at a time")

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.where,)

    def faults(self, scope: Scope) -> Iterator[tuple[str, Fault]]:
        yield from ((".where", fault) for fault in row_faults(self.where, scope))
