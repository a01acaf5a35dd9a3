"""pydantic's errors as our own sentences: the field, the fault, what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from .job import StreamJob
from .operators import OPERATORS
from .refusal import Refusal, did_you_mean, listed, path, refuse
from .schema import Schema, at, structural
from .value import COLUMN_PATTERN, NAME_PATTERN

_METADATA: Final = ("name", "namespace")


@cache
def job_schema() -> Schema:
    return structural(StreamJob)


def refusals(error: ValidationError) -> list[Refusal]:
    """One refusal per fault, in the order of the manifest."""
    errors = [e for e in error.errors(include_url=False) if not _follows(e, error)]
    return [_refusal(e) for e in errors]


def _follows(error: ErrorDetails, all_errors: ValidationError) -> bool:
    """Whether the error only follows from another fault, which pydantic also reports."""
    if error["type"] == "default_factory_not_called":
        return True
    if error["type"] != "too_short":
        return False
    loc = error["loc"]
    return any(len(e["loc"]) > len(loc) and e["loc"][: len(loc)] == loc for e in all_errors.errors())


def _refusal(error: ErrorDetails) -> Refusal:
    loc = tuple(step for step in error["loc"] if step != "[key]")
    field = path("metadata" if loc[:1] and loc[0] in _METADATA else "spec", *loc)
    reason, sentence = _SENTENCES.get(error["type"], ("InvalidValue", _other))
    return refuse(reason, field, sentence(error, at(job_schema(), loc)))


# ---- one function per kind of error ----------------------------------------------------------------------


def _missing(error: ErrorDetails, schema: Schema) -> str:
    about = schema.get("description", "").rstrip(".")
    return f"is missing; write it ({about})" if about else "is missing; write it"


def _unknown(error: ErrorDetails, _: Schema) -> str:
    *steps, name = error["loc"]
    known = [
        n for n in at(job_schema(), steps).get("properties", {}) if n not in ("true", *_spec_hides(steps))
    ]
    hint = did_you_mean(str(name), known)
    return f"is not a field here{hint}; write one of {', '.join(known)}" if known else "is not a field here"


def _spec_hides(steps: Iterable[object]) -> tuple[str, ...]:
    return () if list(steps) else _METADATA


def _choice(error: ErrorDetails, schema: Schema) -> str:
    choices = [str(choice) for choice in schema.get("enum", [])]
    given = error["input"]
    return f"{given!r} is not known{did_you_mean(str(given), choices)}; write {listed(choices)}"


def _operator(error: ErrorDetails, _: Schema) -> str:
    raw, names = error["input"], list(OPERATORS)
    if isinstance(raw, dict) and len(raw) == 1:
        (name,) = raw
        return (
            f"there is no operator {name!r}{did_you_mean(str(name), names)}; write one of {', '.join(names)}"
        )
    return f"an operator is an object with one key; write one of {', '.join(names)}"


def _pattern(error: ErrorDetails, schema: Schema) -> str:
    pattern, raw = error["ctx"]["pattern"], error["input"]
    match pattern:
        case _ if pattern == NAME_PATTERN:
            return f"{raw!r} is not a name; write lower-case letters, digits and -, beginning with a letter"
        case _ if pattern == COLUMN_PATTERN:
            return f"{raw!r} is not a column name; write letters, digits and _, not beginning with a digit"
        case _:
            return f"{raw!r} does not have the right form; write {schema.get('description', pattern)}".rstrip(
                "."
            )


def _bound(error: ErrorDetails, _: Schema) -> str:
    words = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most"}
    (bound,) = (f"{words[key]} {value}" for key, value in error["ctx"].items() if key in words)
    return f"{error['input']!r} is out of range; write {bound}"


def _too_long(error: ErrorDetails, _: Schema) -> str:
    most = error["ctx"]["max_length"]
    return f"is too long; write at most {most} {_unit(error)}"


def _too_short(error: ErrorDetails, _: Schema) -> str:
    return f"is empty; write at least {error['ctx']['min_length']} {_unit(error)}"


def _unit(error: ErrorDetails) -> str:
    return "characters" if error["type"].startswith("string") else "entries"


def _one_of(error: ErrorDetails, _: Schema) -> str:
    given, choices = list(error["ctx"]["given"]), list(error["ctx"]["choices"])
    has = f"has {listed(given, 'and')}" if given else "has none of them"
    return f"{has}; write exactly one of {', '.join(choices)}"


def _type(wanted: str) -> Callable[[ErrorDetails, Schema], str]:
    return lambda error, _: f"{_short(error['input'])} is not {wanted}; write {wanted}"


def _short(raw: object) -> str:
    match raw:
        case None:
            return "nothing"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case _:
            text = repr(raw)
            return text if len(text) <= 60 else f"{text[:57]}…"


def _list(error: ErrorDetails, _: Schema) -> str:
    raw = error["input"]
    example = f", such as [{raw}]" if isinstance(raw, str) and len(raw) < 60 else ""
    return f"{_short(raw)} is not a list; write a list{example}"


def _value(error: ErrorDetails, _: Schema) -> str:
    return str(error["ctx"]["error"])


def _other(error: ErrorDetails, _: Schema) -> str:
    return f"{_short(error['input'])} is not right ({error['msg']}); write a value of the right form"


_SENTENCES: Final[dict[str, tuple[str, Callable[[ErrorDetails, Schema], str]]]] = {
    "missing": ("MissingField", _missing),
    "extra_forbidden": ("UnknownField", _unknown),
    "enum": ("UnknownChoice", _choice),
    "union_tag_invalid": ("UnknownOperator", _operator),
    "union_tag_not_found": ("UnknownOperator", _operator),
    "string_pattern_mismatch": ("InvalidName", _pattern),
    "greater_than": ("OutOfRange", _bound),
    "greater_than_equal": ("OutOfRange", _bound),
    "less_than": ("OutOfRange", _bound),
    "less_than_equal": ("OutOfRange", _bound),
    "too_long": ("TooLong", _too_long),
    "string_too_long": ("TooLong", _too_long),
    "too_short": ("Empty", _too_short),
    "string_too_short": ("Empty", _too_short),
    "one_of": ("NotExactlyOne", _one_of),
    "value_error": ("InvalidValue", _value),
    "int_type": ("WrongType", _type("a whole number")),
    "bool_type": ("WrongType", _type("true or false")),
    "string_type": ("WrongType", _type("text in quotes")),
    "tuple_type": ("WrongType", _list),
    "mapping_type": ("WrongType", _type("a mapping")),
    "dict_type": ("WrongType", _type("a mapping")),
    "model_type": ("WrongType", _type("a mapping")),
    "model_attributes_type": ("WrongType", _type("a mapping")),
}
