"""Values that cross from one process to another: JSON with a kind and a version.

A minor version only adds fields that have a default. So processes of different minor versions understand each
other: a reader ignores a field that it does not know, and a field that the writer did not know has its
default. A change that gives a field another meaning, removes one, or adds a kind that every reader has to
know, makes a major version. A reader refuses other major versions and says why. Bytes without a version count
as version 1.0: they come from before versions were written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

Kind = TypeVar("Kind")
UNVERSIONED: Final = "1.0"


class Wire:
    """Base of frozen dataclasses that are sent: snake_case in Python is camelCase in JSON."""

    __slots__ = ()
    __pydantic_config__ = ConfigDict(alias_generator=to_camel)


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """Bytes of another process that can't be read."""

    why: str


class Format(Generic[Kind]):
    """The bytes of a closed union of dataclasses. `brief`: fields that have their default are left out."""

    def __init__(
        self, name: str, version: tuple[int, int], kinds: Mapping[str, type[Kind]], brief: bool = False
    ) -> None:
        self._name, self._brief, (self._major, minor) = name, brief, version
        self._version = f"{self._major}.{minor}"
        self._readers: dict[str, TypeAdapter[Kind]] = {k: TypeAdapter(t) for k, t in kinds.items()}
        self._kinds = {t: k for k, t in kinds.items()}

    def to_json(self, value: Kind) -> dict[str, Any]:
        kind = self._kinds[type(value)]
        fields = self._readers[kind].dump_python(
            value, mode="json", by_alias=True, exclude_defaults=self._brief
        )
        return {"kind": kind, "version": self._version, **fields}

    def to_bytes(self, value: Kind) -> bytes:
        return json.dumps(self.to_json(value), separators=(",", ":")).encode()

    def from_bytes(self, raw: bytes) -> Kind | NotUnderstood:
        try:
            return self.from_json(json.loads(raw))
        except ValueError as error:
            return NotUnderstood(f"{self._name} is not JSON: {error}")

    def from_json(self, raw: object) -> Kind | NotUnderstood:
        if not isinstance(raw, Mapping):
            return NotUnderstood(f"{self._name} is not a JSON object")
        version = str(raw.get("version", UNVERSIONED))
        if version.partition(".")[0] != str(self._major):
            understood = f"this process understands version {self._major}"
            return NotUnderstood(f"{self._name} has version {version}, and {understood}")
        reader = self._readers.get(str(raw.get("kind")))
        if reader is None:
            return NotUnderstood(f"{self._name} is of the unknown kind {raw.get('kind')!r}")
        try:
            return reader.validate_python(raw)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            return NotUnderstood(f"{self._name} has a wrong value in {where}: {first['msg']}")
