"""Upstream backup (Hwang §5.2): upstream's output queues are the backup; a replacement starts empty and replays them.

Every M: level-0 acks ("received") and level-1 acks ("not needed to rebuild my state behind what my consumers have").
The level-1 ack of an input is `cause` of the newest output that all consumers have acked at level 0.

A replacement hears from its consumers what they have, replays what upstream holds, and

- with `forward` (precise recovery, Hwang §6: watermarks go downstream with the tuples and come back with the roll call)
  drops what it makes before the step of the hindmost consumer, and numbers that step as it was numbered before;
- without, sends all it makes as new tuples: duplicates, but no loss (rollback recovery).
"""

from __future__ import annotations

from understudy.modes.instance import Commands, Instance
from understudy.modes.roll import RollCall
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.detector import Detector
from understudy.protocol.events import Event
from understudy.protocol.ids import Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Wiring
from understudy.protocol.timer import due
from understudy.protocol.watermarks import Step, StepLog, cause


class UpstreamBackup(Instance):
    def __init__(self, name: str, wiring: Wiring, detector: Detector, *, interval: int, forward: bool = True) -> None:
        super().__init__(name, wiring, detector)
        self.interval = interval
        self.forward = forward and len(wiring.inputs) == 1
        self.forget()

    def forget(self) -> None:
        self.logs = {Stream(name): StepLog() for name in self.wiring.inputs}
        self._roll: RollCall | None = None
        self._starts: dict[Stream, Seq] = {}  # where the inputs of this life begin
        self._acked_at: Millis | None = None
        self._spare: str | None = None

    # --- take-over

    def start_inputs(self, checkpoint: Checkpoint | None) -> Commands:
        self.forget()
        if self.epoch == Epoch(1):
            self._starts = dict.fromkeys(self.wiring.entering, Seq(0))
            return tuple(do.ReadInput(s, Seq(0)) for s in self.wiring.entering)
        self._roll = RollCall(self.wiring)
        return tuple(do.Replay(s) for s in self.wiring.external)

    def continue_moved(self, checkpoint: Checkpoint) -> Commands:
        self.forget()
        self._starts = dict.fromkeys(self.wiring.entering, Seq(0))
        self.logs |= {s: StepLog(steps) for s, steps in checkpoint.steps.items()}
        return super().continue_moved(checkpoint)

    def steps(self) -> dict[Stream, tuple[Step, ...]]:
        return {s: log.steps for s, log in self.logs.items()}

    def lead(self, event: Event) -> Commands:
        match event:
            case on.Subscribed() if self._roll is not None:
                self._roll.heard(event)
                return self._begin_if_ready()
            case on.SecondaryJoined(name):
                self._spare = name
                return ()
            case on.SecondaryLeft(name) if name == self._spare:
                self._spare = None
                return ()
            case on.Released() if self._roll is not None and event.stream not in self._starts:
                self._starts[event.stream] = event.start
                self.ledger = self.ledger.moved(event.stream, event.start)
                return (do.Skip(event.stream, event.start), *self._begin_if_ready())
            case _:
                return ()

    @property
    def roll_open(self) -> bool:
        return self._roll is not None

    def _begin_if_ready(self) -> Commands:
        roll = self._roll
        if roll is None or not roll.complete or any(s not in self._starts for s in self.wiring.external):
            return ()
        self._roll = None
        inner = [do.Number(n, Seq(0), None) for n in self.wiring.inputs if Stream(n) not in self.wiring.leaving]
        border = [self._number(roll, s) for s in self.wiring.leaving]
        return (*inner, *border, *self._sources(roll))

    def _number(self, roll: RollCall, stream: Stream) -> do.Number:
        """Where the sequencer goes on, and from which positions on what is made was not sent before.

        The hindmost consumer decides, of those that what upstream holds suffices for; one that lost its own state and
        starts over asks for more than there is, and is told so.
        """
        first, until = roll.furthest(stream), None
        for answer in roll.answers(stream) if self.forward else ():
            mark = answer.mark
            if answer.start == 0 and not any(self._starts.values()):
                first = Seq(0)
                break
            if mark is not None and self._reaches(mark):
                first, until = mark.first, mark.at
                break
            if mark is not None:
                first = answer.start  # the element held nothing then: all it makes now is new
                break
        self.ledger = self.ledger.rebased(stream, first)
        return do.Number(str(stream), first, until, as_new=not self.forward)

    def _reaches(self, mark: Step) -> bool:
        """Whether the inputs of this life begin early enough to do that step again."""
        return all(self._starts.get(s, Seq(0)) <= low for s, low in mark.low.items())

    def _sources(self, roll: RollCall) -> Commands:
        """Sources read inside the subjob keep no acks; the watermarks that came back say from where to read them."""
        marks = [e.mark.low for s in self.wiring.leaving for e in roll.answers(s)[:1] if e.mark]
        started: list[do.Command] = []
        for source in (s for s in self.wiring.entering if s in self.wiring.replayable):
            low = Seq(min((m[source] for m in marks if source in m), default=0))
            self._starts[source] = low
            self.ledger = self.ledger.moved(source, low)
            started += [do.Skip(source, low), do.ReadInput(source, low)]
        return tuple(started)

    # --- acks

    def book(self, event: on.Processed) -> Range:
        before = self.ledger.elements[event.element]
        made = super().book(event)
        if len(made):
            step = Step(made.start, made.stop, before.selection, before.positions, event.positions)
            self.logs[Stream(event.element)].append(step)
        return made

    def acked(self, event: on.Acked) -> Commands:
        self.logs[event.stream].trim(self.ledger.queues[event.stream].trimmed)
        return ()

    def lead_tick(self, now: Millis) -> Commands:
        if not due(self._acked_at, now, self.interval) or self._roll is not None:
            return ()
        self._acked_at = now
        needed = self.needed()
        inner = tuple(do.SendAck(s, 1, p) for s, p in needed.items() if s in self.logs)
        acks = ((do.SendAck(s, 0, self.ledger.received(s)), self._level1(s, needed)) for s in self.wiring.external)
        return (*inner, *(ack for pair in acks for ack in pair))

    def _level1(self, stream: Stream, needed: dict[Stream, Seq]) -> do.SendAck:
        return do.SendAck(stream, 1, needed.get(stream, self._starts.get(stream, Seq(0))))

    def needed(self) -> dict[Stream, Seq]:
        """For each stream the oldest tuple needed to rebuild the state behind what every consumer has."""
        found: dict[Stream, Seq] = {}
        for stream in self.wiring.leaving:
            low = self._behind(stream)
            origin = cause(self.logs, low) if low else self._starts
            for s, p in origin.items():
                found[s] = min(found.get(s, p), p)
        return found

    def _behind(self, stream: Stream) -> dict[Stream, Seq] | None:
        queue, at = self.ledger.queues[stream], self.ledger.elements[str(stream)]
        position = queue.received_by_all
        if position == queue.next and at.positions == at.selection:
            return dict(at.positions)  # all was received, and the element holds nothing
        step = self.logs[stream].before(position)
        return dict(step.low) if step else None

    @property
    def protected(self) -> bool:
        return self._spare is not None and self._roll is None

    @property
    def secondary(self) -> str | None:
        return self._spare

    def mark(self, stream: Stream, position: Seq) -> Step | None:
        return self.logs[stream].before(position) if self.forward else None
