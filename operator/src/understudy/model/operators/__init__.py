"""The operators of a subjob: a closed union, each written as an object with one key: `{filter: {…}}`. One
file per operator; what the others ask it is in `kind.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Discriminator, SerializerFunctionWrapHandler, Tag, WrapSerializer

from ..value import Value
from .aggregate import Aggregate
from .correlate import Correlate
from .filter import Filter
from .join import Join
from .kind import Code, Effect, OperatorKind
from .map import Map
from .python import Python
from .sample import Sample
from .sql import Sql
from .union import Union
from .window import Window, WindowOn

__all__ = [
    "OPERATORS",
    "Aggregate",
    "Code",
    "Correlate",
    "Effect",
    "Filter",
    "Join",
    "Map",
    "Operator",
    "OperatorKind",
    "Python",
    "Sample",
    "Sql",
    "TaggedOperator",
    "Union",
    "Window",
    "WindowOn",
    "kind_of",
]

OPERATORS: Final[Mapping[str, type[OperatorKind]]] = {
    "filter": Filter,
    "map": Map,
    "aggregate": Aggregate,
    "join": Join,
    "union": Union,
    "sample": Sample,
    "sql": Sql,
    "python": Python,
    "correlate": Correlate,
}
_KINDS: Final[Mapping[type[Value], str]] = {kind: name for name, kind in OPERATORS.items()}


def kind_of(operator: Value) -> str:
    """`filter` for a Filter: the operator's key in a manifest."""
    return _KINDS[type(operator)]


def _tag(raw: Any) -> str | None:
    if isinstance(raw, Value):
        return _KINDS.get(type(raw))
    if isinstance(raw, dict) and len(raw) == 1:
        return str(next(iter(raw)))
    return None


def _untag(raw: Any) -> Any:
    return next(iter(raw.values())) if isinstance(raw, dict) else raw


def _retag(operator: Value, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
    return {kind_of(operator): handler(operator)}


_IN, _OUT = BeforeValidator(_untag), WrapSerializer(_retag, return_type=dict[str, Any])

Operator = Filter | Map | Aggregate | Join | Union | Sample | Sql | Python | Correlate

TaggedOperator = Annotated[
    Annotated[Filter, _IN, _OUT, Tag("filter")]
    | Annotated[Map, _IN, _OUT, Tag("map")]
    | Annotated[Aggregate, _IN, _OUT, Tag("aggregate")]
    | Annotated[Join, _IN, _OUT, Tag("join")]
    | Annotated[Union, _IN, _OUT, Tag("union")]
    | Annotated[Sample, _IN, _OUT, Tag("sample")]
    | Annotated[Sql, _IN, _OUT, Tag("sql")]
    | Annotated[Python, _IN, _OUT, Tag("python")]
    | Annotated[Correlate, _IN, _OUT, Tag("correlate")],
    Discriminator(_tag),
]
