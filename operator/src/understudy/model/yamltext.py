"""YAML, read within bounds: size, depth, number of nodes after aliases, no duplicate keys.

Plain scalars mean what YAML 1.2 says: only true and false are booleans, so that a key `on` stays `on`; dates
and sexagesimal numbers are text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

MAX_BYTES: Final = 1 << 20
MAX_DEPTH: Final = 40
MAX_NODES: Final = 100_000

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT: Final = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class Unreadable(ValueError):
    """The text is not acceptable YAML; the message is a sentence."""


def read(text: str) -> object:
    """The one document in `text`; raises Unreadable."""
    if len(text) > MAX_BYTES or len(text.encode(errors="replace")) > MAX_BYTES:
        raise Unreadable(f"the manifest is larger than {MAX_BYTES >> 20} MiB: write a smaller one")
    try:
        return _Reader(text).document()
    except yaml.MarkedYAMLError as error:
        raise Unreadable(f"the manifest is not YAML{_where(error)}: {_problem(error)}") from None
    except yaml.YAMLError:
        raise Unreadable("the manifest is not YAML: it holds characters that no text has") from None


def _where(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    return f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""


def _problem(error: yaml.MarkedYAMLError) -> str:
    return error.problem or error.context or "it cannot be read"


class _Reader:
    """Builds plain values from the parser's events, so that bounds are checked while reading."""

    def __init__(self, text: str) -> None:
        self.events: Iterator[yaml.Event] = yaml.parse(text, Loader=_LOADER)
        self.anchors: dict[str, tuple[object, int]] = {}
        self.nodes = 0

    def document(self) -> object:
        documents = [
            self.value(next(self.events), 0)
            for event in self.events
            if isinstance(event, yaml.DocumentStartEvent)
        ]
        documents = [document for document in documents if document is not None]
        if len(documents) > 1:
            raise Unreadable(f"the manifest holds {len(documents)} documents: write one StreamJob to a file")
        return documents[0] if documents else None

    def value(self, event: yaml.Event, depth: int) -> object:
        if depth > MAX_DEPTH:
            raise Unreadable(f"the manifest is nested more than {MAX_DEPTH} deep: write a flatter one")
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event)
        before = self.nodes
        self.count(1)
        _refuse_tags(event)
        value: object
        match event:
            case yaml.ScalarEvent():
                value = _scalar(event)
            case yaml.SequenceStartEvent():
                value = self.sequence(depth)
            case _:
                value = self.mapping(depth)
        anchor: str | None = getattr(event, "anchor", None)
        if anchor is not None:
            self.anchors[anchor] = (value, self.nodes - before)
        return value

    def count(self, nodes: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            raise Unreadable(f"the manifest holds more than {MAX_NODES} values: write a smaller one")

    def alias(self, event: yaml.AliasEvent) -> object:
        known = self.anchors.get(str(event.anchor))
        if known is None:
            raise Unreadable(
                f"the manifest's alias *{event.anchor} names no anchor before it: write &{event.anchor} there"
            )
        self.count(known[1])
        return known[0]

    def sequence(self, depth: int) -> list[object]:
        items = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self.value(event, depth + 1))
        return items

    def mapping(self, depth: int) -> dict[str, object]:
        items: dict[str, object] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self.key(event)
            if key in items:
                raise Unreadable(
                    f"the manifest has the key {key!r} twice in one mapping (line {_line(event)}): write it "
                    "once"
                )
            items[key] = self.value(next(self.events), depth + 1)
        return items

    def key(self, event: yaml.Event) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise Unreadable(f"the manifest has a key that is not text (line {_line(event)}): write a name")
        if event.value == "<<" and event.implicit[0]:
            raise Unreadable(f"the manifest uses << (line {_line(event)}): write the fields themselves")
        return str(event.value)


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0


def _refuse_tags(event: yaml.Event) -> None:
    tag = getattr(event, "tag", None)
    if tag not in (None, "!", "tag:yaml.org,2002:str"):
        raise Unreadable(f"the manifest has the tag {tag} (line {_line(event)}): write it without a tag")


def _scalar(event: yaml.ScalarEvent) -> object:
    text = str(event.value)
    if not event.implicit[0]:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if len(text) < 40 and _FLOAT.fullmatch(text) else text
