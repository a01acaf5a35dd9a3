"""Spark SQL expressions over one row as Python functions, by the parser's tree."""

from __future__ import annotations

import math
import operator
import zlib
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

from sqlglot import exp

from understudy.model.sql import Malformed, parse_expression
from understudy_lab.verify.plain.murmur import spark_hash
from understudy_lab.verify.plain.types import (
    BOOLEAN,
    DOUBLE,
    INT,
    LONG,
    NULL,
    STRING,
    Columns,
    Kind,
    NotPlain,
    Term,
    Type,
    Values,
    common,
    fitting,
    quotient,
)

Compare = Callable[[Any, Any], bool]

COMPARISONS: Final[Mapping[type[exp.Expr], Compare]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
ARITHMETIC: Final[Mapping[type[exp.Expr], Callable[[Any, Any], Any]]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
}
OF_DOUBLES: Final[Mapping[type[exp.Expr], Callable[[float], float]]] = {
    exp.Sin: math.sin,
    exp.Cos: math.cos,
    exp.Exp: math.exp,
    exp.Sqrt: lambda x: math.sqrt(x) if x >= 0 else math.nan,
}
OF_STRINGS: Final[Mapping[type[exp.Expr], tuple[Type, Callable[[str], Any]]]] = {
    exp.Upper: (STRING, str.upper),
    exp.Lower: (STRING, str.lower),
    exp.Length: (INT, len),
}
CASTS: Final = {"INT": INT, "BIGINT": LONG, "DOUBLE": DOUBLE, "STRING": STRING, "TEXT": STRING}


def term(text: str, columns: Columns) -> Term:
    tree = parse_expression(text)
    if isinstance(tree, Malformed):
        raise NotPlain(f"{text!r} {tree.why}")
    return compiled(tree, columns)


def compiled(node: exp.Expr, columns: Columns) -> Term:
    parts = _PARTS.get(type(node))
    if parts is not None:
        return parts(node, columns)
    return _known(node, columns)


def _known(node: exp.Expr, columns: Columns) -> Term:
    kind = type(node)
    if kind in COMPARISONS:
        return _comparison(COMPARISONS[kind], *_pair(node, columns))
    if kind in ARITHMETIC:
        return _arithmetic(ARITHMETIC[kind], *_pair(node, columns))
    if kind in OF_DOUBLES:
        function, number = OF_DOUBLES[kind], _double(compiled(node.this, columns))
        return Term(DOUBLE, _strict(function, number))
    if kind in OF_STRINGS:
        type_, of = OF_STRINGS[kind]
        return Term(type_, _strict(of, _string(compiled(node.this, columns))))
    raise NotPlain(node.sql(dialect="spark"))


def _strict(function: Callable[..., Any], *terms: Term) -> Callable[[Values], Any]:
    """NULL if an argument is NULL."""
    ofs = [t.of for t in terms]

    def of(row: Values) -> Any:
        values = [of(row) for of in ofs]
        return None if None in values else function(*values)

    return of


def _pair(node: exp.Expr, columns: Columns) -> tuple[Term, Term]:
    return compiled(node.this, columns), compiled(node.expression, columns)


# --- leaves


def _column(node: exp.Expr, columns: Columns) -> Term:
    name = next((c for c in columns if c.lower() == node.name.lower()), None)
    if name is None or len(list(node.parts)) > 2:  # type: ignore[attr-defined]
        raise NotPlain(node.sql(dialect="spark"))
    return Term(columns[name], operator.itemgetter(name))


def _literal(node: exp.Expr, _: Columns) -> Term:
    text = str(node.this)
    if node.args["is_string"]:
        return _constant(STRING, text)
    if "e" in text.lower():
        return _constant(DOUBLE, float(text))
    if "." in text:
        digits = Decimal(text).as_tuple()
        scale = -int(digits.exponent)
        return _constant(Type(Kind.DECIMAL, max(len(digits.digits), scale), scale), Decimal(text))
    value = int(text)
    return _constant(INT if value < 1 << 31 else LONG, value)


def _constant(type_: Type, value: Any) -> Term:
    return Term(type_, lambda _: value)


# --- numbers


def _arithmetic(function: Callable[[Any, Any], Any], left: Term, right: Term) -> Term:
    type_ = common(left.type, right.type)
    if type_.kind is Kind.DOUBLE:
        return Term(DOUBLE, _strict(function, _double(left), _double(right)))
    if type_.whole:
        return Term(type_, _strict(lambda a, b: fitting(function(a, b), type_), left, right))
    raise NotPlain(f"arithmetic on {type_.kind.value}")


def _divide(node: exp.Expr, columns: Columns) -> Term:
    left, right = _pair(node, columns)
    type_ = quotient(left.type, right.type)
    if type_.kind is Kind.DOUBLE:
        return Term(DOUBLE, _strict(lambda a, b: a / _nonzero(b), _double(left), _double(right)))
    unit = Decimal(1).scaleb(-type_.scale)
    return Term(
        type_,
        _strict(lambda a, b: (Decimal(a) / Decimal(_nonzero(b))).quantize(unit, ROUND_HALF_UP), left, right),
    )


def _whole_quotient(node: exp.Expr, columns: Columns) -> Term:
    left, right = _pair(node, columns)
    _whole(common(left.type, right.type), "div")
    return Term(LONG, _strict(lambda a, b: _truncated(a, _nonzero(b)), left, right))


def _remainder(node: exp.Expr, columns: Columns) -> Term:
    left, right = _pair(node, columns)
    type_ = _whole(common(left.type, right.type), "%")
    return Term(type_, _strict(lambda a, b: a - _truncated(a, _nonzero(b)) * b, left, right))


def _positive_remainder(arguments: Sequence[Term]) -> Term:
    left, right = arguments
    type_ = _whole(common(left.type, right.type), "pmod")
    return Term(type_, _strict(lambda a, b: a % _positive(b), left, right))


def _truncated(a: int, b: int) -> int:
    whole = abs(a) // abs(b)
    return whole if (a < 0) == (b < 0) else -whole


def _nonzero(value: Any) -> Any:
    if value == 0:
        raise NotPlain("a division by zero")
    return value


def _positive(value: int) -> int:
    if value <= 0:
        raise NotPlain("pmod by a number that is not positive")
    return value


def _whole(type_: Type, what: str) -> Type:
    if not type_.whole:
        raise NotPlain(f"{what} of {type_.kind.value}")
    return type_


def _negative(node: exp.Expr, columns: Columns) -> Term:
    number = compiled(node.this, columns)
    return Term(number.type, _strict(operator.neg, number))


def _absolute(node: exp.Expr, columns: Columns) -> Term:
    number = compiled(node.this, columns)
    return Term(number.type, _strict(abs, number))


def _rounded_down(node: exp.Expr, columns: Columns) -> Term:
    if node.args.get("decimals") is not None:
        raise NotPlain("floor with a scale")
    return Term(LONG, _strict(math.floor, _double(compiled(node.this, columns))))


def _double(number: Term) -> Term:
    if not number.type.numeric:
        raise NotPlain(f"a number from a {number.type.kind.value}")
    return number if number.type.kind is Kind.DOUBLE else Term(DOUBLE, _strict(float, number))


# --- strings


def _string(value: Term) -> Term:
    if value.type.kind is Kind.STRING:
        return value
    if value.type.whole:
        return Term(STRING, _strict(str, value))
    raise NotPlain(f"a text from a {value.type.kind.value}")


def _concatenation(node: exp.Expr, columns: Columns) -> Term:
    texts = [_string(compiled(part, columns)) for part in node.expressions]
    return Term(STRING, _strict(lambda *parts: "".join(parts), *texts))


def _pipes(node: exp.Expr, columns: Columns) -> Term:
    return Term(STRING, _strict(operator.add, *map(_string, _pair(node, columns))))


# --- truth


def _comparison(holds: Compare, left: Term, right: Term) -> Term:
    if left.type.numeric and right.type.numeric:
        if Kind.DOUBLE in (left.type.kind, right.type.kind):
            left, right = _double(left), _double(right)
    elif left.type != right.type and NULL not in (left.type, right.type):
        raise NotPlain(f"a {left.type.kind.value} compared with a {right.type.kind.value}")
    return Term(BOOLEAN, _strict(holds, left, right))


def _and(node: exp.Expr, columns: Columns) -> Term:
    left, right = _pair(node, columns)

    def of(row: Values) -> bool | None:
        values = left.of(row), right.of(row)
        return False if False in values else None if None in values else True

    return Term(BOOLEAN, of)


def _or(node: exp.Expr, columns: Columns) -> Term:
    left, right = _pair(node, columns)

    def of(row: Values) -> bool | None:
        values = left.of(row), right.of(row)
        return True if True in values else None if None in values else False

    return Term(BOOLEAN, of)


def _not(node: exp.Expr, columns: Columns) -> Term:
    return Term(BOOLEAN, _strict(operator.not_, compiled(node.this, columns)))


def _is(node: exp.Expr, columns: Columns) -> Term:
    if not isinstance(node.expression, exp.Null):
        raise NotPlain(node.sql(dialect="spark"))
    value = compiled(node.this, columns)
    return Term(BOOLEAN, lambda row: value.of(row) is None)


def _in(node: exp.Expr, columns: Columns) -> Term:
    value = compiled(node.this, columns)
    equal = [_comparison(operator.eq, value, compiled(other, columns)).of for other in node.expressions]

    def of(row: Values) -> bool | None:
        found = [holds(row) for holds in equal]
        return True if True in found else None if None in found else False

    return Term(BOOLEAN, of)


def _between(node: exp.Expr, columns: Columns) -> Term:
    value = compiled(node.this, columns)
    low = _comparison(operator.ge, value, compiled(node.args["low"], columns)).of
    high = _comparison(operator.le, value, compiled(node.args["high"], columns)).of

    def of(row: Values) -> bool | None:
        found = low(row), high(row)
        return False if False in found else None if None in found else True

    return Term(BOOLEAN, of)


# --- choices


def _case(node: exp.Expr, columns: Columns) -> Term:
    if node.this is not None:
        raise NotPlain("case of a value")
    branches = [(compiled(i.this, columns), compiled(i.args["true"], columns)) for i in node.args["ifs"]]
    return _choice(branches, node.args.get("default"), columns)


def _if(node: exp.Expr, columns: Columns) -> Term:
    branch = compiled(node.this, columns), compiled(node.args["true"], columns)
    return _choice([branch], node.args.get("false"), columns)


def _choice(branches: Sequence[tuple[Term, Term]], default: exp.Expr | None, columns: Columns) -> Term:
    otherwise = compiled(default, columns) if default is not None else _constant(NULL, None)
    type_, results = _alike([*(result for _, result in branches), otherwise])

    def of(row: Values) -> Any:
        for (condition, _), result in zip(branches, results, strict=False):
            if condition.of(row):
                return result.of(row)
        return results[-1].of(row)

    return Term(type_, of)


def _coalesce(node: exp.Expr, columns: Columns) -> Term:
    type_, terms = _alike([compiled(part, columns) for part in (node.this, *node.expressions)])

    def of(row: Values) -> Any:
        return next((value for value in (t.of(row) for t in terms) if value is not None), None)

    return Term(type_, of)


def _extreme(pick: Callable[[list[Any]], Any]) -> Callable[[exp.Expr, Columns], Term]:
    def build(node: exp.Expr, columns: Columns) -> Term:
        type_, terms = _alike([compiled(part, columns) for part in (node.this, *node.expressions)])

        def of(row: Values) -> Any:
            values = [value for value in (t.of(row) for t in terms) if value is not None]
            return pick(values) if values else None

        return Term(type_, of)

    return build


def _alike(terms: Sequence[Term]) -> tuple[Type, list[Term]]:
    type_ = terms[0].type
    for other in terms[1:]:
        type_ = common(type_, other.type)
    if type_.kind is Kind.DOUBLE:
        return DOUBLE, [t if t.type == NULL else _double(t) for t in terms]
    return type_, list(terms)


# --- casts and other functions


def _cast(node: exp.Expr, columns: Columns) -> Term:
    to = CASTS.get(node.args["to"].sql(dialect="spark").upper())
    value = compiled(node.this, columns)
    if to is None:
        raise NotPlain(node.sql(dialect="spark"))
    if to is STRING:
        return _string(value)
    if to is DOUBLE:
        return _double(value)
    if value.type.kind is Kind.DOUBLE or value.type.whole:
        return Term(to, _strict(lambda number: fitting(math.trunc(number), to), value))
    raise NotPlain(node.sql(dialect="spark"))


def _by_name(node: exp.Expr, columns: Columns) -> Term:
    arguments = [compiled(part, columns) for part in node.expressions]
    match node.name.lower():
        case "hash":
            return Term(INT, lambda row: spark_hash([(t.type, t.of(row)) for t in arguments]))
        case "pmod":
            return _positive_remainder(arguments)
        case "crc32":
            return Term(LONG, _strict(lambda text: zlib.crc32(text.encode()), *map(_string, arguments)))
        case name:
            raise NotPlain(name)


_PARTS: Final[Mapping[type[exp.Expr], Callable[[exp.Expr, Columns], Term]]] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Boolean: lambda node, _: _constant(BOOLEAN, bool(node.this)),
    exp.Null: lambda _node, _columns: _constant(NULL, None),
    exp.Paren: lambda node, columns: compiled(node.this, columns),
    exp.Div: _divide,
    exp.IntDiv: _whole_quotient,
    exp.Mod: _remainder,
    exp.Neg: _negative,
    exp.Abs: _absolute,
    exp.Floor: _rounded_down,
    exp.Concat: _concatenation,
    exp.DPipe: _pipes,
    exp.And: _and,
    exp.Or: _or,
    exp.Not: _not,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Case: _case,
    exp.If: _if,
    exp.Coalesce: _coalesce,
    exp.Greatest: _extreme(max),
    exp.Least: _extreme(min),
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Anonymous: _by_name,
}
