"""The operators of a subjob: a closed union, each written as an object with one key: `{filter: {…}}`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import (
    AliasChoices,
    BeforeValidator,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    StrictBool,
    StrictInt,
    StrictStr,
    Tag,
    WithJsonSchema,
    WrapSerializer,
    model_validator,
)

from .value import Column, Duration, Expression, Extent, Name, Number, Schema, Value

# kubectl reads YAML 1.1, where an unquoted key `on` is the boolean true and reaches the API server as "true".
ON: Final = AliasChoices("on", "true")
FUNCTION: Final = r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*$"


class WindowOn(StrEnum):
    SEQ = "_seq"
    TS = "ts"


class Filter(Value):
    """Lets a tuple pass where the condition is true. Keeps the input's order and seqs."""

    where: Expression
    """A Spark SQL condition over the columns, `_seq` and `ts`, such as `mv > 0.8`."""


class Map(Value):
    """Makes one tuple of each: the selected columns and no others."""

    select: Annotated[Mapping[Column, Expression], Field(min_length=1, max_length=500)]
    """Output column → Spark SQL expression over the input's columns, `_seq` and `ts`."""


class Window(Value):
    """Window k covers [k*slide, k*slide + size) of the input, k ≥ 0, and is emitted once, when it is full."""

    on: Annotated[WindowOn, Field(validation_alias=ON)]
    """`_seq`: by the tuple's place on the subjob's input stream. `ts`: by event time, counted from the
    epoch."""

    size: Extent
    """Length of a window: a number of tuples on `_seq`, a duration such as `10s` on `ts`."""

    slide: Extent = Field(default_factory=lambda data: data["size"])
    """Distance between two windows' starts; at most the size. Default: the size, so that windows tile the
    stream."""

    lateness: Duration = timedelta(0)
    """Windows on `ts` only: how long after its end a window still waits for tuples. Default: 0s."""


class Aggregate(Value):
    """One tuple per window and group: the group columns, `window_start`, `window_end`, the selected
    columns."""

    window: Window
    """Which input tuples belong together."""

    group_by: Annotated[tuple[Column, ...], Field(max_length=50)] = ()
    """Columns to group by; each window gives one tuple per group that has tuples. Default: one group."""

    select: Annotated[Mapping[Column, Expression], Field(min_length=1, max_length=500)]
    """Output column → Spark SQL aggregate, such as `count(*)` or `max(mv)`."""


class Join(Value):
    """Pairs of tuples of two inputs whose event times differ by at most `within` and for which `on` is
    true."""

    with_: Annotated[Name, Field(alias="with")]
    """The right-hand input; one of the subjob's inputs. The left-hand input is the stream so far."""

    on: Annotated[Expression, Field(validation_alias=ON)]
    """The condition; columns are qualified by their input, such as `beats.patient = pressure.patient`."""

    within: Duration
    """The greatest difference between the event times of a pair. It bounds what the join must remember."""

    select: Annotated[Mapping[Column, Expression], Field(min_length=1, max_length=500)] | None = None
    """Output column → expression. Default: all of the left, then of the right, `<input>_` before a name
    that clashes."""


class Union(Value):
    """All tuples of all inputs, columns by name. The order is that of `merge`."""


Fraction = Annotated[
    Number, Field(ge=0, le=1), WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})
]


class Sample(Value):
    """Lets a random share of the tuples pass."""

    fraction: Fraction
    """The share that passes, from 0 to 1."""

    seed: Annotated[StrictInt, Field(ge=-(2**53), le=2**53)] | None = None
    """With a seed the choice is a function of seed and `_seq` and can be repeated. Default: random."""


class Sql(Value):
    """A Spark SQL query over the inputs by name that makes rows from rows: SELECT, WHERE, CASE, explode,
    UNION ALL. Also written as a plain string: `sql: "select …"`."""

    query: Expression
    """The query. It keeps no state: for groups use `aggregate`, for pairs `join`."""

    @model_validator(mode="before")
    @classmethod
    def _plain_string(cls, raw: object) -> object:
        return {"query": raw} if isinstance(raw, str) else raw


class Python(Value):
    """A Python function, DataFrame in, DataFrame out, that makes rows from rows: no groups, no joins, no
    order. It gets the stream's columns, `ts`, `_seq` and `_row`, and has to keep `_row`, which says where a
    row came from."""

    function: Annotated[StrictStr, Field(pattern=FUNCTION, max_length=300)]
    """`module:function`."""

    schema_: Annotated[Schema | None, Field(alias="schema")] = None
    """The columns that it makes, in Spark's notation, such as `patient string, score double`; other columns
    are dropped. Default: the columns that it gets."""

    config_map: Name | None = None
    """The ConfigMap that contains the module, as `module.py`. Default: the image. `understudy run` also finds
    a `module.py` beside the manifest."""

    deterministic: StrictBool = False
    """The author's assurance that equal rows give equal results."""


class Correlate(Value):
    """A function that consumes selections and emits events. Not available yet."""

    function: Annotated[StrictStr, Field(pattern=FUNCTION, max_length=300)]
    """`module:function`."""

    config_map: Name | None = None
    """The ConfigMap that contains the module. Default: the image."""

    deterministic: StrictBool = False
    """The author's assurance that equal input gives equal output."""


OPERATORS: Final[Mapping[str, type[Value]]] = {
    "filter": Filter,
    "map": Map,
    "aggregate": Aggregate,
    "join": Join,
    "union": Union,
    "sample": Sample,
    "sql": Sql,
    "python": Python,
    "correlate": Correlate,
}
_KINDS: Final = {kind: name for name, kind in OPERATORS.items()}


def kind_of(operator: Value) -> str:
    """`filter` for a Filter: the operator's key in a manifest."""
    return _KINDS[type(operator)]


def _tag(raw: Any) -> str | None:
    if isinstance(raw, Value):
        return _KINDS.get(type(raw))
    if isinstance(raw, dict) and len(raw) == 1:
        return str(next(iter(raw)))
    return None


def _untag(raw: Any) -> Any:
    return next(iter(raw.values())) if isinstance(raw, dict) else raw


def _retag(operator: Value, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
    return {kind_of(operator): handler(operator)}


_IN, _OUT = BeforeValidator(_untag), WrapSerializer(_retag, return_type=dict[str, Any])

Operator = Filter | Map | Aggregate | Join | Union | Sample | Sql | Python | Correlate

TaggedOperator = Annotated[
    Annotated[Filter, _IN, _OUT, Tag("filter")]
    | Annotated[Map, _IN, _OUT, Tag("map")]
    | Annotated[Aggregate, _IN, _OUT, Tag("aggregate")]
    | Annotated[Join, _IN, _OUT, Tag("join")]
    | Annotated[Union, _IN, _OUT, Tag("union")]
    | Annotated[Sample, _IN, _OUT, Tag("sample")]
    | Annotated[Sql, _IN, _OUT, Tag("sql")]
    | Annotated[Python, _IN, _OUT, Tag("python")]
    | Annotated[Correlate, _IN, _OUT, Tag("correlate")],
    Discriminator(_tag),
]
