"""Calls that would return another value each time, replaced by what the batch plan chose (`model.draws`).

The clock and the salt are columns of a plan's rows. A random value is a function of the salt, of the row's
place (which does not depend on parts and tasks), and of the number of the call. Rows made from one tuple
share its place, so one call returns the same value for all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import sqlglot
from sqlglot import exp

from understudy.engine.frame import ROW, Frame, quoted
from understudy.model.draws import draws
from understudy.model.functions import BARE, Call
from understudy.model.sql import Malformed, Parsed, parse_expression, parse_query

TAKEN: Final = ("_clock", "_salt")
UUID_PARTS: Final = "'^(.{8})(.{4}).(.{3}).(.{3})(.{12})$', '$1-$2-4$3-a$4-$5'"


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the columns where an expression stands."""

    clock: str
    salt: str
    places: tuple[str, ...]
    own: Collection[str]
    """The columns of the rows: a bare `current_date` is a column if there is one of that name."""


def taken_columns(frame: Frame) -> tuple[str, ...]:
    """The columns with the plan's choices that its operators use."""
    return tuple(name for name in TAKEN if name in frame.control)


def names_of(frame: Frame) -> Names:
    """In an expression over these rows."""
    return Names("_clock", "_salt", tuple(map(quoted, frame.order)), _own(frame))


def names_of_pairs(left: Frame) -> Names:
    """In an expression over pairs, which `join` makes; `left`: the rows of the left side."""
    return Names("_l_clock", "_l_salt", ("_l_pos", "_r_pos"), _own(left))


def _own(frame: Frame) -> set[str]:
    return {name.lower() for name in frame.payload}


def expressions(select: Mapping[str, str], names: Names, number: int) -> dict[str, str]:
    """Those of an operator, by output column. `number`: its place in the element."""
    return {
        name: expression(text, names, f"{number}.{place}")
        for place, (name, text) in enumerate(select.items())
    }


def expression(text: str, names: Names, where: str) -> str:
    return _replaced(text, parse_expression(text), names, where)


def planned_query(text: str, number: int, frames: Sequence[Frame]) -> str:
    """Over `_row`, with which a query passes on where each row came from."""
    own = {name.lower() for frame in frames for name in frame.payload}
    places = tuple(f"{ROW}.{quoted(column)}" for column in frames[0].order)
    return _replaced(
        text, parse_query(text), Names(f"{ROW}._clock", f"{ROW}._salt", places, own), f"{number}"
    )


def _replaced(text: str, parsed: Parsed, names: Names, where: str) -> str:
    """Unchanged, exactly as written, if it contains no call that a plan replaces."""
    if isinstance(parsed, Malformed):
        return text
    whole = exp.Paren(this=parsed.copy())
    found = [d.call for d in draws(whole, text) if d.call is not None and d.taken is not None]
    calls = [call for call in found if not _is_column(call, names)]
    for n, call in enumerate(calls):
        call.node.replace(sqlglot.parse_one(_stand_in(call.name, names, f"{where}.{n}"), dialect="spark"))
    return whole.this.sql(dialect="spark") if calls else text


def _is_column(call: Call, names: Names) -> bool:
    is_bare = isinstance(call.node, exp.Column) or "start" not in call.node.meta
    return is_bare and call.name in BARE and call.name in names.own


def _stand_in(call: str, names: Names, which: str) -> str:
    match call:
        case "now" | "current_timestamp":
            return names.clock
        case "current_date" | "curdate":
            return f"cast({names.clock} AS date)"
        case "localtimestamp":
            return f"cast({names.clock} AS timestamp_ntz)"
        case "rand" | "random":
            drawn = f"xxhash64({names.salt}, '{which}', {', '.join(names.places)})"
            return f"(cast(shiftrightunsigned({drawn}, 11) AS double) / 9007199254740992)"
        case "uuid":
            places = (f"cast({place} AS string)" for place in (names.salt, *names.places))
            return f"regexp_replace(md5(concat_ws(':', '{which}', {', '.join(places)})), {UUID_PARTS})"
        case _:
            raise ValueError(f"a batch plan does not choose what {call} gives")
