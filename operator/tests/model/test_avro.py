"""An Avro schema in a manifest becomes the columns of the source."""

from __future__ import annotations

import json
from typing import Any

import pytest

from understudy.model.avro import NoColumns, avro_columns


def columns(*types: Any) -> str:
    fields = [{"name": f"f{n}", "type": kind} for n, kind in enumerate(types)]
    return avro_columns(json.dumps({"type": "record", "name": "R", "fields": fields}))


@pytest.mark.parametrize(
    ("avro", "spark"),
    [
        ("boolean", "boolean"),
        ("long", "bigint"),
        ("bytes", "binary"),
        (["null", "string"], "string"),
        (["double", "null"], "double"),
        ({"type": "long"}, "bigint"),
        ({"type": "int", "logicalType": "date"}, "date"),
        ({"type": "long", "logicalType": "timestamp-micros"}, "timestamp"),
        ({"type": "string", "logicalType": "uuid"}, "string"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, "decimal(9,2)"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "string"),
        ({"type": "fixed", "name": "F", "size": 4}, "binary"),
    ],
)
def test_a_type_of_avro_becomes_a_type_of_spark(avro: Any, spark: str) -> None:
    assert columns(avro, ["null", "int"]) == f"`f0` {spark}, `f1` int"


@pytest.mark.parametrize(
    "kind",
    [
        7,
        None,
        [],
        ["null"],
        ["null", "null"],
        [["null", "int"]],
        ["int", "long"],
        {"type": "map", "values": "long"},
        {"type": "long", "logicalType": "local-timestamp-micros"},
        {"type": "int", "logicalType": "timestamp-micros"},
        {"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3},
        {"type": "fixed", "name": "F"},
        {"type": "enum", "name": "E", "symbols": []},
    ],
)
def test_a_type_that_can_not_be_a_column_is_refused_with_the_fields_name(kind: Any) -> None:
    with pytest.raises(NoColumns, match="the field f0 "):
        columns(kind)


@pytest.mark.parametrize(
    "text", ["", "[]", '"long"', "{}", '{"type":"record","name":"R","fields":[]}', "[" * 99_999]
)
def test_a_schema_that_is_no_record_is_refused(text: str) -> None:
    with pytest.raises(NoColumns):
        avro_columns(text)


def test_two_fields_of_one_name_are_refused_by_the_checks_of_all_schemas() -> None:
    fields = [{"name": "a", "type": "int"}, {"name": "a", "type": "int"}]
    assert avro_columns(json.dumps({"type": "record", "name": "R", "fields": fields})) == "`a` int, `a` int"
