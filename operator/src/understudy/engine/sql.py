"""The `sql` operator: a query that makes rows from rows, over the inputs by name.

The origin of each row must survive the query. So each input is a view of its payload and one struct `_row`
with the control columns, and every SELECT that reads rows passes `_row` on. `ts` and `_seq` are taken from it
where the input has no column of that name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from understudy.engine.frame import ROW, Frame
from understudy.model.sql import Malformed, parse_query

IMPLIED = {"ts": "_ts", "_seq": "_seq"}


def query(text: str, frames: Sequence[Frame]) -> Frame:
    for n, frame in enumerate(frames):
        frame.rows().createOrReplaceTempView(_view(n))
    result = frames[0].df.sparkSession.sql(rewritten(text, {f.table: f.payload for f in frames}))
    payload = [name for name in result.columns if name != ROW]
    # Several inputs become one: places are those of the merged input
    seq = "_pos" if len(frames) > 1 else "_seq"
    return frames[0].of_rows(result, payload, seq)


def rewritten(text: str, inputs: Mapping[str, Sequence[str]]) -> str:
    """The query over the views, with `_row` passed on. `inputs`: each input's own columns."""
    tree = parse_query(text)
    if isinstance(tree, Malformed):
        raise ValueError(f"{text!r}: {tree.why}")
    tree = tree.copy()
    given = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    places = {name.lower(): n for n, name in enumerate(inputs) if name.lower() not in given}
    own = [{column.lower() for column in columns} for columns in inputs.values()]
    for select in list(tree.find_all(exp.Select)):
        table = _table(select)
        if table is not None and table.name.lower() in places:
            place = places[table.name.lower()]
            _take_implied(select, own[place])
            table.replace(
                exp.alias_(exp.to_table(_view(place)), table.alias_or_name, table=True, quoted=True)
            )
        _hand_on(select)
    return tree.sql(dialect="spark")


def _view(place: int) -> str:
    return f"_input{place}"


def _table(select: exp.Select) -> exp.Table | None:
    source = select.args["from_"].this
    return source if isinstance(source, exp.Table) else None


def _take_implied(select: exp.Select, own: set[str]) -> None:
    for column in list(select.find_all(exp.Column)):
        name = column.name.lower()
        if name in IMPLIED and name not in own and column.find_ancestor(exp.Select) is select:
            table = [exp.to_identifier(column.table, quoted=True)] if column.table else []
            taken = exp.Dot.build([*table, exp.to_identifier(ROW), exp.to_identifier(IMPLIED[name])])
            is_output = column.parent is select and column.arg_key == "expressions"
            column.replace(exp.alias_(taken, name) if is_output else taken)


def _hand_on(select: exp.Select) -> None:
    for star in [e for e in select.expressions if e.is_star]:
        inner = star.this if isinstance(star, exp.Column) else star
        inner.set("except_", [exp.to_identifier(ROW), *(inner.args.get("except_") or [])])
    select.select(exp.column(ROW), copy=False)
