"""Every guard and comparison of a module, and what becomes of it: each change makes one mutant.

| of | mutants |
|---|---|
| a comparison | its opposite |
| a condition | its opposite; and always true, or never where it guards an early end |
| an operand of `and` or `or` | it is left out |

Conditions are those of `if`, `while`, `… if … else …`, comprehensions and cases.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

Kind = Literal["opposite", "always", "never", "left out"]
Node: TypeAlias = ast.AST
OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.Lt: ast.GtE,
    ast.Gt: ast.LtE,
    ast.Is: ast.IsNot,
    ast.In: ast.NotIn,
}
OPPOSITES |= {there: here for here, there in OPPOSITES.items()}


@cache
def source(path: Path) -> str:
    """As it was when it was first read, which is what is loaded."""
    return path.read_text()


@dataclass(frozen=True, order=True)
class Mutant:
    file: str
    """Below the package: `modes/roll.py`."""
    function: str
    line: int
    node: int
    """The expression that is changed: its place in `ast.walk`."""
    kind: Kind
    part: int
    """Of a comparison: which operator; of `and` and `or`: which operand."""
    before: str
    after: str
    again: int = 0
    """So many in the same function look the same and come before it."""
    gives: bool = False
    """Whether it is an operand that gives a value, not only a yes or no: the last one, such as `or 0`."""

    @property
    def key(self) -> str:
        """The same after changes elsewhere in the file."""
        number = f" #{self.again + 1}" if self.again else ""
        return f"{self.file} {self.function}: {self.before} → {self.after}{number}"

    @property
    def matters_if(self) -> bool | None:
        """The value that the expression (the operand, if one is left out) must have for this to make a
        difference; None: any."""
        if self.gives:
            return None
        if self.kind == "left out":
            return self.before.split(" ", 1)[0] == "or"
        return {"always": False, "never": True}.get(self.kind)


@dataclass(frozen=True)
class Place:
    """Where an expression stands in its parent."""

    parent: Node
    field: str
    index: int | None

    def put(self, expression: ast.expr) -> None:
        if self.index is None:
            setattr(self.parent, self.field, expression)
        else:
            getattr(self.parent, self.field)[self.index] = expression


@dataclass(frozen=True)
class Tree:
    root: ast.Module
    nodes: list[Node]
    places: dict[int, Place]
    """By the id of the node."""

    @classmethod
    def of(cls, source: str) -> Tree:
        root = ast.parse(source)
        nodes = list(ast.walk(root))
        return cls(root, nodes, {id(child): place for node in nodes for child, place in _children(node)})

    def scope(self, node: Node) -> str | None:
        """The name of the function that it is in; None outside of all."""
        names: list[str] = []
        inside = False
        while (place := self.places.get(id(node))) is not None:
            node = place.parent
            if isinstance(node, ast.FunctionDef | ast.Lambda) and place.field != "decorator_list":
                inside = True
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.append(node.name)
        return ".".join(reversed(names)) if inside else None


def _children(node: Node) -> Iterator[tuple[Node, Place]]:
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield value, Place(node, name, None)
        elif isinstance(value, list):
            yield from ((v, Place(node, name, i)) for i, v in enumerate(value) if isinstance(v, ast.AST))


def conditions(node: Node) -> Iterator[tuple[ast.expr, Kind]]:
    """Those that a node asks, and what each becomes when it is removed."""
    match node:
        case ast.If(
            test=test, body=[*_, ast.Return() | ast.Raise() | ast.Continue() | ast.Break()], orelse=[]
        ):
            yield test, "never"
        case ast.If(test=test) | ast.IfExp(test=test):
            yield test, "always"
        case ast.While(test=test):
            yield test, "never"
        case ast.comprehension(ifs=ifs):
            yield from ((test, "always") for test in ifs)
        case ast.match_case(guard=ast.expr() as guard):
            yield guard, "always"
        case _:
            pass


def opposite(expression: ast.expr) -> ast.expr:
    if isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.Not):
        return expression.operand
    return ast.UnaryOp(ast.Not(), expression)


@cache
def mutants(path: Path, file: str) -> tuple[Mutant, ...]:
    tree = Tree.of(source(path))
    number = {id(node): n for n, node in enumerate(tree.nodes)}
    found: list[Mutant] = []
    seen: dict[str, int] = {}
    for node in tree.nodes:
        for expression, kind, part, before, after in _changes(node):
            function = tree.scope(expression)
            if function is None:
                continue
            made = Mutant(
                file, function, expression.lineno, number[id(expression)], kind, part, before, after
            )
            again = seen[made.key] = seen.get(made.key, -1) + 1
            gives = kind == "left out" and _gives(tree, expression)
            found.append(replace(made, again=again, gives=gives))
    return tuple(sorted(found, key=lambda m: (m.line, m.node, m.kind, m.part)))


def _gives(tree: Tree, operand: ast.expr) -> bool:
    """Whether `a or b` is b itself when this operand, b, is left to decide."""
    yes_or_no = isinstance(operand, ast.Compare | ast.BoolOp) or (
        isinstance(operand, ast.UnaryOp) and isinstance(operand.op, ast.Not)
    )
    place = tree.places[id(operand)]
    whole = place.parent
    return isinstance(whole, ast.BoolOp) and operand is whole.values[-1] and not yes_or_no


Change: TypeAlias = tuple[ast.expr, Kind, int, str, str]


def _changes(node: Node) -> Iterator[Change]:
    for test, removed in conditions(node):
        before = ast.unparse(test)
        yield test, removed, 0, before, "True" if removed == "always" else "False"
        if not isinstance(test, ast.Compare):
            yield test, "opposite", 0, before, ast.unparse(opposite(test))
    if isinstance(node, ast.Compare):
        for n in range(len(node.ops)):
            yield node, "opposite", n, ast.unparse(node), ast.unparse(changed(node, "opposite", n))
    if isinstance(node, ast.BoolOp):
        for n, value in enumerate(node.values):
            word = "or" if isinstance(node.op, ast.Or) else "and"
            yield value, "left out", n, f"{word} {ast.unparse(value)}", f"left out of {ast.unparse(node)}"


def changed(expression: ast.expr, kind: Kind, part: int) -> ast.expr:
    """What is put in its place. Of an operand that is left out: what is put in the place of the whole."""
    match expression, kind:
        case _, "always" | "never":
            return ast.Constant(kind == "always")
        case ast.Compare(left, ops, comparators), _:
            turned = [OPPOSITES[type(op)]() if n == part else op for n, op in enumerate(ops)]
            return ast.Compare(left, turned, comparators)
        case ast.BoolOp(op, values), "left out":
            rest = [value for n, value in enumerate(values) if n != part]
            return ast.BoolOp(op, rest) if len(rest) > 1 else rest[0]
        case _:
            return opposite(expression)


def tree_with(path: Path, mutant: Mutant) -> ast.Module:
    tree = Tree.of(source(path))
    expression = tree.nodes[mutant.node]
    if mutant.kind == "left out":
        expression = tree.places[id(expression)].parent
    assert isinstance(expression, ast.expr)
    new = changed(expression, mutant.kind, mutant.part)
    kept = ast.IfExp(
        ast.Constant(True), new, expression
    )  # the same free variables, else the code fits no function
    tree.places[id(expression)].put(ast.copy_location(kept, expression))
    return ast.fix_missing_locations(tree.root)


def tree_with_probes(path: Path, nodes: set[int], probe: str) -> ast.Module:
    """Every one of these expressions tells its value on the way."""
    tree = Tree.of(source(path))
    for n in nodes:
        expression = tree.nodes[n]
        assert isinstance(expression, ast.expr)
        call = ast.Call(ast.Name(probe, ast.Load()), [ast.Constant(n), expression], [])
        tree.places[id(expression)].put(ast.copy_location(call, expression))
    return ast.fix_missing_locations(tree.root)
