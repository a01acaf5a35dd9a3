"""Savepoint (Koldehofe): rollback recovery without checkpoints, for any number of simultaneous failures.

The only state of an operator that is stored is its savepoint. It is stored at the predecessors, transitively
up to the sources.

`TRANSITIONS` has Figure 6 (an ACK) and Figure 7 (a restart). An ACK: if the oldest ack of all successors
advanced, it is mapped to the step that made the first following event; that step becomes the new savepoint,
and is sent with the successors' trees to every predecessor. A restart: RECOVERYREQUEST to all predecessors;
when all have answered, the savepoint with the highest next seq is taken, and successors get a
RECOVERYNOTIFICATION.

Where there is a Lease, the instance that takes it restarts: a waiting spare, or the very first instance.
"""

from __future__ import annotations

from understudy.modes.instance import Instance
from understudy.modes.leadership import Role
from understudy.modes.resuming import Resuming
from understudy.modes.suspicion import lease_seen_following
from understudy.modes.transitions import State, ignored, row
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint, ElementState
from understudy.protocol.commands import Commands
from understudy.protocol.delivered_acks import DeliveredAcks
from understudy.protocol.detector import Detector
from understudy.protocol.ids import Consumer, Range, Seq, Stream
from understudy.protocol.ledger import Ledger, Wiring
from understudy.protocol.savepoints import Savepoint, Tree, latest
from understudy.protocol.watermarks import Step, StepLog


