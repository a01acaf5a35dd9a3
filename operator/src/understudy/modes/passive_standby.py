"""Passive standby (Hwang §5.1, Zhang): the primary ships its state to a secondary.

Input preservation: an input tuple is released upstream only when the secondary has stored a checkpoint that
covers it. Output preservation: the secondary is always behind, so what it sends again after a take-over was
sent before.

Without a secondary nothing is released: upstream keeps what a first secondary, or a restart from zero, will
need.

Over several elements there are three strategies (Zhang): all at once, one at a time, or *sweeping*: an
element right after an ack has trimmed its output queue, so that least of the queue is shipped. The confirmed
checkpoint releases the element's input, which trims the queue before it, which makes that element due: the
sweep runs upstream by itself. Where it can, a sweep goes one step further than Zhang's: it checkpoints the
element as it was when it made the first tuple that its consumers still need, so that nothing of the queue is
shipped; what it has made since is made again. A checkpoint of one element carries the others as last
confirmed, which is consistent for deterministic elements: queues between elements are trimmed by confirmed
positions only, and what an older element makes again, a newer one has.

`hold_back` makes arbitrary operators precise (Hwang §6, Table 4): only checkpointed tuples are forwarded.
That holds while somebody could take over from an older checkpoint. A primary that is alone forwards all; one
that loses its secondary first takes the Lease anew, so that the lost one can't win it with what it has last
seen. `exact=False`: an arbitrary network without it. What the secondary sends is sent as new tuples
(divergent recovery).
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from understudy.modes.instance import Commands, Instance
from understudy.modes.migration import Phase
from understudy.modes.resuming import Resuming
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint, ElementState
from understudy.protocol.detector import Detector
from understudy.protocol.events import Event
from understudy.protocol.ids import Millis, Range, Seq, Stream
from understudy.protocol.ledger import Wiring
from understudy.protocol.timer import due
from understudy.protocol.told import Told
from understudy.protocol.watermarks import Step, StepLog

RESEND = 8  # intervals after which an unconfirmed checkpoint counts as lost
PATIENCE = 4  # a sweep that no ack starts is started after this many intervals
STEPS = 500  # the newest steps of an element that a sweep can go back to


class Strategy(Enum):
    SYNCHRONOUS = "synchronous"
    INDIVIDUAL = "individual"
    SWEEPING = "sweeping"


class PassiveStandby(Resuming):
    def __init__(
        self,
        name: str,
        wiring: Wiring,
        detector: Detector,
        *,
        interval: int,
        hold_back: bool = False,
        exact: bool = True,
        strategy: Strategy = Strategy.SYNCHRONOUS,
    ) -> None:
        super().__init__(name, wiring, detector)
        self.interval = interval
        self.hold_back = hold_back
        self.exact = exact or hold_back
        self.always_new = not self.exact
        self.strategy = strategy
        self.forget()

    def forget(self) -> None:
        super().forget()
        self._kept: Checkpoint | None = None  # as a secondary: the newest stored
        self._secondary: str | None = None
        self._fencing = False  # the Lease is taken anew, so that a lost secondary can't win it
        self._joiner: str | None = None  # waits until an earlier secondary is fenced off
        self.number = 0
        self._in_flight: Checkpoint | None = None
        self._confirmed: Checkpoint | None = None  # what the secondary has
        self._shipped_at: Millis | None = None
        self._shipped: dict[str, Millis] = {}  # the same per element
        self._due: dict[str, None] = {}  # elements whose queue was trimmed, in that order
        self._trimmed: dict[Stream, Seq] = {}  # where queues were last seen to begin
        self._changed = False
        self._now = Millis(0)
        self._logs = {Stream(name): StepLog() for name in self.wiring.inputs} if self._goes_back else {}

    @property
    def _goes_back(self) -> bool:
        """Whether sweeps go back to the trimmed point. Where output is held back, only a new checkpoint lets
        it go."""
        return self.strategy is Strategy.SWEEPING and self.exact and not self.hold_back

    # --- secondary

    def stored(self) -> Checkpoint | None:
        return self._kept

    def could_continue(self) -> bool:
        return self._kept is not None

    def follow(self, event: Event) -> Commands:
        match event:
            case on.CheckpointArrived(checkpoint) if checkpoint.epoch >= self.epoch:
                self.epoch, self._kept = checkpoint.epoch, checkpoint
                return (do.Store(checkpoint),)
            case _:
                return ()

    def start_inputs(self, checkpoint: Checkpoint | None) -> Commands:
        differs = not self.exact or (self.hold_back and checkpoint is None)  # from what was sent before
        at = {s: (checkpoint.covers(s) if checkpoint else None) or Seq(0) for s in self.wiring.entering}
        self.takes_up(at, differs=differs)
        resent = () if self._roll is not None else tuple(self.publish(name) for name in self.wiring.inputs)
        return (*resent, *(do.ReadInput(s, at[s]) for s in self.wiring.entering))

    # --- primary

    def continue_moved(self, checkpoint: Checkpoint) -> Commands:
        self._roll = None
        return super().continue_moved(checkpoint)

    def lead(self, event: Event) -> Commands:
        match event:
            case on.SecondaryJoined(name):
                return self._joined(name)
            case on.SecondaryLeft(name) if name == self._secondary:
                self._confirmed = self._in_flight = None
                return self._fence()
            case on.CheckpointStored(epoch, number) if epoch == self.epoch:
                return self._confirm(number)
            case on.Subscribed():
                return self.hear(event)
            case _:
                return ()

    def _joined(self, name: str) -> Commands:
        self._confirmed = self._in_flight = None
        if self.hold_back and self._secondary is not None:
            self._joiner = name
            return self._fence()
        self._secondary, self._changed = name, True
        return ()

    def _fence(self) -> Commands:
        self._fencing = self.hold_back
        if self._fencing:
            return (do.TryLease(self.lease, "to fence off the lost secondary"),)
        self._secondary = None
        return ()

    def still_ours(self) -> Commands:
        return self._fence() if self._fencing else ()

    def renewed(self) -> Commands:
        """The lost secondary is fenced off: nobody can take over from an older checkpoint."""
        if not self._fencing:
            return ()
        self._fencing, self._changed = False, True
        self._secondary, self._joiner = self._joiner, None
        return tuple(self.publish(s) for s in self.wiring.leaving)

    def _heard(self, event: on.KeepAlive) -> Commands:
        commands = super()._heard(event)
        if self.hold_back and self._kept is not None and self._kept.epoch < self.epoch:
            self._kept = (
                None  # the primary may have been alone since, and have sent what this checkpoint lacks
            )
        return commands

    # --- migration: the last checkpoint is one like any other

    def ready_for(self, target: str) -> bool:
        return self._secondary == target and self._confirmed is not None and self._roll is None

    def move_state(self) -> Commands:
        self.moves.enter(Phase.SHIPPING)
        return self.ship_final()

    def ship_final(self) -> Commands:
        return self._ship(tuple(self.wiring.inputs))

    def kept_back(self) -> Checkpoint | None:
        if self.hold_back:
            return None
        state = self.state(self.number)
        return replace(state, marks=self._marks(state))

    def keep(self, checkpoint: Checkpoint | None) -> None:
        self._kept = checkpoint

    # --- a live change

    @property
    def settled(self) -> bool:
        return super().settled and not self._fencing

    def retune(self, like: Instance) -> None:
        super().retune(like)
        if isinstance(like, PassiveStandby):
            self.interval, self.strategy = like.interval, like.strategy

    # --- when to ship

    def lead_tick(self, now: Millis) -> Commands:
        """Ship at most one checkpoint per interval, none while one is under way, none without a change."""
        self._now = now
        return (*self.roll_tick(now), *self._ship_if_due(now))

    def _ship_if_due(self, now: Millis) -> Commands:
        if self._in_flight is not None and now - (self._shipped_at or 0) > self.interval * RESEND:
            self._unconfirmed()
        if self._secondary is None or self._fencing or self._in_flight or self._roll is not None:
            return ()
        if self.move is not None and self.move.phase is Phase.SHIPPING:
            return self.ship_final()
        if not self._changed:
            return ()
        if self._confirmed is None or self.strategy is Strategy.SYNCHRONOUS:
            return self._ship(tuple(self.wiring.inputs)) if self._is_due(self.interval) else ()
        if self.strategy is Strategy.INDIVIDUAL:
            return (
                self._ship((self._longest_ago(),))
                if self._is_due(self.interval // len(self.wiring.inputs))
                else ()
            )
        waited = self._now - (self._shipped_at or Millis(0)) >= self.interval * PATIENCE
        return self._ship((self._longest_ago(),)) if waited else ()

    def _unconfirmed(self) -> None:
        """The checkpoint under way was never confirmed: what the secondary has is not known."""
        self._in_flight = self._confirmed = None
        self._changed = True

    def _is_due(self, interval: int) -> bool:
        return due(self._shipped_at, self._now, interval)

    def _longest_ago(self) -> str:
        return min(self.wiring.inputs, key=lambda n: self._shipped.get(n, Millis(-1)))

    def _sweep(self) -> Commands:
        """Checkpoint the element whose queue was trimmed first, now that nothing else is under way."""
        if self._secondary is None or self._in_flight or self._confirmed is None:
            return ()
        for element in tuple(self._due):
            step = self._as_trimmed(element)
            if step is None:
                return self._ship((element,))
            if all(step.at[s] > p for s, p in self._confirmed.elements[element].positions.items()):
                return self._ship_as(
                    {element: ElementState(step.at, step.low, Range(step.first, step.first))}
                )
            del self._due[element]  # the step that was confirmed is still needed: the next trim may end it
        return ()

    def _as_trimmed(self, name: str) -> Step | None:
        """The step that made the first tuple that its consumers need; None if the element can't go back to
        where it began: the selection of that time is forgotten, or it merges inputs."""
        stream, now = Stream(name), self.ledger.elements[name]
        step = self._logs[stream].find(self.ledger.queues[stream].trimmed) if stream in self._logs else None
        if step is None or len(step.at) > 1:
            return None
        forgotten = any(step.low[s] < min(step.at[s], now.selection[s]) for s in now.positions)
        return None if forgotten else step

    def _ship(self, elements: tuple[str, ...]) -> Commands:
        now = self.state(self.number).elements
        return self._ship_as({name: now[name] for name in elements})

    def _ship_as(self, elements: dict[str, ElementState]) -> Commands:
        self.number += 1
        state = self.state(self.number)
        if self._confirmed is not None:
            state = replace(state, elements={**self._confirmed.elements, **elements})
        self._in_flight = replace(state, marks=self._marks(state))
        self._shipped_at, self._changed = self._now, False
        for name in elements:
            self._shipped[name] = self._now
            self._due.pop(name, None)
        return (do.Ship(self._in_flight, self._confirmed),)

    def _marks(self, state: Checkpoint) -> dict[Stream, Step]:
        found = ((s, self.mark_of(s, state.covers(s) or Seq(0))) for s in self.marks)
        return {s: m for s, m in found if m is not None}

    def book(self, event: on.Processed) -> Range:
        log = self._logs.get(Stream(event.element))
        if log is None:
            return super().book(event)
        made = self.book_with_step(event, log)
        log.keep(STEPS)
        return made

    def processed(self, event: on.Processed) -> Commands:
        self._changed = True
        held = self._roll is not None or (self.hold_back and self._secondary is not None)
        return () if held and Stream(event.element) in self.wiring.leaving else (self.publish(event.element),)

    def acked(self, event: on.Acked) -> Commands:
        self._changed = True
        if event.stream in self._logs:
            self._logs[event.stream].trim(self.ledger.queues[event.stream].trimmed)
        if self.strategy is not Strategy.SWEEPING or not self._trims(event):
            return ()
        self._due[str(event.stream)] = None
        return self._sweep()

    def _trims(self, event: on.Acked) -> bool:
        """Whether an ack shortened a queue whose element was last checkpointed an interval ago. An ack that
        repeats what is known must not count: the queue behind it has grown for a while."""
        before, begins = self._trimmed.get(event.stream, Seq(0)), self.ledger.queues[event.stream].trimmed
        self._trimmed[event.stream] = begins
        return begins > before and due(self._shipped.get(str(event.stream)), self._now, self.interval)

    def _confirm(self, number: int) -> Commands:
        if self._in_flight is None or self._in_flight.number != number:
            return ()
        self._confirmed, self._in_flight = self._in_flight, None
        released = (*self._release(self._confirmed), *self._forward(self._confirmed))
        if self.move is not None and self.move.phase is Phase.SHIPPING:
            return (*released, *self.moves.hand_over(None))
        return (*self._sweep(), *released)  # what is shipped now has the queues as they were before the acks

    def _release(self, checkpoint: Checkpoint) -> Commands:
        streams = dict.fromkeys(s for ins in self.wiring.inputs.values() for s in ins)
        found = ((s, checkpoint.covers(s)) for s in streams)
        return tuple(do.SendAck(s, 1, upto) for s, upto in found if upto is not None)

    def redirected(self, stream: Stream) -> Commands:
        upto = self._confirmed.covers(stream) if self._confirmed else None
        return (do.SendAck(stream, 1, upto),) if upto is not None else ()

    def _forward(self, checkpoint: Checkpoint) -> Commands:
        if not self.hold_back:
            return ()
        states = ((s, checkpoint.elements[s]) for s in self.wiring.leaving)
        return tuple(do.Publish(s, state.held.stop, state.ended) for s, state in states)

    @property
    def protected(self) -> bool:
        return self._confirmed is not None

    @property
    def secondary(self) -> str | None:
        return self._secondary

    def replays_from(self, stream: Stream, told: Told) -> Seq:
        """What the secondary has stored covers the input before."""
        found = self._confirmed.covers(stream) if self._confirmed else None
        return found or Seq(0)
