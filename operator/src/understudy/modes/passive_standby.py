"""Passive standby (Hwang §5.1, Zhang): the primary ships its state to a secondary.

Input preservation: an input tuple is released upstream only when the secondary has stored a checkpoint that
covers it. Output preservation: the secondary's state is never newer than the primary's, so every tuple that
it sends again after a take-over was sent before.

Without a secondary nothing is released: upstream keeps the input that a first secondary, or a restart from
zero, will need.

With several elements there are three strategies (Zhang): all elements at once, one at a time, or *sweeping*:
an element is checkpointed right after an ack has trimmed its output queue, so that as little as possible of
the queue is shipped. The confirmed checkpoint releases the element's input. That trims the queue of the
element before it, which is checkpointed next: the sweep runs upstream by itself. Where possible a sweep goes
one step further than Zhang's: it checkpoints the element as it was when it made the first tuple that its
consumers still need, so that nothing of the queue is shipped; later tuples are made again after a take-over.
A checkpoint of one element carries the others as last confirmed. For deterministic elements this is
consistent: queues between elements are trimmed by confirmed positions only, and whatever an element in an
older state makes again, an element in a newer state has already received.

`hold_back` makes arbitrary operators precise (Hwang §6, Table 4): only checkpointed tuples are sent. This is
necessary as long as another instance could take over from an older checkpoint. A primary without a secondary
sends everything; one that loses its secondary first takes the Lease again, so that the lost secondary can't
win it with its last checkpoint. `exact=False`: an arbitrary network without `hold_back`. After a take-over
all its output is sent as new tuples (divergent recovery).
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from understudy.modes.instance import Instance
from understudy.modes.moving import Phase
from understudy.modes.resuming import Resuming
from understudy.modes.transitions import State, row
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint, ElementState
from understudy.protocol.commands import Commands
from understudy.protocol.delivered_acks import DeliveredAcks
from understudy.protocol.detector import Detector
from understudy.protocol.ids import Millis, Range, Seq, Stream
from understudy.protocol.ledger import Wiring
from understudy.protocol.timer import due
from understudy.protocol.watermarks import Step, StepLog

RESEND = 8  # intervals after which an unconfirmed checkpoint counts as lost
PATIENCE = 4  # a sweep that no ack has started is started after this many intervals
STEPS = 500  # the newest steps of an element, to which a sweep can go back


class Strategy(Enum):
    SYNCHRONOUS = "synchronous"
    INDIVIDUAL = "individual"
    SWEEPING = "sweeping"


class PassiveStandby(Instance):
    resuming: Resuming
    ships_checkpoints = True

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
        self.resuming = Resuming(self, always_new=not self.exact)
        self.strategy = strategy
        self.forget()

    def forget(self) -> None:
        super().forget()
        self._kept: Checkpoint | None = None  # as a secondary: the newest stored checkpoint
        self._secondary: str | None = None
        self._fencing = False  # the Lease is being taken again, so that a lost secondary can't win it
        self._joiner: str | None = None  # the new secondary that waits until an earlier one is fenced off
        self.number = 0
        self._in_flight: Checkpoint | None = None
        self._confirmed: Checkpoint | None = None  # the newest checkpoint that the secondary has confirmed
        self._shipped_at: Millis | None = None
        self._shipped: dict[str, Millis] = {}  # when each element was last shipped
        self._due: dict[str, None] = {}  # elements whose queue was trimmed, in the order of trimming
        self._trimmed: dict[Stream, Seq] = {}  # where each queue began when it was last looked at
        self._changed = False
        self._now = Millis(0)
        self._logs = {Stream(name): StepLog() for name in self.wiring.inputs} if self._goes_back else {}

    @property
    def _goes_back(self) -> bool:
        """Whether sweeps go back to the trimmed point. Not where output is held back: there only a new
        checkpoint lets output go."""
        return self.strategy is Strategy.SWEEPING and self.exact and not self.hold_back

    # --- secondary

    def stored(self) -> Checkpoint | None:
        return self._kept

    def could_continue(self) -> bool:
        return self._kept is not None

    def checkpoint_arrived(self, event: on.CheckpointArrived) -> Commands:
        """Stores the checkpoint and confirms it, unless its epoch is older."""
        if event.checkpoint.epoch < self.epoch:
            return ()
        self.leadership = self.leadership.in_epoch(event.checkpoint.epoch)
        self._kept = event.checkpoint
        return (do.Store(event.checkpoint),)

    def start_inputs(self, checkpoint: Checkpoint | None) -> Commands:
        # output differs from what was sent before
        differs = not self.exact or (self.hold_back and checkpoint is None)
        at = {s: (checkpoint.covers(s) if checkpoint else None) or Seq(0) for s in self.wiring.entering}
        self.resuming.takes_up(at, differs=differs)
        resent = () if self.roll is not None else tuple(self.publish(name) for name in self.wiring.inputs)
        return (*resent, *(do.ReadInput(s, at[s]) for s in self.wiring.entering))

    # --- primary

    def continue_moved(self, checkpoint: Checkpoint) -> Commands:
        self.roll = None
        return super().continue_moved(checkpoint)

    def consumer_heard(self, event: on.Subscribed) -> Commands:
        return self.resuming.hear(event)

    def secondary_joined(self, event: on.SecondaryJoined) -> Commands:
        """Ships a whole checkpoint to the new secondary, due at once. Where output is held back, a former
        secondary is fenced off first."""
        return (*self._joined(event.name), *self.moves.handle(event))

    def secondary_left(self, event: on.SecondaryLeft) -> Commands:
        """Stops shipping. Where output is held back, takes the Lease again, so that the lost secondary cannot
        win it."""
        left: Commands = ()
        if event.name == self._secondary:
            self._confirmed = self._in_flight = None
            left = self._fence()
        return (*left, *self.moves.handle(event))

    def checkpoint_stored(self, event: on.CheckpointStored) -> Commands:
        """Releases the input that the checkpoint covers; sends the output that was held back for it."""
        return self.confirm(event.number) if event.epoch == self.epoch else ()

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
        """The lost secondary is fenced off: no instance can take over from an older checkpoint."""
        if not self._fencing:
            return ()
        self._fencing, self._changed = False, True
        self._secondary, self._joiner = self._joiner, None
        return tuple(self.publish(s) for s in self.wiring.leaving)

    def heard(self, event: on.KeepAlive) -> Commands:
        commands = super().heard(event)
        if self.hold_back and self._kept is not None and self._kept.epoch < self.epoch:
            self._kept = (
                # the primary may have run alone in the meantime and sent tuples that this checkpoint does not
                # cover
                None
            )
        return commands

    # --- migration: the last checkpoint is shipped and confirmed like any other

    def ready_for(self, target: str) -> bool:
        return self._secondary == target and self._confirmed is not None and self.roll is None

    def move_state(self) -> Commands:
        self.moves.enter(Phase.SHIPPING)
        return self.ship_final()

    def ship_final(self) -> Commands:
        return self.ship(tuple(self.wiring.inputs))

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
        """Ships at most one checkpoint per interval, none while another is unconfirmed, none without a
        change."""
        self._now = now
        return (*self.resuming.tick(now), *self._ship_if_due(now))

    def _ship_if_due(self, now: Millis) -> Commands:
        if self._in_flight is not None and now - (self._shipped_at or 0) > self.interval * RESEND:
            self.unconfirmed()
        if self._secondary is None or self._fencing or self._in_flight or self.roll is not None:
            return ()
        if self.move is not None and self.move.phase is Phase.SHIPPING:
            return self.ship_final()
        if not self._changed:
            return ()
        if self._confirmed is None or self.strategy is Strategy.SYNCHRONOUS:
            return self.ship(tuple(self.wiring.inputs)) if self._is_due(self.interval) else ()
        if self.strategy is Strategy.INDIVIDUAL:
            return (
                self.ship((self._longest_ago(),))
                if self._is_due(self.interval // len(self.wiring.inputs))
                else ()
            )
        waited = self._now - (self._shipped_at or Millis(0)) >= self.interval * PATIENCE
        return self.ship((self._longest_ago(),)) if waited else ()

    def unconfirmed(self) -> None:
        """The checkpoint in flight was never confirmed: the state of the secondary is unknown."""
        self._in_flight = self._confirmed = None
        self._changed = True

    def _is_due(self, interval: int) -> bool:
        return due(self._shipped_at, self._now, interval)

    def _longest_ago(self) -> str:
        return min(self.wiring.inputs, key=lambda n: self._shipped.get(n, Millis(-1)))

    def _sweep(self) -> Commands:
        """Checkpoints the element whose queue was trimmed first, unless another checkpoint is in flight."""
        if self._secondary is None or self._in_flight or self._confirmed is None:
            return ()
        for element in tuple(self._due):
            step = self._as_trimmed(element)
            if step is None:
                return self.ship((element,))
            if all(step.at[s] > p for s, p in self._confirmed.elements[element].positions.items()):
                return self._ship_as(
                    {element: ElementState(step.at, step.low, Range(step.first, step.first))}
                )
            del self._due[element]  # the confirmed step is still needed; the next trim may pass it
        return ()

    def _as_trimmed(self, name: str) -> Step | None:
        """The step that made the first tuple that the element's consumers need. None if the element can't go
        back to the beginning of that step, because the selection of that time was dropped or because it
        merges inputs."""
        stream, now = Stream(name), self.ledger.elements[name]
        step = self._logs[stream].find(self.ledger.queues[stream].trimmed) if stream in self._logs else None
        if step is None or len(step.at) > 1:
            return None
        forgotten = any(step.low[s] < min(step.at[s], now.selection[s]) for s in now.positions)
        return None if forgotten else step

    def ship(self, elements: tuple[str, ...]) -> Commands:
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
        found = ((s, self.neighbours.mark_of(s, state.covers(s) or Seq(0))) for s in self.neighbours.marks)
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
        held = self.roll is not None or (self.hold_back and self._secondary is not None)
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
        """Whether the ack shortened a queue, and its element was last checkpointed at least an interval ago.
        An ack that repeats a known position must not count: the queue has grown since that position was first
        acked."""
        before, begins = self._trimmed.get(event.stream, Seq(0)), self.ledger.queues[event.stream].trimmed
        self._trimmed[event.stream] = begins
        return begins > before and due(self._shipped.get(str(event.stream)), self._now, self.interval)

    def confirm(self, number: int) -> Commands:
        if self._in_flight is None or self._in_flight.number != number:
            return ()
        self._confirmed, self._in_flight = self._in_flight, None
        released = (*self.release(self._confirmed), *self._forward(self._confirmed))
        if self.move is not None and self.move.phase is Phase.SHIPPING:
            return (*released, *self.moves.hand_over(None))
        # a checkpoint shipped here contains the queues as they were before the acks
        return (*self._sweep(), *released)

    def release(self, checkpoint: Checkpoint) -> Commands:
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

    def replays_from(self, stream: Stream, delivered: DeliveredAcks) -> Seq:
        """After a take-over, input is replayed from the end of what the secondary's checkpoint covers."""
        found = self._confirmed.covers(stream) if self._confirmed else None
        return found or Seq(0)

    TRANSITIONS = Instance.TRANSITIONS.extended(
        row(State.STANDBY, on.CheckpointArrived, checkpoint_arrived),
        row(State.PRIMARY, on.SecondaryJoined, secondary_joined),
        row(State.PRIMARY, on.SecondaryLeft, secondary_left),
        row(State.PRIMARY, on.CheckpointStored, checkpoint_stored),
    )
