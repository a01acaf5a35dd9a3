"""Watermarks, savepoint trees and determinants as JSON, as they travel with tuples, checkpoints, acks and
logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from understudy.protocol.determinants import Determinant
from understudy.protocol.ids import Consumer, Range, Seq, Stream
from understudy.protocol.savepoints import Savepoint, Tree, Trees
from understudy.protocol.watermarks import Step


def positions_from_json(value: Mapping[str, int]) -> dict[Stream, Seq]:
    return {Stream(s): Seq(n) for s, n in value.items()}


def step_to_json(step: Step | None) -> list[Any] | None:
    if step is None:
        return None
    behind = {s: step_to_json(b) for s, b in step.behind.items()}
    return [step.first, step.stop, dict(step.low), dict(step.at), dict(step.high), behind]


def step_from_json(value: list[Any] | None) -> Step | None:
    if value is None:
        return None
    low, at, high = (positions_from_json(marks) for marks in value[2:5])
    behind = {Stream(s): step for s, b in value[5].items() if (step := step_from_json(b)) is not None}
    return Step(Seq(value[0]), Seq(value[1]), low, at, high, behind)


def log_to_json(steps: Iterable[Determinant]) -> list[Any]:
    return [
        [
            d.element,
            dict(d.at),
            dict(d.to),
            list(d.choice),
            dict(d.low),
            dict(d.kept),
            [d.made.start, d.made.stop],
        ]
        for d in steps
    ]


def log_from_json(value: Iterable[Sequence[Any]]) -> tuple[Determinant, ...]:
    found = []
    for element, before, after, choice, *marks, (start, stop) in value:
        at, to, low, kept = (positions_from_json(each) for each in (before, after, *marks))
        found.append(Determinant(element, at, to, tuple(choice), low, kept, Range(Seq(start), Seq(stop))))
    return tuple(found)


def tree_to_json(tree: Tree | None) -> dict[str, Any] | None:
    if tree is None:
        return None
    root = tree.root
    savepoint = {"selection": dict(root.selection), "positions": dict(root.positions), "next": root.next}
    return savepoint | {"children": trees_to_json(tree.children)}


def trees_to_json(trees: Trees) -> dict[str, Any]:
    return {s: {c: tree_to_json(t) for c, t in per.items()} for s, per in trees.items()}


def tree_from_json(value: Mapping[str, Any] | None) -> Tree | None:
    if value is None:
        return None
    root = Savepoint(
        positions_from_json(value["selection"]), positions_from_json(value["positions"]), Seq(value["next"])
    )
    return Tree(root, trees_from_json(value["children"]))


def trees_from_json(value: Mapping[str, Mapping[str, Any]]) -> dict[Stream, dict[Consumer, Tree]]:
    return {
        Stream(s): {Consumer(c): t for c, v in per.items() if (t := tree_from_json(v)) is not None}
        for s, per in value.items()
    }
