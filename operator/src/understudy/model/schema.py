"""The model as a structural OpenAPI schema: exactly what a CRD may contain.

Also the place where the loader looks up descriptions, choices and known names for its sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel

from .operators import OPERATORS

Schema = dict[str, Any]

_KEPT: Final = (
    "type",
    "enum",
    "pattern",
    "format",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "required",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
)
_BOUNDS: Final = {"gt": "minimum", "ge": "minimum", "le": "maximum", "exclusiveMinimum": "minimum"}
_OPERATOR_OF: Final = {kind.__name__: name for name, kind in OPERATORS.items()}
_ON_RULE: Final = {"rule": "has(self.on) != has(self.__true__)", "message": "write on"}


def structural(model: type[BaseModel]) -> Schema:
    """The structural schema of a model: no references, no unions, no keyword that a CRD refuses."""
    raw = model.model_json_schema(by_alias=True, mode="validation")
    return _convert(raw, raw.get("$defs", {}))


def at(schema: Schema, steps: Sequence[str | int]) -> Schema:
    """The schema below `steps`, as far as it goes."""
    for step in steps:
        if isinstance(step, int):
            schema = schema.get("items", {})
        else:
            schema = schema.get("properties", {}).get(step) or schema.get("additionalProperties", {})
    return schema


def _convert(raw: Schema, defs: Mapping[str, Schema]) -> Schema:
    node = _resolve(raw, defs)
    if "oneOf" in node:
        return _one_key(node, defs)
    out: Schema = {}
    if "description" in node:
        out["description"] = " ".join(node["description"].split())
    out |= {key: node[key] for key in _KEPT if key in node}
    out |= {bound: node[key] for key, bound in _BOUNDS.items() if key in node}
    if "gt" in node or "exclusiveMinimum" in node:
        out["exclusiveMinimum"] = True
    if node.get("title") == "Sql":
        return _anything(out)
    if "items" in node:
        out["items"] = _convert(node["items"], defs)
    if node.get("type") == "object":
        out |= _members(node, defs)
    return out


def _resolve(raw: Schema, defs: Mapping[str, Schema]) -> Schema:
    """Follows references and drops the null of an optional field; entries beside a reference have
    precedence."""
    beside = {key: value for key, value in raw.items() if key not in ("$ref", "anyOf")}
    if "$ref" in raw:
        return _resolve(defs[raw["$ref"].rpartition("/")[2]], defs) | beside
    if "anyOf" in raw:
        (choice,) = (branch for branch in raw["anyOf"] if branch.get("type") != "null")
        return _resolve(choice, defs) | beside
    return raw


def _members(node: Schema, defs: Mapping[str, Schema]) -> Schema:
    if "patternProperties" in node:
        (values,) = node["patternProperties"].values()
        return {"additionalProperties": _convert(values, defs)}
    if isinstance(node.get("additionalProperties"), dict):
        return {"additionalProperties": _convert(node["additionalProperties"], defs)}
    if node.get("additionalProperties") is True:
        return {"x-kubernetes-preserve-unknown-fields": True}
    properties = {name: _convert(child, defs) for name, child in node.get("properties", {}).items()}
    return {"properties": properties, **(_on_or_true(node, properties) if "on" in properties else {})}


def _on_or_true(node: Schema, properties: Schema) -> Schema:
    """kubectl sends an unquoted key `on` as "true" (YAML 1.1), so the schema knows it by both names."""
    properties["true"] = properties["on"] | {"description": "What an unquoted `on` is to a YAML 1.1 parser."}
    return {
        "required": [name for name in node["required"] if name != "on"],
        "x-kubernetes-validations": [_ON_RULE],
    }


def _one_key(node: Schema, defs: Mapping[str, Schema]) -> Schema:
    """An operator: an object with one key."""
    names = [branch["$ref"].rpartition("/")[2] for branch in node["oneOf"]]
    properties = {_OPERATOR_OF[name]: _convert({"$ref": f"#/$defs/{name}"}, defs) for name in names}
    return {
        "description": f"One operator: exactly one of {', '.join(properties)}.",
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "properties": properties,
    }


def _anything(out: Schema) -> Schema:
    """A plain string or an object: a structural schema can't say more about it."""
    return {"description": out["description"], "x-kubernetes-preserve-unknown-fields": True}
