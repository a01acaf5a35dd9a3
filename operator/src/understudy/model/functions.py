"""Spark's built-in functions: which exist, which need many rows, which return another value each time, which
reach beyond their row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from sqlglot import exp

# ---- the tables ------------------------------------------------------------------------------------------

# Spark resolves these without parentheses when no column has the name.
BARE: Final = frozenset(
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

# Functions that only Spark's grammar knows.
_SYNTAX: Final = {"timestampadd": "datetime", "timestampdiff": "datetime"}

# Functions that cut time into windows by themselves, without the positions of the stream.
WINDOWING: Final = frozenset({"window", "session_window", "window_time"})

EFFECTS: Final[Mapping[str, str]] = {
    "clock": "reads the clock",
    "random": "is random",
    "place": "depends on the partition in which the tuple is processed",
    "process": "depends on the process that runs it",
    "order": "depends on the order in which Spark's tasks deliver rows",
    "outside": "reaches beyond its row: it runs Java code, or reads files of the process",
}
"""What the third word of a line in `spark_functions.txt` says, unless it is `same`. A call with the effect
`outside` is refused; the others make an operator arbitrary."""

_COLLECTS: Final = frozenset({"array_agg", "collect_list", "collect_set", "collect_union"})

# Functions that the parser turns into the same node under any of their names.
_RENAMED: Final[Mapping[type[exp.Expr], str]] = {
    exp.ApproxQuantile: "approx_percentile",
    exp.ArgMax: "max_by",
    exp.ArgMin: "min_by",
    exp.GroupConcat: "listagg",
    exp.Quantile: "percentile",
    exp.First: "first",
    exp.Last: "last",
    exp.FirstValue: "first_value",
    exp.LastValue: "last_value",
    exp.AnyValue: "any_value",
}


@cache
def _table() -> tuple[tuple[str, str, str], ...]:
    """Function, group, effect."""
    text = resources.files(__package__).joinpath("spark_functions.txt").read_text()
    rows = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return tuple((name, group, effect) for name, group, effect in rows)


@cache
def groups() -> Mapping[str, str]:
    """Function → the group that Spark documents it in: agg, window, generator, string …"""
    return _SYNTAX | {name: group for name, group, _ in _table()}


@cache
def effects() -> Mapping[str, str]:
    """Function → its effect, for those that are not a function of their input alone."""
    return {name: effect for name, _, effect in _table() if effect != "same"}


def outside() -> frozenset[str]:
    """Functions that no manifest may call."""
    return frozenset(name for name, effect in effects().items() if effect == "outside")


# ---- calls in a text -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    """As written, in lower case."""
    node: exp.Expr

    @property
    def exists(self) -> bool:
        return self.name in groups()

    @property
    def is_aggregate(self) -> bool:
        return groups().get(self.name) == "agg"

    @property
    def is_windowed(self) -> bool:
        return groups().get(self.name) == "window" or isinstance(self.node.parent, exp.Window)

    @property
    def whole(self) -> exp.Expr:
        """The call with the FILTER (…) or WITHIN GROUP (…) that belongs to it."""
        node = self.node
        while isinstance(node.parent, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
            node = node.parent
        return node

    @property
    def leaves_the_row(self) -> bool:
        return self.name in outside()

    @property
    def makes_rows(self) -> bool:
        return groups().get(self.name) == "generator"


def calls(tree: exp.Expr, text: str) -> Iterator[Call]:
    """The functions that a tree, parsed from `text`, calls by a written name."""
    for node in tree.find_all(exp.Func, exp.Any):
        if name := _name(node, text):
            yield Call(name, node)
    for column in tree.find_all(exp.Column):
        if len(column.parts) == 1 and column.name.lower() in BARE:
            yield Call(column.name.lower(), column)


def _name(node: exp.Expr, text: str) -> str | None:
    start, end = node.meta.get("start"), node.meta.get("end")
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    if isinstance(start, int) and isinstance(end, int):
        return text[start : end + 1].strip("`").lower()
    if isinstance(node, exp.CurrentTimestamp | exp.CurrentDate | exp.CurrentUser | exp.SessionUser):
        return node.sql_name().lower()
    if isinstance(node, exp.Any):
        return None if isinstance(node.parent, exp.Like | exp.ILike) else "any"
    return _RENAMED.get(type(node))


def why_arbitrary(tree: exp.Expr, text: str) -> str | None:
    """Why an expression may return another value each time, as the end of a sentence; None if it does not."""
    found = (why for call in calls(tree, text) if (why := why_call_arbitrary(call, text)))
    return next(found, None) or why_cast_arbitrary(tree)


def why_call_arbitrary(call: Call, text: str) -> str | None:
    effect = effects().get(call.name)
    return f"{call.name} {EFFECTS[effect]}" if effect and not _is_sorted(call, text) else None


def why_cast_arbitrary(tree: exp.Expr) -> str | None:
    for cast in tree.find_all(exp.Cast):
        if cast.this.is_string and cast.this.name.strip().lower() in (
            "now",
            "today",
            "tomorrow",
            "yesterday",
        ):
            return f"'{cast.this.name}' {EFFECTS['clock']}"
    return None


def _is_sorted(call: Call, text: str) -> bool:
    """sort_array(collect_list(x)) no longer depends on the order of the rows, nor mode() within group."""
    parent = call.node.parent
    if call.name == "mode":
        return isinstance(parent, exp.WithinGroup)
    return (
        call.name in _COLLECTS and parent is not None and _name(parent, text) in ("sort_array", "array_sort")
    )
