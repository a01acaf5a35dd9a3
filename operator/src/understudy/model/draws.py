"""The calls in expressions whose result depends on time or chance, and those of them that a batch plan
decides.

| call | is replaced by |
|---|---|
| `now()`, `current_timestamp`, `current_date`, `localtimestamp` | the plan's clock |
| `rand()`, `uuid()` | a function of the plan's salt, the tuple's place and which call it is |

So these are in the determinant of a micro-batch. Calls that are random in another way, or depend on
partitions and tasks, are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sqlglot import exp

from .functions import Call, calls, why_call_arbitrary, why_cast_arbitrary
from .sql import Malformed, parse_expression, parse_query


class Taken(StrEnum):
    """The part of a batch plan that replaces a call."""

    CLOCK = "clock"
    SALT = "salt"


PLANNED: Final[Mapping[str, Taken]] = {
    **dict.fromkeys(("current_timestamp", "now", "current_date", "curdate", "localtimestamp"), Taken.CLOCK),
    **dict.fromkeys(("rand", "random", "uuid"), Taken.SALT),
}


@dataclass(frozen=True, slots=True)
class Draw:
    """A call that may give another answer the next time."""

    why: str
    """A text that ends a sentence."""
    call: Call | None = None
    taken: Taken | None = None
    """None: a batch plan does not decide it."""


def draws(tree: exp.Expr, text: str) -> Iterator[Draw]:
    """All calls in a tree, parsed from `text`, whose result depends on time or chance."""
    for call in calls(tree, text):
        if why := why_call_arbitrary(call, text):
            yield Draw(why, call, None if _has_arguments(call) else PLANNED.get(call.name))
    if why := why_cast_arbitrary(tree):
        yield Draw(why)


def draws_of(text: str) -> Iterator[Draw]:
    """The same for a text that is an expression or a query."""
    for tree in (parse_expression(text), parse_query(text)):
        if not isinstance(tree, Malformed):
            yield from draws(tree, text)
            break


def _has_arguments(call: Call) -> bool:
    """Whether the call has arguments: a seed, or a precision. A bare name is parsed as a column; a name that
    the parser does not know contains itself."""
    args = call.node.args.values()
    return not isinstance(call.node, exp.Column) and any(
        value for value in args if not isinstance(value, str)
    )
