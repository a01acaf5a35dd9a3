"""Aggregates that can be merged: a window's result is folded from partials of its panes.

| aggregate | partial | folded |
|---|---|---|
| `count`, `count_if` | itself | the sum |
| `sum` | itself | the sum |
| `min`, `max`, `bool_and`, `bool_or`, `bit_and`, … | itself | the same function |
| `avg` | sum as double, count | the quotient |
| `variance`, `stddev`, … | count, mean, sum of squared differences from the mean | Chan's formula |

Each may have a FILTER, and an expression may combine several. With any other aggregate (DISTINCT,
percentiles, collections, …) the windows are computed from their tuples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import sqlglot
from sqlglot.tokenizer_core import Token, TokenType

from .elements import Element
from .functions import calls, groups
from .operators import Aggregate
from .sql import Malformed, parse_expression

PARTIAL: Final = "_p"


@dataclass(frozen=True, slots=True)
class _Merge:
    """`{call}` is the call as written, `{of}` its argument, `{filter}` its FILTER; `{0}` is the first
    partial, `{type0}` that partial's type."""

    partials: tuple[str, ...]
    folded: str


def _again(name: str) -> _Merge:
    return _Merge(("{call}",), f"{name}({{0}})")


_COUNT: Final = _Merge(("{call}",), "coalesce(sum({0}), 0L)")
_MEAN: Final = _Merge(
    ("sum(cast(({of}) AS double)){filter}", "count({of}){filter}"), "(sum({0}) / nullif(sum({1}), 0L))"
)
_MOMENTS: Final = (
    "named_struct('n', cast(count({of}){filter} AS double), 'mean', avg(cast(({of}) AS double)){filter},"
    " 'm2', regr_sxx(cast(({of}) AS double), cast(({of}) AS double)){filter})"
)
_CHAN: Final = (
    "aggregate(collect_list({{0}}), named_struct('n', 0D, 'mean', 0D, 'm2', 0D),"
    " (a, b) -> CASE WHEN b.n = 0D THEN a WHEN a.n = 0D THEN b ELSE named_struct('n', a.n + b.n,"
    " 'mean', a.mean + (b.mean - a.mean) / (a.n + b.n) * b.n,"
    " 'm2', a.m2 + b.m2 + (b.mean - a.mean) * ((b.mean - a.mean) / (a.n + b.n)) * a.n * b.n) END,"
    " a -> {0})"
)


def _moment(finish: str) -> _Merge:
    return _Merge((_MOMENTS,), _CHAN.format(finish))


_OF_ALL: Final = _moment("if(a.n = 0D, NULL, a.m2 / a.n)")
_OF_SAMPLE: Final = _moment("if(a.n <= 1D, NULL, a.m2 / (a.n - 1D))")
_DEVIATION: Final = _moment("if(a.n <= 1D, NULL, sqrt(a.m2 / (a.n - 1D)))")
MERGED: Final[Mapping[str, _Merge]] = {
    "count": _COUNT,
    "count_if": _COUNT,
    "sum": _Merge(("{call}",), "cast(sum({0}) AS {type0})"),
    **{
        name: _again(name)
        for name in (
            "min",
            "max",
            "bool_and",
            "bool_or",
            "any",
            "some",
            "every",
            "bit_and",
            "bit_or",
            "bit_xor",
        )
    },
    "avg": _MEAN,
    "mean": _MEAN,
    "var_pop": _OF_ALL,
    "stddev_pop": _moment("if(a.n = 0D, NULL, sqrt(a.m2 / a.n))"),
    **dict.fromkeys(("variance", "var_samp"), _OF_SAMPLE),
    **dict.fromkeys(("std", "stddev", "stddev_samp"), _DEVIATION),
}


@dataclass(frozen=True, slots=True)
class Mergeable:
    """How a window's result is folded from partials."""

    partials: Mapping[str, str]
    """Column of a partial → Spark SQL aggregate over a pane's rows."""
    _select: Mapping[str, str]

    def select(self, types: Mapping[str, str]) -> dict[str, str]:
        """Output column → Spark SQL aggregate over a window's partials. `types`: of the partials' columns."""
        named = {f"type:{column}": types[column] for column in self.partials}
        return {name: _filled(text, named) for name, text in self._select.items()}


