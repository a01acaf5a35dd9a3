"""What the neighbours of a subjob know about it: a take-over at this moment would begin with this.

A producer knows the acks that were delivered to it; for a source, the acks that were stored count. Both lag
behind the books: a successor will find these acks, not the positions in the books now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from understudy.protocol.ids import Seq, Stream
from understudy.protocol.savepoints import Tree


@dataclass(frozen=True, slots=True)
class DeliveredAcks:
    released: Mapping[Stream, Seq] = field(default_factory=dict)
    """The level-1 ack of each stream that enters the subjob."""
    trees: Mapping[Stream, Tree] = field(default_factory=dict)
    sent: Mapping[Stream, Seq] = field(default_factory=dict)
    """The end of what was sent to every consumer of a stream: it will be acked a little later."""

    def with_ack(self, stream: Stream, released: Seq, tree: Tree | None) -> DeliveredAcks:
        trees = self.trees if tree is None else {**self.trees, stream: tree}
        return replace(self, released={**self.released, stream: released}, trees=trees)
