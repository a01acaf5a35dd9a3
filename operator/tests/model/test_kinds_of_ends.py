"""CONTRIBUTING lists the files that know a source kind or a sink kind. This holds the lists true: no other
file of the product names a kind that exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path

import pytest

import understudy
from understudy.model.sinks import SINKS
from understudy.model.sources import SOURCES

PRODUCT = Path(understudy.__file__).parent
CONTRIBUTING = Path(__file__).parents[3] / "CONTRIBUTING.md"
MODEL_AND_TABLE = {
    "source": {"model/sources.py", "sources/readers.py"},
    "sink": {"model/sinks.py", "sinks/writers.py"},
}
COMPUTED = {"engine/schemas.py"}
"""A generator's columns are computed by those who read it."""


@cache
def code() -> dict[str, list[ast.AST]]:
    """Every node of every module."""
    modules = {str(path.relative_to(PRODUCT)): path.read_text() for path in PRODUCT.rglob("*.py")}
    return {module: list(ast.walk(ast.parse(text))) for module, text in modules.items()}


def naming(kind: type) -> set[str]:
    """Modules of the product whose code uses this name."""
    return {
        module
        for module, nodes in code().items()
        if any(isinstance(node, ast.Name) and node.id == kind.__name__ for node in nodes)
    }


def asking(names: Collection[str]) -> set[str]:
    """Modules that ask a source or a sink for one of these fields."""
    return {
        module
        for module, nodes in code().items()
        for node in nodes
        if isinstance(node, ast.Attribute) and node.attr in names
        if isinstance(node.value, ast.Name) and node.value.id in ("source", "sink", "s")
    }


def listed(what: str) -> set[str]:
    """The files of a table of CONTRIBUTING."""
    section = CONTRIBUTING.read_text().split(f"**A {what} kind.**")[1].split("\n**")[0]
    return set(re.findall(r"^\| `([a-zA-Z/._]+)` \|", section, re.MULTILINE))


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
    assert listed(what) == MODEL_AND_TABLE[what] | {f"{folder}/NAME.py", "pyproject.toml"}
