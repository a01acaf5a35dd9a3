"""The columns of streams, worked out without a JVM: operator by operator."""

from __future__ import annotations

from typing import Final

from .operators import Aggregate, Correlate, Filter, Join, Map, Operator, Python, Sample, Sql, Union
from .query import analyse
from .scope import Columns, Scope
from .sources import Files, Generator, KafkaSource, Origin, Push
from .sql import Malformed, parse_columns

WINDOW_COLUMNS: Final = ("window_start", "window_end")


def source_columns(origin: Origin) -> Columns | None:
    """A generator's stream has its fields and `ts`; the others have what their schema says."""
    match origin:
        case Generator(fields=fields):
            return (*fields, "ts")
        case Files(schema_=schema) | KafkaSource(schema_=schema) | Push(schema_=schema):
            return _declared(schema)


def has_event_time(origin: Origin) -> bool:
    match origin:
        case Generator():
            return True
        case Files(event_time=column) | KafkaSource(event_time=column) | Push(event_time=column):
            names = [name.lower() for name in source_columns(origin) or ("ts",)]
            return column is not None or "ts" in names


def output_columns(operator: Operator, scope: Scope) -> Columns | None:
    """What an operator gives, from what it gets. A join's scope has its left side first, then its right."""
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
            return first if schema is None else _declared(schema)
        case Correlate():
            return None


def _declared(schema: str) -> Columns | None:
    columns = parse_columns(schema)
    return None if isinstance(columns, Malformed) else tuple(column.name for column in columns)


def _joined(scope: Scope) -> Columns | None:
    if len(scope.tables) != 2:
        return None
    (_, left), (name, right) = scope.tables.items()
    if left is None or right is None:
        return None
    taken = {column.lower() for column in left}
    return left + tuple(f"{name}_{column}" if column.lower() in taken else column for column in right)
