"""The operator `sql`: a query that makes rows from rows and keeps no state, and its output columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from .refusal import Fault, did_you_mean
from .scope import Columns, Scope, column_faults, function_faults
from .sql import Malformed, parse_query

Tables = Mapping[str, Columns | None]

# Clauses that a SELECT may not have, and what to use instead.
_INSTEAD: Final[Mapping[str, str]] = {
    "group": "GROUP BY keeps state; use the operator aggregate",
    "having": "HAVING keeps state; use the operator aggregate and a filter after it",
    "distinct": "DISTINCT keeps state; use the operator aggregate with groupBy",
    "joins": "a join keeps state; use the operator join",
    "order": "ORDER BY needs the whole stream; leave it out, tuples keep their order",
    "sort": "SORT BY needs the whole stream; leave it out, tuples keep their order",
    "cluster": "CLUSTER BY has no meaning on a stream; leave it out",
    "distribute": "DISTRIBUTE BY has no meaning on a stream; leave it out",
    "limit": "LIMIT counts tuples of the whole stream; use limit of the source",
    "offset": "OFFSET counts tuples of the whole stream; use filter with _seq",
    "qualify": "QUALIFY keeps state; use the operator aggregate",
    "windows": "WINDOW keeps state; use the operator aggregate",
}
_ALLOWED: Final = frozenset({"expressions", "from_", "where", "laterals", "with_", "hint"})


@dataclass(slots=True)
class Analysis:
    """What is known of a query: its columns (None if a fault hides them), the tables that it reads, its
    faults."""

    text: str
    columns: Columns | None = None
    reads: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    """The names that WITH defines; unlike inputs they have no `_seq` and `ts`."""
    faults: list[Fault] = field(default_factory=list)

    def refuse(self, reason: str, what: str) -> None:
        self.faults.append(Fault(reason, what))


def analyse(text: str, tables: Tables) -> Analysis:
    """Reads a query over `tables`."""
    found = Analysis(text)
    tree = parse_query(text)
    if isinstance(tree, Malformed):
        found.refuse("InvalidSql", f"the query {tree.why}; write select … from {next(iter(tables), 'input')}")
    else:
        found.columns = _query(tree, tables, found)
        for unread in [name for name in tables if name not in found.reads and not found.faults]:
            found.refuse(
                "UnusedInput", f"the query does not read {unread}; read it or leave it out of inputs"
            )
    return found


def _query(tree: exp.Expr, tables: Tables, found: Analysis) -> Columns | None:
    tables = _with(tree, tables, found)
    match tree:
        case exp.Subquery():
            return _query(tree.this, tables, found)
        case exp.Union():
            return _union(tree, tables, found)
        case exp.Select():
            return _select(tree, tables, found)
        case _:
            found.refuse(
                "NeedsState", f"{type(tree).__name__.upper()} is not row by row; write select … from …"
            )
            return None


def _with(tree: exp.Expr, tables: Tables, found: Analysis) -> Tables:
    clause = tree.args.get("with_")
    if clause is None:
        return tables
    if clause.recursive:
        found.refuse("NeedsState", "WITH RECURSIVE needs the whole stream; write select … from …")
    for cte in clause.expressions:
        tables = {**tables, cte.alias: _query(cte.this, tables, found)}
        found.named.add(cte.alias)
    return tables


def _union(tree: exp.Union, tables: Tables, found: Analysis) -> Columns | None:
    if tree.args.get("distinct"):
        found.refuse("NeedsState", "UNION without ALL keeps state; write UNION ALL")
    for name in ("order", "limit", "offset"):
        if tree.args.get(name):
            found.refuse("NeedsState", _INSTEAD[name])
    left, right = _query(tree.left, tables, found), _query(tree.right, tables, found)
    if left is not None and right is not None and len(left) != len(right):
        found.refuse(
            "DifferentColumns",
            f"UNION ALL of {len(left)} and {len(right)} columns; select as many on each side",
        )
    return left


# ---- one SELECT ------------------------------------------------------------------------------------------


def _select(tree: exp.Select, tables: Tables, found: Analysis) -> Columns | None:
    for name, value in tree.args.items():
        if value and name not in _ALLOWED:
            found.refuse("NeedsState", _INSTEAD.get(name, f"{name.upper()} is not row by row; leave it out"))
    scope = _from(tree, tables, found)
    if scope is None:
        return None
    scope = _laterals(tree, scope, found)
    columns: list[str] = []
    for place, item in enumerate(tree.expressions, start=1):
        _check(item, _with_aliases(scope, columns), found)
        columns.extend(_columns_of(item, place, scope, found))
    if where := tree.args.get("where"):
        _check(where, scope, found)
    return tuple(columns) if scope.is_known else None


def _from(tree: exp.Select, tables: Tables, found: Analysis) -> Scope | None:
    clause = tree.args.get("from_")
    source = clause.this if clause else None
    match source:
        case exp.Subquery() if source.alias:
            return Scope({}).with_derived(source.alias, _query(source.this, tables, found))
        case exp.Table() if isinstance(source.this, exp.Identifier) and not source.args.get("db"):
            return _table(source, tables, found)
        case exp.Subquery():
            found.refuse("InvalidSql", "the query in FROM has no name; write (select …) AS name")
        case _:
            found.refuse(
                "InvalidSql", f"a query reads an input by its name; write FROM {next(iter(tables), 'input')}"
            )
    return None


def _table(source: exp.Table, tables: Tables, found: Analysis) -> Scope | None:
    if source.args.get("sample"):
        found.refuse("NeedsState", "TABLESAMPLE is not repeatable; use the operator sample")
    if source.args.get("pivots"):
        found.refuse("NeedsState", "PIVOT keeps state; use the operator aggregate")
    name = next((table for table in tables if table.lower() == source.name.lower()), None)
    if name is None:
        known = ", ".join(tables)
        found.refuse(
            "UnknownInput",
            f"there is no input {source.name}{did_you_mean(source.name, tables)}; write {known}",
        )
        return None
    found.reads.add(name)
    called = source.alias or name
    return Scope({called: tables[name]}, frozenset({called} if name in found.named else ()))


def _laterals(tree: exp.Select, scope: Scope, found: Analysis) -> Scope:
    for lateral in tree.args.get("laterals") or ():
        _check(lateral.this, scope, found)
        alias = lateral.args.get("alias")
        names = tuple(identifier.name for identifier in alias.columns) if alias else ()
        if not names:
            found.refuse(
                "InvalidSql", "LATERAL VIEW gives its columns no names; write LATERAL VIEW explode(…) t AS x"
            )
        table = (alias.name if alias else "") or f"lateral {len(scope.tables)}"
        scope = scope.with_derived(table, names)
    return scope


def _with_aliases(scope: Scope, columns: list[str]) -> Scope:
    """A select item may refer to earlier ones; a column of the table has precedence."""
    new = tuple(name for name in columns if not scope.owners(name))
    return scope.with_derived("select", new) if new else scope


def _check(item: exp.Expr, scope: Scope, found: Analysis) -> None:
    if item.find(exp.Query):
        found.refuse(
            "NeedsState", "a query inside an expression needs the whole stream; use the operator join"
        )
        return
    found.faults += column_faults(item, scope)
    found.faults += function_faults(item, found.text, makes_rows=True)


def _columns_of(item: exp.Expr, place: int, scope: Scope, found: Analysis) -> Iterator[str]:
    match item:
        case exp.Star():
            dropped = {column.name.lower() for column in item.args.get("except_") or ()}
            every = [name for columns in scope.tables.values() for name in columns or ()]
            yield from (name for name in every if name.lower() not in dropped)
        case exp.Column() if item.is_star:
            yield from scope.tables.get(item.table) or ()
        case exp.Aliases():
            yield from (identifier.name for identifier in item.expressions)
        case exp.Alias() | exp.Column():
            yield item.output_name
        case _:
            found.refuse("Unnamed", f"what is selected as number {place} has no name; write … AS name")
