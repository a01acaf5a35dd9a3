"""A subjob cut into processing elements: each has an output queue and at most one stateful operator.

How several inputs meet in one chain of operators:

- A `join` takes the stream so far as its left side and the input that it names, unchanged, as its
  right side. So operators before a join work on the left side only.
- Inputs that no join names are the left side. If there are several, the first operator is the `union` or the
  `sql` that makes one stream of them.
- Expressions call the stream so far by the name of the subjob's first input.
- `_seq` is the place on the element's input: after a union on the merged sequence, before a join on the left
  input. After a stateful operator it is the place on that operator's output; hence the cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .job import ElementSpec, Merge, Subjob
from .operators import Code, Operator


@dataclass(frozen=True, slots=True)
class Element:
    name: str
    """`<subjob>` for the element that emits the subjob's stream, `<subjob>.1`, `<subjob>.2` … for inner
    ones."""
    inputs: tuple[str, ...]
    """Streams from outside the subjob by their names, inner elements by theirs (`<subjob>.1`)."""
    operators: tuple[Operator, ...]
    merge: Merge
    tables: tuple[str, ...]
    """The name of each input in expressions and queries."""


def elements_of(subjob: Subjob) -> tuple[Element, ...]:
    """The elements in an order in which each comes after those that it reads; the last one emits the subjob's
    stream."""
    return _by_hand(subjob) if subjob.elements else _cut(subjob)


def functions_of(subjob: Subjob) -> tuple[Code, ...]:
    """The Python functions that its instances call."""
    found = (op.code for element in elements_of(subjob) for op in element.operators)
    return tuple(code for code in found if code is not None)


def left_inputs(inputs: Sequence[str], operators: Sequence[Operator]) -> tuple[str, ...]:
    """The inputs that no join names: the first operator reads them."""
    joined = {op.right_input for op in operators}
    return tuple(name for name in inputs if name not in joined) or tuple(inputs[:1])


# ---- cut by the operators --------------------------------------------------------------------------------


def _cut(subjob: Subjob) -> tuple[Element, ...]:
    left = left_inputs(subjob.inputs, subjob.operators)
    chains = _chains(subjob.operators, merged=len(left) > 1)
    names = [f"{subjob.name}.{n}" for n in range(1, len(chains))] + [subjob.name]
    elements = []
    for place, chain in enumerate(chains):
        right = tuple(op.right_input for op in chain if op.right_input is not None)
        streams, tables = (left, left) if place == 0 else ((names[place - 1],), left[:1])
        elements.append(Element(names[place], streams + right, chain, subjob.merge, tables + right))
    return tuple(elements)


def _chains(operators: Sequence[Operator], merged: bool) -> list[tuple[Operator, ...]]:
    chains: list[list[Operator]] = [[]]
    for operator in operators:
        if _begins_element(chains[-1], operator, merged and len(chains) == 1):
            chains.append([])
        chains[-1].append(operator)
    return [tuple(chain) for chain in chains]


def _begins_element(chain: Sequence[Operator], operator: Operator, merged: bool) -> bool:
    """A join has two inputs, so it can't share an element with the union that makes its left side."""
    if merged and chain and operator.right_input is not None:
        return True
    return any(op.is_stateful for op in chain) and (operator.is_stateful or operator.uses_seq)


# ---- cut by hand -----------------------------------------------------------------------------------------


def _by_hand(subjob: Subjob) -> tuple[Element, ...]:
    *inner, last = in_reading_order(subjob.elements)
    called = {spec.name: f"{subjob.name}.{spec.name}" for spec in inner} | {last.name: subjob.name}
    return tuple(
        Element(
            name=called[spec.name],
            inputs=tuple(called.get(name, name) for name in spec.inputs),
            operators=spec.operators,
            merge=subjob.merge,
            tables=spec.inputs,
        )
        for spec in (*inner, last)
    )


def in_reading_order(specs: Sequence[ElementSpec]) -> list[ElementSpec]:
    """The element that no other reads emits the subjob's stream, and comes last."""
    read = {name for spec in specs for name in spec.inputs}
    last = next((spec for spec in reversed(specs) if spec.name not in read), specs[-1])
    return [*(spec for spec in specs if spec is not last), last]
