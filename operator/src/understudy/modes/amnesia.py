"""Amnesia (Hwang §4): gap recovery. A replacement starts empty, at the newest input; everything in between is
lost.

The replacement is a new process, or a waiting spare: a spare has no state either, but is warm.

There is no run-time cost: an input tuple is released as soon as it is processed. A replacement first asks all
consumers which tuples of its stream they have received, so that no seq is used twice, and only then takes
input. It waits a limited time for consumers that do not answer; one that comes back later keeps its own
count. The loss is known: a producer knows which tuples were released, and for a source the watermarks that
consumers return say how far it was read.
"""

from __future__ import annotations

from dataclasses import replace

from understudy.modes.instance import Instance
from understudy.modes.roll import RollCall
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.commands import Commands
from understudy.protocol.detector import Detector
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
        super().forget()
        self.roll = RollCall.of(self.wiring)
        self._logs = {Stream(name): StepLog() for name in self.wiring.inputs}
        self._untold = False

    def start_inputs(self, checkpoint: Checkpoint | None) -> Commands:
        if self.epoch > Epoch(1):
            self.numbering = self.numbering.lost_state()
            return ()
        self.roll = None
        return tuple(do.ReadInput(s, Seq(0)) for s in self.wiring.entering)

    def continue_moved(self, checkpoint: Checkpoint) -> Commands:
        self.roll = None
        return super().continue_moved(checkpoint)

    def taken_up(self) -> None:
        self.roll = None

    def consumer_heard(self, event: on.Subscribed) -> Commands:
        if self.roll is None:
            return ()
        self.roll = self.roll.heard(event)
        return self._begin(self.roll) if self.roll.complete else ()

    def lead_tick(self, now: Millis) -> Commands:
        return self._begin(self.roll) if self.without_the_silent(now) and self.roll is not None else ()

    @property
    def protected(self) -> bool:
        """Whether a spare could take over now. What is being processed is lost in any case."""
        return self.secondary is not None and self.roll is None

    def _begin(self, roll: RollCall) -> Commands:
        self.roll = None
        for stream in self.wiring.leaving:
            self.numbering = self.numbering.diverging({stream: roll.furthest(stream)})
            self.ledger = self.ledger.rebased(stream, roll.furthest(stream))
        skips = tuple(do.Skip(s, position) for s, position in self._came_to(roll).items())
        return (*skips, *(do.ReadInput(s, None) for s in self.wiring.entering))

    def _came_to(self, roll: RollCall) -> dict[Stream, Seq]:
        """How far the former life had read each source for the tuples that consumers have received: this
        input is not lost."""
        answers = [answer for s in self.wiring.leaving for answer in roll.answers(s)]
        marks = [answer.mark for answer in answers if answer.mark is not None]
        self._untold = not marks and any(answer.start for answer in answers)
        found = {s: max((m.high.get(s, Seq(0)) for m in marks), default=Seq(0)) for s in self._sources}
        for source, position in found.items():
            self.ledger = self.ledger.moved(source, position)
        return found

    def lost(self, stream: Stream, missing: Range) -> Commands:
        """Reports the loss, unless it is unknown: a consumer that has restarted itself has no watermark, so
        the loss at a source can't be computed."""
        unknown = self._untold and stream in self._sources
        return super().lost(stream, Range(missing.stop, missing.stop) if unknown else missing)

    def loses_from(self, stream: Stream) -> Seq:
        """As the successor would compute it. For a source: the end of the input of tuples that consumers have
        received; for another input: the end of what was released."""
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
        """How far the subjob had read its external inputs when it made the tuple before `position`."""
        step = self._logs[stream].before(position) if self._sources else None
        return replace(step, high=newest(self._logs, step.high)) if step is not None else None

    def processed(self, event: on.Processed) -> Commands:
        released = tuple(do.SendAck(s, 1, upto) for s, upto in event.positions.items())
        return (self.publish(event.element), *released)

    def redirected(self, stream: Stream) -> Commands:
        return (do.SendAck(stream, 1, self.ledger.position(stream)),)
