"""What the neighbours of a subjob have of it, and so what a take-over at this moment can begin with.

To a producer it is told with an ack that was delivered, to a source with an ack that is kept. Both happen now
and then: what the books say now is not what a successor will find.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from understudy.protocol.ids import Seq, Stream
from understudy.protocol.savepoints import Tree


@dataclass(frozen=True, slots=True)
class Told:
    released: Mapping[Stream, Seq] = field(default_factory=dict)
    """Level 1, for each stream that enters the subjob."""
    trees: Mapping[Stream, Tree] = field(default_factory=dict)
    sent: Mapping[Stream, Seq] = field(default_factory=dict)
    """What every consumer of a stream was sent: it acks that a little later."""

    def with_ack(self, stream: Stream, released: Seq, tree: Tree | None) -> Told:
        trees = self.trees if tree is None else {**self.trees, stream: tree}
        return replace(self, released={**self.released, stream: released}, trees=trees)
