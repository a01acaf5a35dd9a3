"""Savepoint (Koldehofe): rollback recovery without checkpoints, for any number of simultaneous failures.

Nothing of an operator is kept but its savepoint, and that only at its predecessors, transitively up to the sources.

| on                      | does |
|-------------------------|------|
| ACK (Figure 6)          | if the oldest ack of all successors moved: map it to the step that made the first following event, prune, make a new savepoint, put it over the successors' trees, ACK every predecessor |
| restart (Figure 7)      | RECOVERYREQUEST to all predecessors; when all answered: the savepoint with the highest next seq; then RECOVERYNOTIFICATION to the successors |
| RECOVERYREQUEST         | answer with the consumer's tree; while recovering itself, not at all: the notification will make it ask again |
| RECOVERYNOTIFICATION    | if still waiting for that predecessor: request again |
"""  # noqa: E501

from __future__ import annotations

from understudy.modes.instance import Commands, Instance, Role
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint, ElementState
from understudy.protocol.detector import Detector
from understudy.protocol.events import Event
from understudy.protocol.ids import Consumer, Range, Seq, Stream
from understudy.protocol.ledger import Ledger, Wiring
from understudy.protocol.savepoints import Savepoint, Tree, latest
from understudy.protocol.watermarks import Step, StepLog

Trees = dict[Stream, dict[Consumer, Tree]]


class SavepointMode(Instance):
    """One element per subjob: the operator of the paper."""

    def __init__(self, name: str, wiring: Wiring, detector: Detector) -> None:
        super().__init__(name, wiring, detector)
        (self.element,) = wiring.inputs
        self.stream = Stream(self.element)
        self.forget()

    def forget(self) -> None:
        self.log = StepLog()
        self.trees: Trees = {}
        self._answers: dict[Stream, Tree | None] | None = None
        self._oldest = Seq(0)
        self._progressed = False

    def handle(self, event: Event) -> Commands:
        match event:
            case on.Started():
                return self._started(event)
            case on.RecoveryInformation() if self._answers is not None:
                self._answers[event.stream] = event.tree
                return self._restore_if_all_answered()
            case on.RecoveryNotified() if self._answers is not None and event.stream not in self._answers:
                return (do.RequestRecovery(event.stream),)
            case on.RecoveryRequested() if self.role is Role.PRIMARY:
                return (do.AnswerRecovery(event.stream, event.consumer, self._tree_of(event.stream, event.consumer)),)
            case on.NewerEpoch():
                return self._newer(event.epoch)
            case on.Processed() | on.Arrived() | on.Acked() | on.Resumes() | on.Redirected() if (
                self.role is Role.PRIMARY
            ):
                return self._as_primary(event)
            case _:
                return ()

    # --- recovery (Figure 7)

    def _started(self, event: on.Started) -> Commands:
        self.epoch = event.epoch
        if event.fresh:
            return self._lead(None, "starts empty")
        self._answers = {}
        asked = tuple(do.RequestRecovery(s) for s in self.wiring.entering)
        return asked or self._restore_if_all_answered()

    def _restore_if_all_answered(self) -> Commands:
        answers = self._answers
        if answers is None or any(s not in answers for s in self.wiring.entering):
            return ()
        self._answers = None
        return self._lead(self.chosen(answers), f"continues from the latest of {len(answers)} savepoint trees")

    def chosen(self, answers: dict[Stream, Tree | None]) -> Tree | None:
        return latest(answers.values())

    def _lead(self, tree: Tree | None, why: str) -> Commands:
        self.role = Role.PRIMARY
        checkpoint = None
        if tree is not None:
            root = tree.root
            held = Range(root.next, root.next)
            state = ElementState(root.selection, root.selection, held)
            checkpoint = Checkpoint(self.epoch, 0, {self.element: state})
            self.ledger = Ledger.restored(self.wiring, checkpoint)
            self._oldest = root.next
            self.trees = {s: dict(per) for s, per in tree.children.items()}
        until = tree.root.positions if tree else None
        number = do.Number(self.element, tree.root.next if tree else Seq(0), until)
        starts = tuple(do.ReadInput(s, tree.root.selection[s] if tree else Seq(0)) for s in self.wiring.entering)
        return (do.Lead(self.epoch, checkpoint, why), number, *starts, do.NotifyRecovered(self.stream))

    def _tree_of(self, stream: Stream, consumer: Consumer) -> Tree | None:
        return self.trees.get(stream, {}).get(consumer)

    # --- ACKs (Figure 6)

    def book(self, event: on.Processed) -> Range:
        before = self.ledger.elements[event.element]
        made = super().book(event)
        if len(made):
            self.log.append(Step(made.start, made.stop, before.selection, before.positions, event.positions))
        return made

    def acked(self, event: on.Acked) -> Commands:
        if event.tree is not None:
            self.trees.setdefault(event.stream, {})[event.consumer] = event.tree
        oldest = self.ledger.queues[event.stream].trimmed
        if oldest <= self._oldest:
            return ()
        self._oldest = oldest
        step = self.step_after(oldest)
        root = Savepoint.of(step)
        self.log.trim(oldest)
        tree = Tree(root, {s: dict(per) for s, per in self.trees.items()})
        acks = tuple(do.SendAck(s, 1, root.selection[s], tree) for s in self.wiring.entering)
        progress = () if self._progressed else (do.ReportMovement(self.epoch),)
        self._progressed = True
        return (*acks, *progress)

    def step_after(self, oldest: Seq) -> Step:
        """f⁻¹ of the first event that follows the acked ones; if it is still to come, the present selection."""
        step = self.log.find(oldest)
        if step is not None:
            return step
        at, next_ = self.ledger.elements[self.element], self.ledger.queues[self.stream].next
        return Step(next_, next_, at.selection, at.positions, at.positions)
