"""Spark's types as far as plain Python follows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any


class NotPlain(Exception):
    """Something that only Spark can say; the message names it."""


class Kind(Enum):
    BOOLEAN = "boolean"
    INT = "int"
    LONG = "bigint"
    DECIMAL = "decimal"
    DOUBLE = "double"
    STRING = "string"
    TIMESTAMP = "timestamp"
    NULL = "void"


@dataclass(frozen=True, slots=True)
class Type:
    kind: Kind
    precision: int = 0
    scale: int = 0

    @property
    def whole(self) -> bool:
        return self.kind in (Kind.INT, Kind.LONG)

    @property
    def numeric(self) -> bool:
        return self.whole or self.kind in (Kind.DECIMAL, Kind.DOUBLE)


BOOLEAN, INT, LONG, DOUBLE, STRING, TIMESTAMP, NULL = (
    Type(Kind.BOOLEAN),
    Type(Kind.INT, 10),
    Type(Kind.LONG, 20),
    Type(Kind.DOUBLE),
    Type(Kind.STRING),
    Type(Kind.TIMESTAMP),
    Type(Kind.NULL),
)
WIDTHS = {Kind.INT: 32, Kind.LONG: 64}

Values = Mapping[str, Any]
Columns = Mapping[str, Type]


@dataclass(frozen=True, slots=True)
class Term:
    """An expression, ready to be computed from the values of a row. None is SQL's NULL."""

    type: Type
    of: Callable[[Values], Any]


def common(left: Type, right: Type) -> Type:
    """The type in which two values meet."""
    if left == right or right is NULL:
        return left
    if left is NULL:
        return right
    kinds = {left.kind, right.kind}
    if not (left.numeric and right.numeric):
        raise NotPlain(f"a {left.kind.value} meets a {right.kind.value}")
    if Kind.DOUBLE in kinds:
        return DOUBLE
    if Kind.DECIMAL in kinds:
        raise NotPlain("arithmetic with decimals")
    return LONG


def quotient(left: Type, right: Type) -> Type:
    """Spark's type of `left / right`: double, unless a decimal is divided or divides."""
    decimals = [t for t in (left, right) if t.kind is Kind.DECIMAL]
    if not decimals or Kind.DOUBLE in (left.kind, right.kind):
        return DOUBLE
    scale = max(6, left.scale + right.precision + 1)
    precision = left.precision - left.scale + right.scale + scale
    if precision > 38:
        raise NotPlain("a quotient of long decimals")
    return Type(Kind.DECIMAL, precision, scale)


def fitting(value: int, type_: Type) -> int:
    """Spark refuses a number that does not fit; a job that gets there has no result."""
    if not -(1 << WIDTHS[type_.kind] - 1) <= value < 1 << WIDTHS[type_.kind] - 1:
        raise NotPlain(f"{value} does not fit into {type_.kind.value}")
    return value
