from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from understudy.model.crd import KINDS, crd_files, definition, spec_schema
from understudy.model.reference import reference_files
from understudy.model.status import Condition, StreamJobStatus
from understudy.model.yamltext import read

from .bad_manifests import BAD
from .manifests import manifest

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
ALLOWED = {
    *(
        "type",
        "description",
        "enum",
        "pattern",
        "format",
        "required",
        "properties",
        "items",
        "additionalProperties",
    ),
    *("minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "minItems", "maxItems"),
    *("minProperties", "maxProperties"),
}


def nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for child in schema.get("properties", {}).values():
        yield from nodes(child)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from nodes(schema[key])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_schema_is_structural(kind: Any) -> None:
    (version,) = definition(kind)["spec"]["versions"]
    for node in nodes(version["schema"]["openAPIV3Schema"]):
        assert {key for key in node if not key.startswith("x-kubernetes-")} <= ALLOWED
        anything = node.get("x-kubernetes-int-or-string") or node.get("x-kubernetes-preserve-unknown-fields")
        assert "type" in node or anything
        assert not ("properties" in node and "additionalProperties" in node)
        assert set(node.get("required", ())) <= set(node.get("properties", ()))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_field_is_described(kind: Any) -> None:
    for schema in (spec_schema(kind), definition(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]):
        for node in nodes(schema):
            for name, child in node.get("properties", {}).items():
                assert child.get("description") or name in ("apiVersion", "kind", "metadata"), name


def test_lists_and_texts_are_bounded_where_users_write() -> None:
    for node in nodes(spec_schema(KINDS[0])):
        if node.get("type") == "array":
            assert "maxItems" in node
        if node.get("type") == "string" and "enum" not in node and "pattern" not in node:
            assert "maxLength" in node


def test_kubectl_get_shows_the_columns_of_the_documentation() -> None:
    (version,) = definition(KINDS[0])["spec"]["versions"]
    columns = version["additionalPrinterColumns"]
    names = [column["name"] for column in columns if not column.get("priority")]
    assert names == ["READY", "SUBJOBS", "PROTECTED", "GUARANTEE", "LAST-FAILOVER", "AGE"]
    wide = [column["name"] for column in columns if column.get("priority")]
    assert wide == ["PHASE", "RECOVERY", "OBJECTIVE", "IF-IT-FAILED-NOW", "ATTENTION"]
    assert version["subresources"] == {"status": {}}


def test_the_files_in_the_repository_are_what_the_model_says() -> None:
    for name, text in {**crd_files(), **reference_files()}.items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, f"{name}: run understudy generate"


def test_a_status_is_written_as_the_schema_says() -> None:
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "AllRun",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    status = StreamJobStatus(conditions=(Condition.model_validate(condition),), observed_generation=2)
    written = status.model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert written == {"observedGeneration": 2, "conditions": [condition]}


# ---- the schema against manifests ------------------------------------------------------------------------


def faults(value: Any, schema: dict[str, Any], at: str = "spec") -> Iterator[str]:
    """What an API server would say, of what these schemas use; CEL rules aside."""
    kinds: dict[str, Any] = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
    }
    wanted = kinds.get(schema.get("type", ""))
    if wanted and (not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool)):
        yield f"{at} is not {schema['type']}"
        return
    if isinstance(value, str):
        if "enum" in schema and value not in schema["enum"]:
            yield f"{at} is not in the enum"
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{at} does not match"
    if isinstance(value, int | float) and not schema.get("minimum", value) <= value <= schema.get(
        "maximum", value
    ):
        yield f"{at} is out of range"
    if isinstance(value, list):
        for n, item in enumerate(value):
            yield from faults(item, schema.get("items", {}), f"{at}[{n}]")
    if isinstance(value, dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        yield from (f"{at}.{name} is missing" for name in schema.get("required", ()) if name not in value)
        if len(value) > schema.get("maxProperties", len(value)):
            yield f"{at} has too many properties"
        for name, item in value.items():
            child = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            yield from [f"{at}.{name} is unknown"] if child is None else faults(item, child, f"{at}.{name}")


def spec_of(text: str) -> Any:
    raw = read(text)
    assert isinstance(raw, dict)
    return raw["spec"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_passes_the_schema(path: Path) -> None:
    assert list(faults(spec_of(path.read_text()), spec_schema(KINDS[0]))) == []


def test_the_good_manifest_passes_and_kubectls_reading_of_on_does_too() -> None:
    schema = spec_schema(KINDS[0])
    assert list(faults(spec_of(manifest()), schema)) == []
    assert list(faults(spec_of(manifest().replace("on: _seq", '"true": _seq')), schema)) == []


@pytest.mark.parametrize(
    "fault",
    [
        "a negative duration",
        "a mode that does not exist",
        "a rate of nothing",
        "an unknown operator",
        "a misspelt field",
    ],
)
def test_the_schema_refuses_what_it_can(fault: str) -> None:
    (text,) = (bad.text for bad in BAD if bad.fault == fault)
    found = list(faults(spec_of(text), spec_schema(KINDS[0])))
    assert found or fault == "a rate of nothing"  # the bound is exclusive, which this reader does not know
