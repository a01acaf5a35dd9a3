"""What producers and consumers have reported to this life, beside tuples and acks.

Producers send watermarks with their tuples. Consumers send savepoint trees with their acks. A producer may be
replaced: then this life holds input that the producer's successor may not have, or may have under other seqs.
"""

from __future__ import annotations

from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.ids import Consumer, Range, Seq, Stream
from understudy.protocol.ledger import Ledger
from understudy.protocol.savepoints import Tree, Trees
from understudy.protocol.watermarks import Step, StepLog

# watermarks kept per input: the steps of the newest tuples and of those since the last checkpoint
MARKS = 1_000


class Neighbours:
    def __init__(self) -> None:
        self.marks: dict[Stream, StepLog] = {}
        self._trees: dict[Stream, dict[Consumer, Tree]] = {}
        self._unreplayable_before: dict[Stream, Seq] = {}
        """Input before these seqs came from a producer that was replaced; its successor may not be able to
        send it."""
        self._received_from_old: dict[Stream, Seq] = {}
        """Input before these seqs came from a producer that was replaced. An entry ends when tuples of the
        successor arrive."""

    def forget_producers(self) -> None:
        self._unreplayable_before, self._received_from_old = {}, {}

    def without_producers(self) -> Neighbours:
        """A copy for another mode of the same primary: it shares watermarks and savepoint trees."""
        found = Neighbours()
        found.marks, found._trees = self.marks, self._trees
        return found

    def restore(self, checkpoint: Checkpoint | None) -> None:
        """Restores the watermarks and trees of an earlier life. Which producers that life had does not
        matter."""
        self.marks = {s: StepLog([m]) for s, m in checkpoint.marks.items()} if checkpoint else {}
        self.keep_trees(checkpoint.trees if checkpoint else {})

    # --- watermarks

    def marked(self, stream: Stream, mark: Step) -> None:
        log = self.marks.setdefault(stream, StepLog())
        log.append(mark)
        log.keep(MARKS)

    def mark_of(self, stream: Stream, position: Seq) -> Step | None:
        """The step that made the last tuple taken before `position`; a subscription that begins there names
        this step."""
        return self.marks[stream].before(position) if stream in self.marks else None

    def marks_at(self, ledger: Ledger) -> dict[Stream, Step]:
        """For each input, the step that made the last tuple before the position."""
        found = ((s, self.mark_of(s, ledger.position(s))) for s in self.marks)
        return {s: mark for s, mark in found if mark is not None}

    # --- savepoint trees

    @property
    def trees(self) -> Trees:
        """A copy of the savepoint trees of all consumers."""
        return {s: dict(per) for s, per in self._trees.items()}

    def tree_of(self, stream: Stream, consumer: Consumer) -> Tree | None:
        return self._trees.get(stream, {}).get(consumer)

    def keep_trees(self, trees: Trees) -> None:
        self._trees = {s: dict(per) for s, per in trees.items()}

    def put_tree(self, stream: Stream, consumer: Consumer, tree: Tree) -> None:
        self._trees.setdefault(stream, {})[consumer] = tree

    def acked_with(self, stream: Stream, consumer: Consumer, tree: Tree) -> None:
        """The newest tree counts: an old life of the consumer may still send acks after it was replaced."""
        known = self.tree_of(stream, consumer)
        if known is None or tree.root.progress >= known.root.progress:
            self.put_tree(stream, consumer, tree)

    # --- producers that were replaced

    def producer_replaced(self, stream: Stream, received: Seq, goes_on_from: Seq | None) -> None:
        """Notes which input came from the replaced producer. `goes_on_from`: where the subscription at its
        successor begins, if this life has had another producer."""
        self._unreplayable_before[stream] = received
        if goes_on_from is not None:
            self._received_from_old[stream] = goes_on_from

    def producer_spoke(self, stream: Stream) -> None:
        """Notes that the first tuples of the successor have arrived."""
        self._received_from_old.pop(stream, None)

    def awaits_successor(self, stream: Stream) -> bool:
        """Whether the producer was replaced, and its successor has not sent anything yet."""
        return stream in self._received_from_old

    def taken_before(self, event: on.Arrived, ledger: Ledger) -> Range | None:
        """The seqs that this life has received from an earlier producer, and that the new producer gives to
        other tuples. Empty if the new producer begins where this life's input ends; None if it did not
        diverge."""
        received = self._received_from_old.get(event.stream)
        if received is None or event.anew is None or not ledger.admits(event.stream, event.epoch):
            return None
        return Range(Seq(min(event.anew, received)), received)

    def holds_unreplayable(self, ledger: Ledger) -> bool:
        """Whether input waits here that no producer can send to another instance."""
        return any(ledger.position(s) < seq for s, seq in self._unreplayable_before.items())
