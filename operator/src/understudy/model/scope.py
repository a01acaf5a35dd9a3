"""Which names an expression may use, and the faults of an expression that uses others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from .functions import BARE, EFFECTS, WINDOWING, Call, calls, groups
from .refusal import Fault, did_you_mean, listed
from .sql import Malformed, parse_expression, shown

Columns = tuple[str, ...]

# Every stream has these, even if they are not among its own columns.
EVERYWHERE: Final = ("_seq", "ts")


@dataclass(frozen=True, slots=True)
class Scope:
    """Tables by their names in expressions. Columns are None where another fault hides them. Names are
    compared without regard to case, as in Spark."""

    tables: Mapping[str, Columns | None]
    derived: frozenset[str] = frozenset()
    """Tables that are not streams, and so have `_seq` and `ts` only as columns of their own."""

    @property
    def is_known(self) -> bool:
        return all(columns is not None for columns in self.tables.values())

    def names(self) -> list[str]:
        """All columns that an expression may use, each once."""
        return list(dict.fromkeys(column for table in self.tables for column in self.visible(table)))

    def owners(self, column: str) -> list[str]:
        """The tables that have this column."""
        wanted = column.lower()
        return [table for table in self.tables if wanted in _lower(self.visible(table))]

    def visible(self, table: str) -> Columns:
        return (*(self.tables[table] or ()), *(() if table in self.derived else EVERYWHERE))

    def with_derived(self, table: str, columns: Columns | None) -> Scope:
        return Scope({**self.tables, table: columns}, self.derived | {table})

    def fault_of(self, column: exp.Column) -> Fault | None:
        if not self.is_known:
            return None
        first, *rest = (part.name for part in column.parts)
        table = next((name for name in self.tables if name.lower() == first.lower()), None)
        if rest and table is not None:
            return self._fault_in(table, rest[0])
        owners = self.owners(first)
        if len(owners) > 1:
            written = listed([f"{owner}.{first}" for owner in owners])
            return Fault("AmbiguousColumn", f"the column {first} is in more than one input; write {written}")
        if owners or first.lower() in BARE:
            return None
        known = [*self.names(), *(self.tables if rest else ())]
        return _no_column(first, "", known)

    def _fault_in(self, table: str, column: str) -> Fault | None:
        columns = self.visible(table)
        return None if column.lower() in _lower(columns) else _no_column(column, f" in {table}", columns)


def _lower(names: Columns) -> set[str]:
    return {name.lower() for name in names}


def _no_column(name: str, where: str, known: list[str] | Columns) -> Fault:
    hint = did_you_mean(name, known)
    shown = ", ".join(list(dict.fromkeys(known))[:20])
    return Fault("UnknownColumn", f"there is no column {name}{where}{hint}; write one of {shown}")


# ---- expressions -----------------------------------------------------------------------------------------


def row_faults(text: str, scope: Scope) -> Iterator[Fault]:
    """The faults of an expression over one tuple (or, in a join, over a pair)."""
    tree = parse_expression(text)
    if isinstance(tree, Malformed):
        yield Fault("InvalidSql", f"{shown(text)} {tree.why}; write one Spark SQL expression")
        return
    yield from column_faults(tree, scope)
    yield from function_faults(tree, text, makes_rows=False)


def aggregate_faults(text: str, scope: Scope, group_by: Columns) -> Iterator[Fault]:
    """The faults of an expression over the tuples of a window and group."""
    tree = parse_expression(text)
    if isinstance(tree, Malformed):
        yield Fault(
            "InvalidSql", f"{shown(text)} {tree.why}; write one Spark SQL aggregate, such as count(*)"
        )
        return
    yield from column_faults(tree, scope)
    found = list(calls(tree, text))
    yield from _unknown_functions(found)
    yield from _outside(tree, found)
    aggregates = [call.whole for call in found if call.is_aggregate and not call.is_windowed]
    if not aggregates:
        yield Fault(
            "NotAnAggregate", f"{shown(text)} is not an aggregate; write one, such as max(…) or count(*)"
        )
    else:
        yield from _ungrouped(tree, aggregates, group_by)


def column_faults(tree: exp.Expr, scope: Scope) -> Iterator[Fault]:
    for column in tree.find_all(exp.Column):
        if not column.is_star and (fault := scope.fault_of(column)):
            yield fault


def function_faults(tree: exp.Expr, text: str, makes_rows: bool) -> Iterator[Fault]:
    """Calls that a row-wise expression may not contain."""
    found = list(calls(tree, text))
    yield from _unknown_functions(found)
    yield from _outside(tree, found)
    for call in found:
        if call.is_windowed or call.name in WINDOWING:
            yield Fault("NeedsState", f"{call.name} looks at many tuples; use the operator aggregate")
        elif call.is_aggregate:
            yield Fault("NeedsState", f"{call.name} is an aggregate; use the operator aggregate")
        elif call.makes_rows and not makes_rows:
            yield Fault("MakesRows", f"{call.name} makes several tuples of one; use the operator sql")


def _unknown_functions(found: list[Call]) -> Iterator[Fault]:
    for call in found:
        if not call.exists:
            hint = did_you_mean(call.name, groups())
            yield Fault(
                "UnknownFunction", f"Spark has no function {call.name}{hint}; write a builtin function"
            )


def _outside(tree: exp.Expr, found: list[Call]) -> Iterator[Fault]:
    """Calls of code and files that no field of the manifest names."""
    instead = "write Spark SQL over columns, or use the operator python"
    if tree.find(exp.QueryTransform):
        yield Fault("LeavesTheRow", f"TRANSFORM … USING runs a program for the rows; {instead}")
    for call in found:
        if call.leaves_the_row:
            yield Fault("LeavesTheRow", f"{call.name} {EFFECTS['outside']}; {instead}")


def _ungrouped(tree: exp.Expr, aggregates: list[exp.Expr], group_by: Columns) -> Iterator[Fault]:
    for column in tree.find_all(exp.Column):
        inside = any(ancestor is one for ancestor in _ancestors(column) for one in aggregates)
        if not inside and column.name.lower() not in _lower(group_by) and column.name.lower() not in BARE:
            yield Fault(
                "NotGrouped",
                f"{column.name} is neither in an aggregate nor in groupBy; write max({column.name})",
            )


def _ancestors(node: exp.Expr) -> Iterator[exp.Expr]:
    while node.parent is not None:
        node = node.parent
        yield node
