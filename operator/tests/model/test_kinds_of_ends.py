"""CONTRIBUTING lists the files that know a source kind or a sink kind. This holds the lists true: no other
file of the product names a kind that exists."""

from __future__ import annotations

import ast
from collections.abc import Collection

import pytest

from understudy.model.sinks import SINKS
from understudy.model.sources import SOURCES

from .naming import code, listed, naming

MODEL_AND_TABLE = {
    "source": {"model/sources.py", "sources/readers.py"},
    "sink": {"model/sinks.py", "sinks/writers.py"},
}
COMPUTED = {"engine/schemas.py"}
"""A generator's columns are computed by those who read it."""


def asking(names: Collection[str]) -> set[str]:
    """Modules that ask a source or a sink for one of these fields."""
    return {
        module
        for module, nodes in code().items()
        for node in nodes
        if isinstance(node, ast.Attribute) and node.attr in names
        if isinstance(node.value, ast.Name) and node.value.id in ("source", "sink", "s")
    }


@pytest.mark.parametrize("kind", SOURCES)
def test_a_source_kind_is_named_where_contributing_says(kind: str) -> None:
    extra = COMPUTED if SOURCES[kind].computed else set()
    allowed = MODEL_AND_TABLE["source"] | {f"sources/{kind}.py"} | extra
    assert naming(SOURCES[kind]) <= allowed
    assert MODEL_AND_TABLE["source"] <= naming(SOURCES[kind])


@pytest.mark.parametrize("kind", SINKS)
def test_a_sink_kind_is_named_where_contributing_says(kind: str) -> None:
    allowed = MODEL_AND_TABLE["sink"] | {f"sinks/{kind}.py"}
    assert naming(SINKS[kind]) <= allowed
    assert MODEL_AND_TABLE["sink"] <= naming(SINKS[kind])


def test_nobody_asks_a_source_or_a_sink_for_one_of_its_kinds() -> None:
    """`source.files`, `sink.kafka`: the question belongs into the descriptor. A generator's own fields are
    checked where expressions are."""
    assert asking({*SOURCES, *SINKS}) == {"model/checks/expressions.py"}


@pytest.mark.parametrize(("what", "folder"), [("source", "sources"), ("sink", "sinks")])
def test_contributing_lists_at_most_six_files(what: str, folder: str) -> None:
    assert listed(f"A {what} kind") == MODEL_AND_TABLE[what] | {f"{folder}/NAME.py", "pyproject.toml"}
