"""Amnesia (Hwang §4): gap recovery. A replacement starts empty, at the newest input; what was in between is
lost.

The replacement is a new process, or a spare that waits: it knows no more than a new process does, but is
warm.

No run-time cost: an input is released as soon as it is processed. A replacement first hears from all its
consumers how far its stream had come, so that seqs go on without being used twice, and only then takes input.
It waits only for a while for those that do not answer: one that comes back later counts on from where it was.
A producer knows what was released, so it can tell what was lost; of a source the watermarks tell it, which
came back from the consumers.
"""

from __future__ import annotations

from dataclasses import replace

from understudy.modes.instance import Commands, Instance
from understudy.modes.roll import RollCall
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.detector import Detector
from understudy.protocol.events import Event
from understudy.protocol.ids import Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Wiring
from understudy.protocol.watermarks import Step, StepLog, newest


class Amnesia(Instance):
    ships_state = False
    holds_nothing = True

    def __init__(self, name: str, wiring: Wiring, detector: Detector) -> None:
        super().__init__(name, wiring, detector)
        self.forget()

    def forget(self) -> None:
        self._roll: RollCall | None = RollCall(self.wiring)
        self._logs = {Stream(name): StepLog() for name in self.wiring.inputs}
        self._untold = False

    def start_inputs(self, checkpoint: Checkpoint | None) -> Commands:
        self.lossy = self.epoch > Epoch(1)
        if self.lossy:
            return ()
        self._roll = None
        return tuple(do.ReadInput(s, Seq(0)) for s in self.wiring.entering)

    def continue_moved(self, checkpoint: Checkpoint) -> Commands:
        self._roll = None
        return super().continue_moved(checkpoint)

    def taken_up(self) -> None:
        self._roll = None

    def lead(self, event: Event) -> Commands:
        match event:
            case on.Subscribed() if self._roll is not None:
                self._roll.heard(event)
                return self._begin(self._roll) if self._roll.complete else ()
            case _:
                return ()

    def lead_tick(self, now: Millis) -> Commands:
        if self._roll is None or not self.without_the_silent(self._roll, now):
            return ()
        return self._begin(self._roll)

    @property
    def protected(self) -> bool:
        """Whether a spare could take over now; what is under way is lost all the same."""
        return self.secondary is not None and self._roll is None

    @property
    def roll_open(self) -> bool:
        return self._roll is not None

    def _begin(self, roll: RollCall) -> Commands:
        self._roll = None
        for stream in self.wiring.leaving:
            self.anew[stream] = roll.furthest(stream)
            self.ledger = self.ledger.rebased(stream, roll.furthest(stream))
        skips = tuple(do.Skip(s, position) for s, position in self._came_to(roll).items())
        return (*skips, *(do.ReadInput(s, None) for s in self.wiring.entering))

    def _came_to(self, roll: RollCall) -> dict[Stream, Seq]:
        """How far the former life had come on each source with what a consumer has got: so much is not
        lost."""
        answers = [answer for s in self.wiring.leaving for answer in roll.answers(s)]
        marks = [answer.mark for answer in answers if answer.mark is not None]
        self._untold = not marks and any(answer.start for answer in answers)
        found = {s: max((m.high.get(s, Seq(0)) for m in marks), default=Seq(0)) for s in self._sources}
        for source, position in found.items():
            self.ledger = self.ledger.moved(source, position)
        return found

    def _lost(self, stream: Stream, missing: Range) -> Commands:
        """A consumer that restarted itself has no watermark: then nobody knows what was lost of a source."""
        unknown = self._untold and stream in self._sources
        return super()._lost(stream, Range(missing.stop, missing.stop) if unknown else missing)

    def passed_on(self, stream: Stream) -> Seq:
        """How far the subjob has come on an input with what would not be lost if it failed now, as its
        successor would count it: of a source with what a consumer has got, of another input with what was
        released."""
        if stream not in self._sources:
            return self.ledger.position(stream)
        received = {s: self.ledger.queues[s].received_by_any for s in self.wiring.leaving}
        marks = [mark for s, position in received.items() if (mark := self.mark(s, position)) is not None]
        unknown = self.ledger.position(stream) if any(received.values()) else Seq(0)
        return max((m.high.get(stream, Seq(0)) for m in marks), default=unknown)

    @property
    def _sources(self) -> tuple[Stream, ...]:
        return tuple(s for s in self.wiring.entering if s in self.wiring.replayable)

    def book(self, event: on.Processed) -> Range:
        return self.book_with_step(event, self._logs[Stream(event.element)])

    def acked(self, event: on.Acked) -> Commands:
        self._logs[event.stream].trim(self.ledger.queues[event.stream].trimmed)
        return ()

    def mark(self, stream: Stream, position: Seq) -> Step | None:
        """How far the subjob had come on what enters it when it made the tuple before."""
        step = self._logs[stream].before(position) if self._sources else None
        return replace(step, high=newest(self._logs, step.high)) if step is not None else None

    def processed(self, event: on.Processed) -> Commands:
        released = tuple(do.SendAck(s, 1, upto) for s, upto in event.positions.items())
        return (self.publish(event.element), *released)

    def redirected(self, stream: Stream) -> Commands:
        return (do.SendAck(stream, 1, self.ledger.position(stream)),)