class SavepointMode(Instance):
    """Each element is an operator of the paper. Elements of one subjob ACK each other like any others."""

    sources_keep_acks = sends_trees = True
    ships_state = False
    holds_nothing = True

    resuming: Resuming

    def __init__(self, name: str, wiring: Wiring, detector: Detector) -> None:
        super().__init__(name, wiring, detector)
        self.resuming = Resuming(self)
        if not wiring.chain:
            raise ValueError(
                f"{name}: two elements read the same stream, so a savepoint can't be told by the stream"
            )
        self.forget()

    def forget(self) -> None:
        super().forget()
        self.logs = {Stream(name): StepLog() for name in self.wiring.inputs}
        self._information: dict[Stream, Tree | None] | None = None
        self._oldest: dict[Stream, Seq] = {}
        self._sent: dict[str, Tree] = {}  # the newest tree that each element has sent
        self._progressed = False
        self._tried: dict[
            str, Seq
        ] = {}  # each element's next seq in the savepoint that it began with, or in a newer one of its own
        # upstream has no newer savepoints than `_tried`: input that they need and upstream lacks is lost
        self._stuck = False
        # answers of consumers to this life, from before it recovered again
        self._said: tuple[on.Subscribed, ...] = ()

    @property
    def current_state(self) -> State:
        return State.RECOVERING if self._information is not None else super().current_state

    @property
    def protected(self) -> bool:
        return self.secondary is not None

    # --- recovery (Figure 7)

    @property
    def unanswered(self) -> tuple[Stream, ...]:
        """Inputs whose producers have not answered the RECOVERYREQUEST yet."""
        known = self._information
        return () if known is None else tuple(s for s in self.wiring.entering if s not in known)

    def lease_won_to_recover(self, event: on.LeaseWon) -> Commands:
        """Restarts, or becomes primary with the state that was handed over. The first life of the subjob
        starts empty."""
        record = event.record
        order = self.moves.inherited(record)
        if order is not None and order.checkpoint is not None:
            return self.lease_won(event)
        self.moves.forget_order()
        self.leadership = self.leadership.renewed(record).not_watching()
        return self.started(on.Started(record.epoch, fresh=record.epoch == 1))

    def lease_seen_recovering(self, event: on.LeaseSeen) -> Commands:
        """Follows the holder. If the holder has a newer epoch, this recovery ends: the predecessors' answers
        are no longer meant for this instance."""
        record = event.record
        if record is None or record.epoch <= self.epoch:
            return lease_seen_following(self, event)
        why = f"epoch {record.epoch} has begun, ours was {self.epoch}, and we still recovered"
        self.leave_role()
        self.forget()
        return (do.StepDown(why), *lease_seen_following(self, event))

    # --- migration: the primary gives its live state to the target, and no savepoint is needed

    def steps(self) -> dict[Stream, tuple[Step, ...]]:
        return {s: log.steps for s, log in self.logs.items()}

    def continue_moved(self, checkpoint: Checkpoint) -> Commands:
        self.forget()
        self.logs |= {s: StepLog(steps) for s, steps in checkpoint.steps.items()}
        self._oldest = {s: queue.trimmed for s, queue in self.ledger.queues.items()}
        return super().continue_moved(checkpoint)

    # --- restart

    def started(self, event: on.Started) -> Commands:
        """Asks every predecessor for its savepoint (Figure 7). The first life of the subjob starts empty."""
        self.leadership = self.leadership.in_epoch(event.epoch)
        if event.fresh:
            return self._lead({}, "starts empty")
        self._information = {}
        asked = tuple(do.RequestRecovery(s) for s in self.wiring.entering)
        return asked or self._restore_if_all_answered()

    def recovery_information(self, event: on.RecoveryInformation) -> Commands:
        """When all predecessors have answered, takes the latest savepoint and becomes primary."""
        if self._information is not None:
            self._information[event.stream] = event.tree
        return self._restore_if_all_answered()

    def recovery_notified(self, event: on.RecoveryNotified) -> Commands:
        """Asks the predecessor again, unless it has answered."""
        answered = self._information is None or event.stream in self._information
        return () if answered else (do.RequestRecovery(event.stream),)

    def resumes_or_recovers(self, event: on.Resumes) -> Commands:
        """Recovers again if input that the savepoint needs was trimmed: then a newer savepoint exists. If
        this savepoint is the newest one, the input is lost."""
        if not self._stuck and self.missed(event):
            return self._recover_again()
        return self.resumes(event)

    def _recover_again(self) -> Commands:
        """Restarts with a newer savepoint. An old life that was suspected but still ran has acked in the
        meantime: the input that this savepoint needs is gone, but a newer savepoint exists; and it may ack
        again. (In the paper the answer carries the events with the tree.) Consumers have reported their
        positions already."""
        self.leadership = self.leadership.in_role(Role.STANDBY)
        tried, said = self._tried, self.resuming.answers.all
        self.forget()
        self.ledger = Ledger.empty(self.wiring)
        self._information, self._tried, self._said = {}, tried, said
        return tuple(do.RequestRecovery(s) for s in self.wiring.entering)

    def _restore_if_all_answered(self) -> Commands:
        answers = self._information
        if answers is None or any(s not in answers for s in self.wiring.entering):
            return ()
        self._information = None
        return self._lead(
            self.chosen(answers), f"continues from the latest of {len(answers)} savepoint trees"
        )

    def chosen(self, answers: dict[Stream, Tree | None]) -> dict[str, Tree]:
        """For each element the savepoint with the highest next seq."""
        found: dict[str, list[Tree]] = {}
        for stream, tree in answers.items():
            for element in self.wiring.readers(stream):
                if tree is not None:
                    self._collect(element, tree, found)
        return {element: tree for element, trees in found.items() if (tree := self.best(trees)) is not None}

    def best(self, trees: list[Tree]) -> Tree | None:
        return latest(trees)

    def _collect(self, element: str, tree: Tree, found: dict[str, list[Tree]]) -> None:
        found.setdefault(element, []).append(tree)
        for reader, below in tree.children.get(Stream(element), {}).items():
            if reader in self.wiring.inputs:
                self._collect(str(reader), below, found)

    def _lead(self, trees: dict[str, Tree], why: str) -> Commands:
        self.leadership = self.leadership.in_role(Role.PRIMARY)
        self.ledger = Ledger.empty(self.wiring)
        empty = {
            n: Savepoint(dict.fromkeys(ins, Seq(0)), {}, Seq(0)) for n, ins in self.wiring.inputs.items()
        }
        roots = {**empty, **{n: t.root for n, t in trees.items()}}
        begins = {n: at.next for n, at in roots.items()}
        self._stuck, self._tried = begins == self._tried, begins
        skips = self._restore(trees, roots) if trees else ()
        numbers = tuple(do.Number(n, at.next, at.positions or None) for n, at in roots.items())
        at = {s: p for root in roots.values() for s, p in root.selection.items()}
        self.resuming.takes_up({s: at[s] for s in self.wiring.entering})
        for said in self._said:
            self.ledger = self.ledger.subscribed(said)
            self.resuming.answers = self.resuming.answers.heard(said)
        starts = tuple(do.ReadInput(s, at[s]) for s in self.wiring.entering)
        recovered = tuple(do.NotifyRecovered(s) for s in self.wiring.leaving)
        return (do.Lead(self.epoch, None, why), *skips, *numbers, *starts, *recovered)

    def _restore(self, trees: dict[str, Tree], roots: dict[str, Savepoint]) -> Commands:
        states = {
            n: ElementState(at.selection, at.selection, Range(at.next, at.next)) for n, at in roots.items()
        }
        self.ledger = Ledger.restored(self.wiring, Checkpoint(self.epoch, 0, states))
        self._oldest = {Stream(n): at.next for n, at in roots.items()}
        self.neighbours.keep_trees({s: per for t in trees.values() for s, per in t.children.items()})
        return tuple(do.Skip(s, p) for at in roots.values() for s, p in at.selection.items())

    def consumer_heard(self, event: on.Subscribed) -> Commands:
        return self.resuming.hear(event)

    def renumber(self, stream: Stream, first: Seq) -> Commands:
        self.logs[stream] = self.logs[stream].moved(self.ledger.queues[stream].trimmed, first)
        return super().renumber(stream, first)

    # --- a live change

    def taken_up(self) -> None:
        """Steps from before the change are in no log. So the first ACK is sent when all output of those steps
        is acked."""
        self._oldest = {s: queue.next for s, queue in self.ledger.queues.items()}

    @property
    def warmed_up(self) -> bool:
        return all(name in self._sent for name in self.wiring.inputs)

    # --- ACKs (Figure 6)

    def book(self, event: on.Processed) -> Range:
        return self.book_with_step(event, self.logs[Stream(event.element)])

    def acked(self, event: on.Acked) -> Commands:
        stream = event.stream
        oldest = self.ledger.queues[stream].trimmed
        if oldest <= self._oldest.get(stream, Seq(0)):
            return ()
        self._oldest[stream] = oldest
        root = Savepoint.of(self.step_after(stream, oldest))
        self.logs[stream].trim(oldest)
        below = self.neighbours.trees.get(stream)
        tree = self._sent[str(stream)] = Tree(root, {stream: below} if below else {})
        acks = tuple(self._ack(s, str(stream), tree) for s in self.wiring.inputs[stream])
        progress = () if self._progressed else (do.ReportMovement(self.epoch),)
        self._progressed, self._stuck = True, False
        self._tried = {**self._tried, str(stream): root.next}
        return (*acks, *progress)

    def _ack(self, stream: Stream, element: str, tree: Tree) -> do.SendAck:
        """The ACK for one input. For another element of the same subjob the tree is stored here directly; the
        ACK makes that element ACK in turn."""
        if stream in self.logs:
            self.neighbours.put_tree(stream, Consumer(element), tree)
        return do.SendAck(stream, 1, tree.root.selection[stream], None if stream in self.logs else tree)

    def redirected(self, stream: Stream) -> Commands:
        (element,) = self.wiring.readers(stream)
        tree = self._sent.get(element)
        return (self._ack(stream, element, tree),) if tree is not None else ()

    def replays_from(self, stream: Stream, delivered: DeliveredAcks) -> Seq:
        """The savepoint that would be chosen is the latest among those that the element's predecessors
        hold."""
        (element,) = self.wiring.readers(stream)
        tree = latest(delivered.trees.get(s) for s in self.wiring.inputs[element])
        return tree.root.selection[stream] if tree is not None else Seq(0)

    def step_after(self, stream: Stream, oldest: Seq) -> Step:
        """f⁻¹ of the first event after the acked ones: the step that made it. If it is not made yet, a step
        with the current selection."""
        step = self.logs[stream].find(oldest)
        if step is not None:
            return step
        at, next_ = self.ledger.elements[str(stream)], self.ledger.queues[stream].next
        return Step(next_, next_, at.selection, at.positions, at.positions)

    TRANSITIONS = Instance.TRANSITIONS.with_state(State.RECOVERING, like=State.STANDBY).extended(
        row(State.STANDBY, on.Started, started),
        row((State.STANDBY, State.RECOVERING), on.LeaseWon, lease_won_to_recover),
        row(State.RECOVERING, on.LeaseSeen, lease_seen_recovering),
        row(State.RECOVERING, on.RecoveryInformation, recovery_information),
        row(State.RECOVERING, on.RecoveryNotified, recovery_notified),
        row(State.PRIMARY, on.Resumes, resumes_or_recovers),
        ignored((State.STANDBY, State.PRIMARY), "it has recovered, or another does", on.RecoveryInformation),
        ignored((State.STANDBY, State.PRIMARY), "it waits for no answer", on.RecoveryNotified),
        ignored(
            State.RECOVERING,
            "what it was doing before it recovered again does not count",
            on.Arrived,
            on.Processed,
            on.Redirected,
            on.Resumes,
            on.Released,
            on.Paused,
        ),
    )
