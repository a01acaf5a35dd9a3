"""What must not be in a support bundle: passwords, tokens and keys, in objects and in lines of text.

A value is left out if the name of its field, variable or setting looks secret. Such values are also replaced
wherever else they occur: a password that a manifest contains may be in a log, too. Names of Secrets stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

import yaml

LEFT_OUT: Final = "(left out)"
SHORTEST: Final = 4
"""Shorter values are not searched for in texts: they would be found everywhere."""

_SECRET: Final = (
    r"(?:passw(?:or)?d|passphrase|pwd|secret|token|credential|api[._-]?key|access[._-]?key|"
    r"account[._-]?key|private[._-]?key|encryption[._-]?key|authorization|jaas|cookie|signature|"
    r"connection[._-]?string|(?<![a-z])(?:dsn|pass)(?![a-z]))"
)
LOOKS_SECRET: Final = re.compile(_SECRET, re.IGNORECASE)
ENDINGS: Final = ("_KEY", "_PSK", "_AUTH")
"""Of names of environment variables."""
REFERENCES: Final = frozenset({"secret", "secretName"})
"""Fields that name a Secret."""
COPIES: Final = frozenset({"kubectl.kubernetes.io/last-applied-configuration", "managedFields"})
"""Fields that repeat what is there anyway."""

_URL: Final = r"\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@]*:"
_QUOTED: Final = r"""\\"[^"]*\\"|"(?:[^"\\]|\\.)*"|'[^']*'"""
_VALUE: Final = rf"""(?:{_QUOTED}|[^\s,;&"'}}\])]+)"""
_PATTERNS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), replacement)
    for pattern, replacement in (
        (
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
            LEFT_OUT,
        ),
        (rf"({_URL})[^\s/@]+(?=@)", rf"\1{LEFT_OUT}"),  # user:password@host
        (r"(\b(?:bearer|basic)\s+)[\w.+/~-]{8,}=*", rf"\1{LEFT_OUT}"),
        (r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*", LEFT_OUT),  # a JSON web token
        (r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", LEFT_OUT),  # the name of an AWS key
        (rf"({_SECRET}[\w.-]{{0,64}}(?:\\?[\"'])?[ \t]*[=:][ \t]*){_VALUE}", rf"\1{LEFT_OUT}"),
        (rf"(--[\w-]{{0,64}}{_SECRET}[\w-]{{0,64}}\s+)[^\s-]\S*", rf"\1{LEFT_OUT}"),
    )
)


def redacted(value: Any) -> Any:
    """An object of the API without its secrets."""
    match value:
        case {"kind": "Secret"}:
            return {"kind": "Secret", "metadata": {"name": value.get("metadata", {}).get("name")}}
        case {"kind": "ConfigMap", "data": dict(data)}:
            rest = {key: each for key, each in value.items() if key != "data"}
            return redacted(rest) | {"data": {key: redacted(_parsed(text)) for key, text in data.items()}}
        case {"name": str(name), "value": str()} if _is_secret_variable(name):
            return {**value, "value": LEFT_OUT}
        case dict():
            return {key: _field(key, each) for key, each in value.items() if key not in COPIES}
        case list():
            return [LEFT_OUT if secret else redacted(each) for each, secret in _items(value)]
        case str():
            return scrubbed(value)
        case _:
            return value


def _items(values: list[Any]) -> Iterator[tuple[Any, bool]]:
    """Each, and whether it is the value of an option such as --token."""
    for before, each in zip([None, *values], values, strict=False):
        option = isinstance(before, str) and before.startswith("-") and "=" not in before
        yield each, option and isinstance(each, str) and looks_secret(str(before))


def _field(key: str, value: Any) -> Any:
    return LEFT_OUT if isinstance(value, str) and value and looks_secret(key) else redacted(value)


def secrets_of(value: Any) -> Iterator[str]:
    """The values that `redacted` leaves out because of their names."""
    match value:
        case {"kind": "ConfigMap", "data": dict(data)}:
            for text in data.values():
                yield from secrets_of(_parsed(text))
        case {"name": str(name), "value": str(text)} if _is_secret_variable(name):
            yield text
        case dict():
            for key, each in value.items():
                if isinstance(each, str) and looks_secret(key):
                    yield each
                else:
                    yield from secrets_of(each)
        case list():
            for each, secret in _items(value):
                yield from (each,) if secret else secrets_of(each)
        case str():
            for found in re.finditer(rf"{_URL}([^\s/@]+)@", value, re.IGNORECASE):
                yield from (found[1], unquote(found[1]))


def looks_secret(name: str) -> bool:
    return name not in REFERENCES and bool(LOOKS_SECRET.search(name))


def _is_secret_variable(name: str) -> bool:
    return looks_secret(name) or name.upper().endswith(ENDINGS)


def _parsed(text: Any) -> Any:
    """A file of a ConfigMap: its fields if it is YAML or JSON, else its text."""
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, AttributeError):
        return text
    return found if isinstance(found, dict | list) else text


def scrubbed(text: str) -> str:
    """The text without what looks secret."""
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def without(text: str, values: frozenset[str]) -> str:
    """The text without these values."""
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= SHORTEST:
            text = text.replace(value, LEFT_OUT)
    return text
