"""What all values of the model share: they are frozen, camelCase in manifests, and accept no unknown fields.

The field descriptions are the only source of the texts in the CRDs and in docs/reference.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    StrictInt,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError


class Value(BaseModel):
    """A part of a manifest. Python names are snake_case; the manifest's are camelCase."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        use_attribute_docstrings=True,
    )

    def manifest(self) -> dict[str, Any]:
        """As in a manifest, without fields that are None."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class OneOf(Value):
    """A value of which exactly one of some fields is set."""

    one_of: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if len(self.chosen()) != 1:
            raise PydanticCustomError("one_of", "{given}", {"given": self.chosen(), "choices": self.one_of})
        return self

    def chosen(self) -> list[str]:
        return [name for name in self.one_of if getattr(self, name) is not None]


def one_of_rule(*names: str) -> dict[str, Any]:
    """The rule of a `OneOf` for the CRD, in CEL."""
    has = ", ".join(f"has(self.{name})" for name in names)
    rule = {
        "rule": f"[{has}].filter(x, x).size() == 1",
        "message": f"write exactly one of {', '.join(names)}",
    }
    return {"x-kubernetes-validations": [rule]}


# A list whose entries are identified by their name, in the words of a CRD.
BY_NAME: Final[dict[str, Any]] = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
AS_SET: Final[dict[str, Any]] = {"x-kubernetes-list-type": "set"}

# ---- durations -------------------------------------------------------------------------------------------

DURATION_PATTERN: Final = r"^[0-9]+(\.[0-9]+)?(ms|s|m|h)$"
_DURATION: Final = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>ms|s|m|h)")
_UNITS: Final = {
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}
LONGEST: Final = timedelta(days=366)


def parse_duration(raw: object) -> timedelta:
    """`"500ms"`, `"3s"`, `"2m"`, `"1h"`; raises ValueError with a sentence for anything else."""
    if isinstance(raw, timedelta):
        return raw
    if isinstance(raw, str):
        text = raw.strip()
        if text.startswith("-"):
            raise ValueError(f"{raw!r} is negative: write a duration of zero or more, such as 500ms or 3s")
        found = _DURATION.fullmatch(text)
        if found and len(text) <= 20:
            duration = float(found["number"]) * _UNITS[found["unit"]]
            if duration <= LONGEST:
                return duration
            raise ValueError(f"{raw!r} is longer than a year: write a shorter duration, such as 3s")
    raise ValueError(f"{raw!r} is not a duration: write a number and one of ms, s, m, h, such as 500ms or 3s")


def print_duration(duration: timedelta) -> str:
    """The shortest text that `parse_duration` reads back, in the largest unit that divides it."""
    for unit, length in _UNITS.items():
        if duration and duration % length == timedelta(0):
            return f"{duration // length}{unit}"
    return f"{duration / _UNITS['ms']:g}ms" if duration else "0s"


def show_time(duration: timedelta) -> str:
    """For people, rounded: `46 ms`, `1.2 s`, `1 min 24 s`, `3 h 5 min`, `7 days`."""
    seconds = duration.total_seconds()
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    for large, small, length in (("min", "s", 60), ("h", "min", 3600)):
        whole, rest = divmod(round(seconds * 60 / length), 60)
        if whole < (60 if large == "min" else 48):
            return f"{whole} {large} {rest} {small}" if rest else f"{whole} {large}"
    return f"{seconds / 86_400:.1f} days".replace(".0 days", " days")


def show_size(mebi: int) -> str:
    """For people: `800 MiB`, `2 GiB`, `2.5 GiB`."""
    return f"{mebi} MiB" if mebi < 1024 else f"{mebi / 1024:.1f} GiB".replace(".0 GiB", " GiB")


Size = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,9}(Mi|Gi)$")]


def mebibytes(size: str) -> int:
    """`1Gi`, `800Mi`."""
    return int(size[:-2]) * (1024 if size.endswith("Gi") else 1)


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(print_duration, return_type=str),
    WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN, "maxLength": 20}),
]


def parse_extent(raw: object) -> int | timedelta:
    """A window's size or slide: a whole number of tuples, or a duration."""
    if isinstance(raw, int) and not isinstance(raw, bool):
        return raw
    try:
        return parse_duration(raw)
    except ValueError:
        if isinstance(raw, str) and raw.strip().startswith("-"):
            raise
    raise ValueError(
        f"{raw!r} is neither a number of tuples nor a duration: "
        "write a whole number for windows on _seq or a duration such as 10s for windows on ts"
    )


def print_extent(extent: int | timedelta) -> int | str:
    return extent if isinstance(extent, int) else print_duration(extent)


Extent = Annotated[
    int | timedelta,
    PlainValidator(parse_extent),
    PlainSerializer(print_extent),
    WithJsonSchema({"x-kubernetes-int-or-string": True, "pattern": DURATION_PATTERN}),
]


def parse_number(raw: object) -> int | float:
    if isinstance(raw, int | float) and not isinstance(raw, bool) and raw == raw:
        return raw
    raise ValueError(f"{raw!r} is not a number: write one without quotes, such as 500")


Number = Annotated[int | float, PlainValidator(parse_number)]

# ---- names and text --------------------------------------------------------------------------------------

NAME_PATTERN: Final = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"
COLUMN_PATTERN: Final = r"^[A-Za-z_][A-Za-z0-9_]*$"

Name = Annotated[str, Field(pattern=NAME_PATTERN, min_length=1, max_length=40)]
Column = Annotated[str, Field(pattern=COLUMN_PATTERN, min_length=1, max_length=128)]
Expression = Annotated[str, Field(min_length=1, max_length=10_000)]
Schema = Annotated[str, Field(min_length=1, max_length=10_000)]
Path = Annotated[str, Field(min_length=1, max_length=1024)]
Count = Annotated[StrictInt, Field(ge=1, le=10**15)]
