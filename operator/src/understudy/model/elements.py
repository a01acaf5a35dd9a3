"""A subjob cut into processing elements: each has an output queue and at most one stateful operator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .job import Merge, Subjob
from .operators import Aggregate, Filter, Join, Map, Operator, Sql
from .sql import mentions_seq


@dataclass(frozen=True, slots=True)
class Element:
    name: str
    """`<subjob>` for the one that emits the subjob's stream, `<subjob>.1`, `<subjob>.2` … for inner ones."""
    inputs: tuple[str, ...]
    """Streams outside the subjob by their names, inner elements by theirs (`<subjob>.1`)."""
    operators: tuple[Operator, ...]
    merge: Merge


def is_stateful(operator: Operator) -> bool:
    return isinstance(operator, Aggregate | Join)


def elements_of(subjob: Subjob) -> tuple[Element, ...]:
    """In an order in which each element comes after those it reads; the last emits the subjob's stream."""
    return _by_hand(subjob) if subjob.elements else _cut(subjob)


# ---- cut by the operators --------------------------------------------------------------------------------


def _cut(subjob: Subjob) -> tuple[Element, ...]:
    chains = _chains(subjob.operators)
    names = [f"{subjob.name}.{n}" for n in range(1, len(chains))] + [subjob.name]
    unread = [name for name in subjob.inputs if not _joined(name, subjob.operators)]
    elements: list[Element] = []
    for place, chain in enumerate(chains):
        before = tuple(unread) if place == 0 else (names[place - 1],)
        joined = tuple(op.with_ for op in chain if isinstance(op, Join) and op.with_ not in before)
        elements.append(Element(names[place], before + joined, chain, subjob.merge))
    return tuple(elements)


def _joined(name: str, operators: Iterable[Operator]) -> bool:
    return any(isinstance(op, Join) and op.with_ == name for op in operators)


def _chains(operators: Sequence[Operator]) -> list[tuple[Operator, ...]]:
    chains: list[list[Operator]] = [[]]
    for operator in operators:
        full = any(is_stateful(op) for op in chains[-1])
        if full and (is_stateful(operator) or _numbers_anew(operator)):
            chains.append([])
        chains[-1].append(operator)
    return [tuple(chain) for chain in chains]


def _numbers_anew(operator: Operator) -> bool:
    """After a stateful operator `_seq` means the place on that operator's output, which only a queue knows."""
    match operator:
        case Filter(where=text) | Sql(query=text):
            return mentions_seq(text)
        case Map(select=select):
            return any(mentions_seq(text) for text in select.values())
        case _:
            return False


# ---- cut by hand -----------------------------------------------------------------------------------------


def _by_hand(subjob: Subjob) -> tuple[Element, ...]:
    specs = {spec.name: spec for spec in subjob.elements}
    read = {name for spec in subjob.elements for name in spec.inputs}
    last = next((s for s in reversed(subjob.elements) if s.name not in read), subjob.elements[-1])
    called = {name: subjob.name if name == last.name else f"{subjob.name}.{name}" for name in specs}
    order = [*(s for s in subjob.elements if s is not last), last]
    return tuple(
        Element(called[s.name], tuple(called.get(i, i) for i in s.inputs), s.operators, subjob.merge) for s in order
    )
