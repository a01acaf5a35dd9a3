"""An Avro schema as columns: the fields of a record whose types are columns, in Spark's notation."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from .refusal import listed

MOST_DIGITS: Final = 38
_PLAIN: Final = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "string": "string",
}
_LOGICAL: Final = {
    ("int", "date"): "date",
    ("long", "timestamp-millis"): "timestamp",
    ("long", "timestamp-micros"): "timestamp",
    ("string", "uuid"): "string",
}
_NESTED: Final = ("record", "error", "array", "map")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class NoColumns(ValueError):
    """The schema can't be columns; the text says why."""


def avro_columns(text: str) -> str:
    """The columns in Spark's notation. Raises NoColumns."""
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NoColumns(f"the Avro schema is not JSON: {error}") from error
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise NoColumns("the Avro schema is not a record; write {type: record, name: …, fields: […]} as JSON")
    if not _is_name(schema.get("name")):
        raise NoColumns("the record of the Avro schema has no name; write letters, digits and _")
    fields = schema.get("fields")
    if not isinstance(fields, list) or not fields:
        raise NoColumns("the record of the Avro schema has no fields; write at least one")
    columns = ", ".join(f"`{name}` {kind}" for name, kind in map(_column, fields))
    _check(schema)
    return columns


def _check(schema: object) -> None:
    """By the library that decodes: it knows the rules for names, symbols and sizes."""
    from fastavro import parse_schema  # only jobs that read Avro pay for it
    from fastavro.schema import SchemaParseException, UnknownType

    try:
        parse_schema(schema)
    except (SchemaParseException, UnknownType, TypeError, ValueError, KeyError) as error:
        raise NoColumns(f"the Avro schema is not valid: {error}") from error


def _column(field: object) -> tuple[str, str]:
    name = field.get("name") if isinstance(field, dict) else None
    if not isinstance(field, dict) or not isinstance(name, str) or not _is_name(name):
        raise NoColumns("a field of the Avro schema has no name; write letters, digits and _")
    if "type" not in field:
        raise NoColumns(f"the field {name} of the Avro schema has no type")
    try:
        return name, _kind(field["type"])
    except NoColumns as error:
        raise NoColumns(f"the field {name} of the Avro schema can't be a column: {error}") from error


def _is_name(name: object) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _kind(kind: object) -> str:
    match kind:
        case str():
            return _of_name(kind)
        case list():
            return _of_union(kind)
        case dict():
            return _of_mapping(kind)
    raise NoColumns("its type is not an Avro type")


def _of_name(name: str) -> str:
    if name not in _PLAIN:
        raise NoColumns(f"{name} is not {listed([*_PLAIN])}")
    return _PLAIN[name]


def _of_union(branches: Sequence[object]) -> str:
    others = [branch for branch in branches if branch not in ("null", {"type": "null"})]
    if len(others) != 1 or len(branches) > 2 or isinstance(others[0], list):
        raise NoColumns('a union is null and one other type, such as ["null", "long"]')
    return _kind(others[0])


def _of_mapping(kind: Mapping[str, Any]) -> str:
    name, logical = kind.get("type"), kind.get("logicalType")
    if not isinstance(name, str):
        return _kind(name)
    if name in _NESTED:
        raise NoColumns(f"it is a nested type, {name}; only flat records are read")
    if name in ("bytes", "fixed") and logical == "decimal":
        return _decimal(kind)
    if logical is not None and (known := _LOGICAL.get((name, logical))) is not None:
        return known
    if logical is not None:
        raise NoColumns(f"the logical type {logical} of {name} is not read")
    if name in ("fixed", "enum"):
        return _named(name, kind)
    return _of_name(name)


def _decimal(kind: Mapping[str, Any]) -> str:
    precision, scale = kind.get("precision"), kind.get("scale", 0)
    if kind["type"] == "fixed":
        _named("fixed", kind)
    if type(precision) is not int or type(scale) is not int or not 0 <= scale <= precision <= MOST_DIGITS:
        raise NoColumns(f"a decimal has a precision of at most {MOST_DIGITS} and a scale of at most that")
    if precision == 0:
        raise NoColumns("a decimal has a precision of at least 1")
    return f"decimal({precision},{scale})"


def _named(name: str, kind: Mapping[str, Any]) -> str:
    if not _is_name(kind.get("name")):
        raise NoColumns(f"the type {name} has no name")
    if name == "enum":
        symbols = kind.get("symbols")
        if not isinstance(symbols, list) or not symbols or not all(map(_is_name, symbols)):
            raise NoColumns("an enum has symbols, a list of names")
        return "string"
    size = kind.get("size")
    if type(size) is not int or size < 1:
        raise NoColumns("the type fixed has a size of at least 1")
    return "binary"
