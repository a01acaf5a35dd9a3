"""Spark SQL texts, parsed without a JVM."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

# The parser also logs texts that it cannot read; here they become a refusal, once.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)

MAX_BRACKETS: Final = 60
MAX_DEPTH: Final = 400


@dataclass(frozen=True, slots=True)
class Malformed:
    """Why a text is not an expression, a query or a list of columns; continues a sentence."""

    why: str


Parsed = exp.Expr | Malformed


@lru_cache(maxsize=4096)
def parse_expression(text: str) -> Parsed:
    """One Spark SQL expression: no alias, no statement, no query inside."""
    tree = _parse(text, into=exp.Condition)
    if isinstance(tree, Malformed):
        return tree
    if isinstance(tree, exp.Block | exp.Star) or (isinstance(tree, exp.Column) and tree.is_star):
        return Malformed("is not one expression")
    if tree.find(exp.Query):
        return Malformed("holds a query of its own, which an expression may not")
    return tree


@lru_cache(maxsize=4096)
def parse_query(text: str) -> Parsed:
    """One Spark SQL query."""
    tree = _parse(text, into=None)
    if isinstance(tree, Malformed | exp.Query):
        return tree
    return Malformed("is not one query")


@lru_cache(maxsize=1024)
def parse_columns(text: str) -> tuple[exp.ColumnDef, ...] | Malformed:
    """A schema in Spark's notation: `patient string, mv double, at timestamp`."""
    tree = _parse(f"create table t ({text})", into=None)
    if isinstance(tree, Malformed):
        return Malformed("is not a list of columns and their types")
    extras = [name for name, value in tree.args.items() if value and name not in ("this", "kind")]
    columns = tree.this.expressions if isinstance(tree, exp.Create) and not extras else []
    if not columns or not all(isinstance(column, exp.ColumnDef) for column in columns):
        return Malformed("is not a list of columns and their types")
    return tuple(columns)


def mentions_seq(text: str) -> bool:
    """Whether an expression or a query uses `_seq`."""
    for tree in (parse_expression(text), parse_query(text)):
        if not isinstance(tree, Malformed):
            return any(column.name.lower() == "_seq" for column in tree.find_all(exp.Column))
    return False


def _parse(text: str, into: type[exp.Expr] | None) -> Parsed:
    """Bounds are checked before and after: the result can be walked, and Spark can take it."""
    if _brackets(text) > MAX_BRACKETS:
        return Malformed("is nested too deep")
    try:
        tree = sqlglot.parse_one(text, dialect="spark", into=into)
        return Malformed("is nested too deep") if _depth(tree) > MAX_DEPTH else tree
    except ParseError as error:
        return Malformed(_explain(error))
    except SqlglotError:
        return Malformed("has a quote or a comment that is not closed")
    except RecursionError:
        return Malformed("is nested too deep")


def _brackets(text: str) -> int:
    depth = deepest = 0
    for char in text:
        depth += (char in "([") - (char in ")]")
        deepest = max(deepest, depth)
    return deepest


def _depth(tree: exp.Expr) -> int:
    depth, level = 0, [tree]
    while level:
        depth, level = depth + 1, [child for node in level for child in node.iter_expressions()]
    return depth


def _explain(error: ParseError) -> str:
    if not error.errors:
        return "is empty"
    first = error.errors[0]
    near = f"{first.get('start_context') or ''}{first.get('highlight') or ''}"[-30:].strip()
    return f"does not parse after {near!r}" if near else "does not parse"


def shown(text: str) -> str:
    """A text as part of a sentence: quoted, on one line, shortened."""
    line = " ".join(text.split())
    return repr(line if len(line) <= 60 else f"{line[:57]}…")
