"""Savepoints and savepoint trees (Koldehofe §6): all that is replicated of an operator.

A savepoint is a place from which an operator may start again: the start of its selection and its position on
each input, and the seq of the first event that it will then produce. An ACK carries a tree: the sender's
savepoint as the root, with the savepoint trees of its consumers as children.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from understudy.protocol.ids import Consumer, Seq, Stream
from understudy.protocol.watermarks import Marks, Step


@dataclass(frozen=True, slots=True)
class Savepoint:
    selection: Marks
    positions: Marks
    next: Seq

    @property
    def progress(self) -> tuple[int, int]:
        """How to compare savepoints. Of two with the same next event, the later one needs less input, because
        the steps between them made no output; predecessors have pruned by the later one."""
        return self.next, sum(self.selection.values())

    @classmethod
    def of(cls, step: Step) -> Savepoint:
        """The savepoint from which `step` can be repeated; its first output is the next event."""
        return cls(step.low, step.at, step.first)


@dataclass(frozen=True, slots=True)
class Tree:
    root: Savepoint
    children: Mapping[Stream, Mapping[Consumer, Tree]] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many savepoints the tree has."""
        return 1 + sum(len(t) for per in self.children.values() for t in per.values())


Trees = Mapping[Stream, Mapping[Consumer, Tree]]  # for each consumer of each stream


def latest(trees: Iterable[Tree | None]) -> Tree | None:
    """The tree with the highest next seq, among the answers of all predecessors (Koldehofe §7.1.1)."""
    known = [t for t in trees if t is not None]
    return max(known, key=lambda t: t.root.progress) if known else None


def size(tree: Tree | None) -> int:
    """Bytes of an ACK (Koldehofe §8.1.1): 4 for the acked seq, per savepoint 4 and 4 for each input."""
    if tree is None:
        return 4
    return 4 + _savepoints(tree)


def _savepoints(tree: Tree) -> int:
    below = sum(_savepoints(t) for per in tree.children.values() for t in per.values())
    return 4 + 4 * len(tree.root.selection) + below
