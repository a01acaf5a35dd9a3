"""Spark SQL, read without a JVM: parsing, the columns and functions that a text mentions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

MAX_DEPTH: Final = 60

# Spark resolves these without parentheses when no column has the name.
BARE_FUNCTIONS: Final = frozenset(
    {
        "current_date",
        "current_time",
        "current_timestamp",
        "current_user",
        "localtimestamp",
        "session_user",
        "user",
    }
)


@dataclass(frozen=True, slots=True)
class Malformed:
    """Why a text is not an expression or a query."""

    why: str


Parsed = exp.Expr | Malformed


@lru_cache(maxsize=4096)
def parse_expression(text: str) -> Parsed:
    """One Spark SQL expression: no alias, no statement, no subquery."""
    tree = _parse(text, into=exp.Condition)
    if isinstance(tree, Malformed):
        return tree
    if isinstance(tree, exp.Block | exp.Star) or (isinstance(tree, exp.Column) and tree.is_star):
        return Malformed("it is not one expression")
    if tree.find(exp.Query):
        return Malformed("it holds a query of its own, which an expression may not")
    return tree


@lru_cache(maxsize=4096)
def parse_query(text: str) -> Parsed:
    """One Spark SQL query."""
    tree = _parse(text, into=None)
    if isinstance(tree, Malformed | exp.Query):
        return tree
    return Malformed("it is not one query: write select … from …")


def _parse(text: str, into: type[exp.Expr] | None) -> Parsed:
    if _depth(text) > MAX_DEPTH:
        return Malformed(f"it is nested more than {MAX_DEPTH} deep")
    try:
        return sqlglot.parse_one(text, dialect="spark", into=into)
    except ParseError as error:
        return Malformed(_explain(error))
    except SqlglotError:
        return Malformed("a quote or a comment is not closed")
    except RecursionError:
        return Malformed("it is nested too deep")


def _depth(text: str) -> int:
    depth = deepest = 0
    for char in text:
        depth += (char in "([") - (char in ")]")
        deepest = max(deepest, depth)
    return deepest


def _explain(error: ParseError) -> str:
    if not error.errors:
        return "it is empty"
    first = error.errors[0]
    near = f"{first.get('start_context') or ''}{first.get('highlight') or ''}"[-30:]
    return f"it does not parse after {near.strip()!r}" if near.strip() else "it does not parse"


# ---- what a text mentions --------------------------------------------------------------------------------


def mentions_seq(text: str) -> bool:
    """Whether an expression or a query names `_seq`."""
    for tree in (parse_expression(text), parse_query(text)):
        if not isinstance(tree, Malformed):
            return any(column.name.lower() == "_seq" for column in tree.find_all(exp.Column))
    return False


@cache
def spark_functions() -> frozenset[str]:
    """The names of Spark's builtin functions."""
    return frozenset(resources.files(__package__).joinpath("spark_functions.txt").read_text().split())


def functions(tree: exp.Expr, text: str) -> Iterator[tuple[str, exp.Expr]]:
    """Each function call as written, in lower case, with its node; `tree` was parsed from `text`."""
    for node in tree.find_all(exp.Func):
        start, end = node.meta.get("start"), node.meta.get("end")
        if isinstance(node, exp.Anonymous):
            yield node.name.lower(), node
        elif isinstance(start, int) and isinstance(end, int):
            yield text[start : end + 1].strip("`").lower(), node
        else:
            yield node.sql_name().lower(), node
