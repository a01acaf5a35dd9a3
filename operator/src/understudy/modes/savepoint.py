"""Savepoint (Koldehofe): rollback recovery without checkpoints, for any number of simultaneous failures.

Nothing of an operator is kept but its savepoint, and that only at its predecessors, transitively up to the sources.

| on                      | does |
|-------------------------|------|
| ACK (Figure 6)          | if the oldest ack of all successors moved: map it to the step that made the first following event, prune, make a new savepoint, put it over the successors' trees, ACK every predecessor |
| restart (Figure 7)      | RECOVERYREQUEST to all predecessors; when all answered: the savepoint with the highest next seq; then RECOVERYNOTIFICATION to the successors |
| RECOVERYREQUEST         | answer with the consumer's tree; while recovering itself, not at all: the notification will make it ask again |
| RECOVERYNOTIFICATION    | if still waiting for that predecessor: request again |

Where there is a Lease, whoever takes it restarts: a spare that waits, or the first instance of all.
"""  # noqa: E501

from __future__ import annotations

from understudy.modes.instance import Commands, Instance, Role
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint, ElementState
from understudy.protocol.detector import Detector
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.events import Event
from understudy.protocol.ids import Range, Seq, Stream
from understudy.protocol.ledger import Ledger, Wiring
from understudy.protocol.savepoints import Savepoint, Tree, latest
from understudy.protocol.watermarks import Step, StepLog


class SavepointMode(Instance):
    """One element per subjob: the operator of the paper."""

    def __init__(self, name: str, wiring: Wiring, detector: Detector) -> None:
        super().__init__(name, wiring, detector)
        (self.element,) = wiring.inputs
        self.stream = Stream(self.element)
        self.forget()

    def forget(self) -> None:
        self.log = StepLog()
        self._answers: dict[Stream, Tree | None] | None = None
        self._oldest = Seq(0)
        self._sent: Tree | None = None  # the newest own tree
        self._spare: str | None = None
        self._progressed = False
        self._recovered_again = False  # and has made no progress since: what upstream lacks then is lost

    def handle(self, event: Event) -> Commands:
        match event:
            case on.Started():
                return self._started(event)
            case on.RecoveryInformation() if self._answers is not None:
                self._answers[event.stream] = event.tree
                return self._restore_if_all_answered()
            case on.RecoveryNotified() if self._answers is not None and event.stream not in self._answers:
                return (do.RequestRecovery(event.stream),)
            case on.Resumes() if self.role is Role.PRIMARY and not self._recovered_again:
                return self._recover_again()
            case on.RecoveryNotified() | on.RecoveryInformation():
                return ()
            case _:
                return super().handle(event)

    def lead(self, event: Event) -> Commands:
        match event:
            case on.SecondaryJoined(name):
                self._spare = name
            case on.SecondaryLeft(name) if name == self._spare:
                self._spare = None
            case _:
                pass
        return ()

    @property
    def protected(self) -> bool:
        return self._spare is not None

    @property
    def secondary(self) -> str | None:
        return self._spare

    # --- recovery (Figure 7)

    def _won(self, record: LeaseRecord) -> Commands:
        self._trying, self.lease = False, record
        self.detector = self.detector.forget()
        return self._started(on.Started(record.epoch, fresh=record.epoch == 1))

    def _started(self, event: on.Started) -> Commands:
        self.epoch = event.epoch
        if event.fresh:
            return self._lead(None, "starts empty")
        self._answers = {}
        asked = tuple(do.RequestRecovery(s) for s in self.wiring.entering)
        return asked or self._restore_if_all_answered()

    def _recover_again(self) -> Commands:
        """A life that was suspected but lives has acked meanwhile: what this savepoint needs is gone, a newer one is
        there. (In the paper the answer carries the events with the tree.)"""
        self.role = Role.STANDBY
        self.forget()
        self.ledger = Ledger.empty(self.wiring)
        self._answers, self._recovered_again = {}, True
        return tuple(do.RequestRecovery(s) for s in self.wiring.entering)

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
        self.ledger = Ledger.empty(self.wiring)
        skips = self._restore(tree) if tree is not None else ()
        at = tree.root if tree else Savepoint(dict.fromkeys(self.wiring.entering, Seq(0)), {}, Seq(0))
        number = do.Number(self.element, at.next, at.positions or None)
        starts = tuple(do.ReadInput(s, at.selection[s]) for s in self.wiring.entering)
        return (do.Lead(self.epoch, None, why), *skips, number, *starts, do.NotifyRecovered(self.stream))

    def _restore(self, tree: Tree) -> Commands:
        root = tree.root
        state = ElementState(root.selection, root.selection, Range(root.next, root.next))
        self.ledger = Ledger.restored(self.wiring, Checkpoint(self.epoch, 0, {self.element: state}))
        self._oldest = root.next
        self.keep_trees(tree.children)
        return tuple(do.Skip(s, root.selection[s]) for s in self.wiring.entering)

    # --- ACKs (Figure 6)

    def book(self, event: on.Processed) -> Range:
        before = self.ledger.elements[event.element]
        made = super().book(event)
        if len(made):
            self.log.append(Step(made.start, made.stop, before.selection, before.positions, event.positions))
        return made

    def acked(self, event: on.Acked) -> Commands:
        oldest = self.ledger.queues[event.stream].trimmed
        if oldest <= self._oldest:
            return ()
        self._oldest = oldest
        step = self.step_after(oldest)
        root = Savepoint.of(step)
        self.log.trim(oldest)
        self._sent = Tree(root, self.kept_trees())
        acks = tuple(self._ack(s, self._sent) for s in self.wiring.entering)
        progress = () if self._progressed else (do.ReportMovement(self.epoch),)
        self._progressed, self._recovered_again = True, False
        return (*acks, *progress)

    def _ack(self, stream: Stream, tree: Tree) -> do.SendAck:
        return do.SendAck(stream, 1, tree.root.selection[stream], tree)

    def redirected(self, stream: Stream) -> Commands:
        return (self._ack(stream, self._sent),) if self._sent is not None else ()

    def step_after(self, oldest: Seq) -> Step:
        """f⁻¹ of the first event that follows the acked ones; if it is still to come, the present selection."""
        step = self.log.find(oldest)
        if step is not None:
            return step
        at, next_ = self.ledger.elements[self.element], self.ledger.queues[self.stream].next
        return Step(next_, next_, at.selection, at.positions, at.positions)
