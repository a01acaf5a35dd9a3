"""The columns of streams, computed without a JVM, operator by operator."""

from __future__ import annotations

from typing import Final

from .declared import declared_columns
from .operators import Aggregate, Correlate, Filter, Join, Map, Operator, Python, Sample, Sql, Union
from .query import analyse
from .scope import Columns, Scope

WINDOW_COLUMNS: Final = ("window_start", "window_end")


def output_columns(operator: Operator, scope: Scope) -> Columns | None:
    """The columns of an operator's output. In a join's scope the left side comes first, then the right."""
    first = next(iter(scope.tables.values()), None)
    match operator:
        case Filter() | Sample() | Union():
            return first
        case Map(select=select):
            return tuple(select)
        case Aggregate(group_by=group_by, select=select):
            return (*group_by, *WINDOW_COLUMNS, *select)
        case Join(select=select):
            return _joined(scope) if select is None else tuple(select)
        case Sql(query=query):
            return analyse(query, scope.tables).columns
        case Python(schema_=schema):
            return first if schema is None else declared_columns(schema)
        case Correlate():
            return None


def _joined(scope: Scope) -> Columns | None:
    if len(scope.tables) != 2:
        return None
    (_, left), (name, right) = scope.tables.items()
    if left is None or right is None:
        return None
    taken = {column.lower() for column in left}
    return left + tuple(f"{name}_{column}" if column.lower() in taken else column for column in right)
