"""Pairs within reach of each other; the rule and the order are those of `protocol.selection.Within`."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from understudy.engine.frame import Frame, named, quoted
from understudy.engine.planned import expression, expressions, names_of_pairs, taken_columns
from understudy.model.operators import Join
from understudy.protocol.selection import micros

MINE = ("_pos", "_ts", "_wm", "_new")


def join(left: Frame, right: Frame, operator: Join, number: int) -> Frame:
    """`number`: the operator's place in the element."""
    names = names_of_pairs(left)
    on = expression(operator.on, names, f"{number}")
    select = expressions(operator.select or {}, names, number)
    reach = f"{micros(operator.within)}L"
    taken = taken_columns(left)
    pairs = _side(left, "_l").join(_side(right, "_r").hint("shuffle_hash"), _condition(on, reach), "inner")
    payload = select or _all_columns(left, right)
    df = pairs.selectExpr(
        "greatest(_l_pos, _r_pos) AS _later",
        "least(_l_pos, _r_pos) AS _earlier",
        "greatest(_l_ts, _r_ts) AS _ts",
        *(f"_l{name} AS {name}" for name in taken),
        *named(payload),
    )
    return Frame.of(df, left.table, ("_later", "_earlier", "_ts", *taken), payload, ("_later", "_earlier"))


def _side(frame: Frame, prefix: str) -> DataFrame:
    own = {name.lower() for name in frame.payload}
    visible = [*frame.payload, *(name for name in ("ts", "_seq") if name not in own)]
    columns = [
        *map(quoted, visible),
        *(f"{name} AS {prefix}{name}" for name in (*MINE, *taken_columns(frame))),
    ]
    return frame.df.selectExpr(*columns).alias(frame.table)


def _condition(on: str, reach: str) -> Column:
    near = f"abs(unix_micros(_l_ts) - unix_micros(_r_ts)) <= {reach}"
    not_passed = (
        f"if(_l_pos > _r_pos, coalesce(unix_micros(_l_wm) <= unix_micros(_r_ts) + {reach}, true),"
        f" coalesce(unix_micros(_r_wm) <= unix_micros(_l_ts) + {reach}, true))"
    )
    return F.expr(f"({on}\n) AND {near} AND (_l_new OR _r_new) AND {not_passed}")


def _all_columns(left: Frame, right: Frame) -> dict[str, str]:
    columns = {name: f"{quoted(left.table)}.{quoted(name)}" for name in left.payload}
    taken = {name.lower() for name in left.payload}
    for name in right.payload:
        free = f"{right.table}_{name}" if name.lower() in taken else name
        columns[free] = f"{quoted(right.table)}.{quoted(name)}"
    return columns
