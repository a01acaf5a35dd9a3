"""The `python` operator: a function of the user's, DataFrame in, DataFrame out, that makes rows from rows.

As in a query, the origin of each row must survive the function: it is in the column `_row`, which the
function passes on. The output for a row may depend on that row alone, or results would change with the
borders of micro-batches; so a function whose plan groups, sorts or joins rows is refused. Only the subjob's
own processes call the function: other processes use the declared columns.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from understudy.engine.frame import ROW, Frame, quoted
from understudy.model.operators import Python

Call = Callable[[Frame, Python], Frame]

ROW_BY_ROW: Final = frozenset(
    {"Project", "Filter", "Generate", "Union", "SubqueryAlias", "ResolvedHint", "MapInPandas", "MapInArrow"}
)
"""Spark's names for the parts of a plan that a function may add."""


class Unsuited(Exception):
    """The function cannot be used; the message says what to do. Processes that need it end with exit code
    2."""


def called(frame: Frame, operator: Python) -> Frame:
    own = {name.lower() for name in frame.payload}
    given = frame.rows(*(name for name in ("ts", "_seq") if name not in own))
    made, wanted = imported(operator.function)(given), _wanted(frame, operator)
    if why := _fault(given, made, wanted):
        raise Unsuited(f"{operator.function} {why}")
    return frame.of_rows(made, wanted.names)


def declared(frame: Frame, operator: Python) -> Frame:
    """The same columns, without calling the function."""
    types = {field.name: field.dataType.simpleString() for field in _wanted(frame, operator)}
    return frame.select({name: f"cast(NULL AS {kind})" for name, kind in types.items()})


def _wanted(frame: Frame, operator: Python) -> StructType:
    if operator.schema_ is not None:
        return StructType.fromDDL(operator.schema_)
    return frame.df.select(*map(quoted, frame.payload)).schema


def imported(name: str) -> Callable[[DataFrame], Any]:
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function, None)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise Unsuited(f"there is no module {module}: write configMap, or put it into the image") from None
    if not callable(found):
        raise Unsuited(f"the module {module} has no function {function}")
    return found  # type: ignore[no-any-return]


def _fault(given: DataFrame, made: object, wanted: StructType) -> str | None:
    if not isinstance(made, DataFrame):
        return f"gave a {type(made).__name__} instead of a DataFrame"
    if ROW not in made.columns or made.schema[ROW].dataType != given.schema[ROW].dataType:
        return f"did not hand on the column {ROW}, which says where a row came from: add it to its select"
    types = {field.name: field.dataType.simpleString() for field in made.schema}
    for field in wanted:
        if field.name not in types:
            return f"gave no column {field.name}: hand it on, or declare in schema what comes instead"
        if types[field.name] != (kind := field.dataType.simpleString()):
            gave = f"gave {field.name} as {types[field.name]} instead of {kind}"
            return f"{gave}: cast it, or declare it in schema"
    added = sorted(set(_parts(made) - _parts(given)) - ROW_BY_ROW)
    if added:
        return f"makes more than rows of rows ({', '.join(added)}): use aggregate or join for that"
    return None


def _parts(df: DataFrame) -> Counter[str]:
    """How often each kind of node occurs in its plan."""

    def nodes(plan: Any) -> Counter[str]:
        children = plan.children()
        inner = (nodes(children.apply(n)) for n in range(children.size()))
        return sum(inner, Counter([str(plan.nodeName())]))

    return nodes(df._jdf.queryExecution().analyzed())