@dataclass(frozen=True, slots=True)
class Whole:
    """Why a window's result needs all of its tuples; continues a sentence."""

    why: str


def panes_of(element: Element) -> Mergeable | Whole:
    """Whether the element's windows can be folded from partials of panes."""
    operator = next((op for op in element.operators if isinstance(op, Aggregate)), None)
    if operator is None:
        return Whole("it has no windows")
    if any(op.taken or any(op.draws()) for op in element.operators):
        return Whole("an expression depends on time or chance")
    return mergeable(operator)


def mergeable(operator: Aggregate) -> Mergeable | Whole:
    partials: dict[str, str] = {}
    select: dict[str, str] = {}
    for name, text in operator.select.items():
        found = _split(text)
        if isinstance(found, Whole):
            return found
        select[name] = _folded(text, found, partials)
    return Mergeable(partials, select)


# --- the aggregate calls in a text


@dataclass(frozen=True, slots=True)
class _Called:
    """An aggregate call and its place in the text."""

    name: str
    start: int
    stop: int
    of: str
    filter: str


def _split(text: str) -> list[_Called] | Whole:
    tree = parse_expression(text)
    if isinstance(tree, Malformed):
        return Whole(f"{text} {tree.why}")
    known = [call for call in calls(tree, text) if call.is_aggregate or call.is_windowed]
    for call in known:
        if call.is_windowed or call.name not in MERGED:
            return Whole(f"{call.name} can't be merged")
    found = _called(text, sqlglot.tokenize(text, dialect="spark"))
    if isinstance(found, list) and len(found) != len(known):
        return Whole(f"the aggregates in {text} were not all found")
    return found


def _called(text: str, tokens: Sequence[Token]) -> list[_Called] | Whole:
    found, at = [], 0
    while at + 1 < len(tokens):
        name = tokens[at].text.lower()
        if tokens[at + 1].token_type is not TokenType.L_PAREN or groups().get(name) != "agg":
            at += 1
            continue
        close = _closing(tokens, at + 1)
        if tokens[at + 2].token_type is TokenType.DISTINCT:
            return Whole(f"{name}(DISTINCT …) can't be merged")
        end, condition = close, ""
        if close + 2 < len(tokens) and tokens[close + 1].token_type is TokenType.FILTER:
            end = _closing(tokens, close + 2)
            condition = " " + text[tokens[close + 1].start : tokens[end].end + 1]
        of = text[tokens[at + 1].end + 1 : tokens[close].start]
        found.append(_Called(name, tokens[at].start, tokens[end].end + 1, of, condition))
        at = end + 1
    return found


def _closing(tokens: Sequence[Token], opening: int) -> int:
    """The place of the bracket that closes the one at `opening`."""
    depth = 0
    for place in range(opening, len(tokens)):
        depth += (tokens[place].token_type is TokenType.L_PAREN) - (
            tokens[place].token_type is TokenType.R_PAREN
        )
        if not depth:
            return place
    raise ValueError("brackets do not match")


def _folded(text: str, found: Sequence[_Called], partials: dict[str, str]) -> str:
    """The text with each call replaced; adds the partials that it needs."""
    pieces, at = [], 0
    for call in found:
        merge = MERGED[call.name]
        written = {"call": text[call.start : call.stop], "of": call.of, "filter": call.filter}
        columns = [_column(_filled(partial, written), partials) for partial in merge.partials]
        named = {str(n): column for n, column in enumerate(columns)}
        named |= {f"type{n}": f"{{type:{column}}}" for n, column in enumerate(columns)}
        pieces += [text[at : call.start], _filled(merge.folded, named)]
        at = call.stop
    return "".join([*pieces, text[at:]])


def _column(partial: str, partials: dict[str, str]) -> str:
    for column, text in partials.items():
        if text == partial:
            return column
    column = f"{PARTIAL}{len(partials)}"
    partials[column] = partial
    return column


def _filled(template: str, values: Mapping[str, str]) -> str:
    """The template with each `{name}` replaced once: what is put in is not searched again."""
    pieces: list[str] = []
    rest = template
    while True:
        places = [(rest.find(f"{{{name}}}"), name) for name in values]
        at, name = min(((at, name) for at, name in places if at >= 0), default=(-1, ""))
        if at < 0:
            return "".join([*pieces, rest])
        pieces += [rest[:at], values[name]]
        rest = rest[at + len(name) + 2 :]
