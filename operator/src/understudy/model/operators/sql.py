"""The operator `sql`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import model_validator

from ..classes import OperatorClass, Verdict
from ..query import analyse
from ..refusal import Fault
from ..scope import Columns, Scope
from ..value import Expression
from .kind import OperatorKind


class Sql(OperatorKind):
    """A Spark SQL query over the inputs by name that makes rows from rows: SELECT, WHERE, CASE, explode,
    UNION ALL. Also written as a plain string: `sql: "select …"`."""

    merges: ClassVar[bool] = True
    names_columns: ClassVar[bool] = True
    makes_rows: ClassVar[bool] = True

    query: Expression
    """The query. It keeps no state: for groups use `aggregate`, for pairs `join`."""

    @model_validator(mode="before")
    @classmethod
    def _plain_string(cls, raw: object) -> object:
        return {"query": raw} if isinstance(raw, str) else raw

    @property
    def verdict(self) -> Verdict:
        return Verdict(OperatorClass.REPEATABLE, "the query looks at one tuple at a time")

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.query,)

    def columns(self, scope: Scope) -> Columns | None:
        return analyse(self.query, scope.tables).columns

    def faults(self, scope: Scope) -> Iterator[tuple[str, Fault]]:
        yield from ((".query", fault) for fault in analyse(self.query, scope.tables).faults)
