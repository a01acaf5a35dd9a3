"""Active standby (Hwang §5.3): the secondary processes the same input in parallel and keeps its output to itself.

Input preservation: upstream keeps a tuple until both replicas have processed it; the primary acks for both.
Output preservation: the secondary drops what it logged only when it is duplicate: when its high watermarks are lower
than those of a tuple that all consumers have released, which the primary's queue-trimming message says every M. (The
paper trims at what they have received; but a consumer that fails next needs again what it has not released.)
Rejoin: the primary gives a new secondary its state, positions and sequencer, so that both number alike.

- deterministic networks: both replicas number alike, and consumers go on where they were: precise.
- `determinants` (arbitrary, precise): the primary sends nothing before the secondary holds the choices behind it; the
  secondary's non-deterministic steps wait for them.
- `exact=False` (arbitrary, rollback): the secondary's log differs; at a take-over it is sent as new tuples.
"""

from __future__ import annotations

from dataclasses import replace

from understudy.modes.instance import Commands, Instance, Role
from understudy.modes.migration import Phase
from understudy.modes.roll import RollCall
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.detector import Detector
from understudy.protocol.determinants import Pending
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.events import Event
from understudy.protocol.ids import Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Ledger, Wiring
from understudy.protocol.timer import due
from understudy.protocol.watermarks import Marks, Step, StepLog, newest, older

RESEND = 40  # intervals after which an unconfirmed state counts as lost


class ActiveStandby(Instance):
    def __init__(
        self,
        name: str,
        wiring: Wiring,
        detector: Detector,
        *,
        interval: int,
        exact: bool = True,
        determinants: bool = False,
    ) -> None:
        super().__init__(name, wiring, detector)
        self.interval = interval
        self.exact = exact or determinants
        self.determinants = self.hold_back = determinants
        self.forget()

    def forget(self) -> None:
        self.logs = {Stream(name): StepLog() for name in self.wiring.inputs}
        self.running = False  # as a secondary: processing in parallel
        self._heard_upto = 0  # the newest determinants message
        self.number = 0
        self._offered_at: Millis | None = None
        self._secondary: str | None = None
        self._joiner: str | None = None  # waits until an earlier secondary is fenced off
        self._fencing = False  # the Lease is taken anew, so that a lost secondary can't win it
        self._offered: Checkpoint | None = None  # the state on its way to a new secondary
        self._peer: Marks | None = None  # how far the secondary has come; None: nobody follows yet
        self._pending = Pending()
        self._awaited: tuple[int | None, Millis] = (None, Millis(0))  # determinants to be confirmed, and since when
        self._roll: RollCall | None = None
        self._told_at: Millis | None = None

    # --- secondary

    def could_continue(self) -> bool:
        return self.running

    def _heard(self, event: on.KeepAlive) -> Commands:
        """A primary that took the Lease anew may have been alone since: what it chose then never came here."""
        missed = self.running and self.determinants and event.epoch > self.epoch
        again = self._rejoin("the primary has begun a new epoch") if missed else ()
        return (*super()._heard(event), *again)

    def follow(self, event: Event) -> Commands:
        match event:
            case on.CheckpointArrived(checkpoint) if checkpoint.epoch >= self.epoch:
                return self._run(checkpoint)
            case on.Arrived() if self.running:
                return self._arrived(event)
            case on.Processed() if self.running:
                self.book(event)
                inner = () if Stream(event.element) in self.wiring.leaving else (self.publish(event.element),)
                return (*inner, *self._release_inner())
            case on.Acked() if self.running and event.consumer in self.wiring.inputs:
                self.ledger, held_from = self.ledger.acked(event)
                return (do.Trim(event.stream, held_from),)
            case on.QueueTrimming() if self.running and event.epoch == self.epoch:
                self.keep_trees(event.trees)
                return tuple(c for s, high in event.high.items() for c in self._drop_duplicates(s, high))
            case on.DeterminantsArrived() if self.running and event.epoch == self.epoch:
                return self._follow_choices(event)
            case on.Redirected() if self.running:
                self.ledger = self.ledger.redirected(event.stream, event.epoch)
                return ()
            case on.Resumes() if self.running and self.missed(event):
                return self._rejoin("upstream no longer has what follows this state")
            case _:
                return ()

    def _run(self, checkpoint: Checkpoint) -> Commands:
        self.forget()
        self.epoch, self.running = checkpoint.epoch, True
        self.ledger = Ledger.restored(self.wiring, checkpoint)
        self.keep_what_others_said(checkpoint)
        done = {s: max(e.positions.get(s, Seq(0)) for e in checkpoint.elements.values()) for s in self.wiring.entering}
        for name, e in checkpoint.elements.items():  # what was made before came of no more than has been processed
            if e.held.stop:
                self.logs[Stream(name)].append(Step(Seq(0), e.held.stop, e.selection, self._zero, done))
        inputs = tuple(do.ReadInput(s, checkpoint.position(s) or Seq(0)) for s in self.wiring.entering)
        return (do.Store(checkpoint), do.Run(self.epoch, checkpoint, self.determinants), *inputs)

    def _follow_choices(self, event: on.DeterminantsArrived) -> Commands:
        if event.number != self._heard_upto + 1:
            return self._rejoin(f"determinants {self._heard_upto + 1} are missing")
        self._heard_upto = event.number
        return (do.Choose(event.number, event.determinants),)

    def _rejoin(self, why: str) -> Commands:
        self.forget()
        self.ledger = Ledger.empty(self.wiring)
        return (do.StepDown(why), do.ReadLease("to follow anew"))

    def _drop_duplicates(self, stream: Stream, high: Marks) -> Commands:
        upto = self.ledger.queues[stream].trimmed
        log = self.logs[stream]
        while (step := log.find(upto)) is not None and older(step.high, high):
            upto = step.stop
        log.trim(upto)
        self.ledger = self.ledger.released(stream, upto)
        return (do.Trim(stream, upto),)

    def follow_tick(self, now: Millis) -> Commands:
        if not self.running or not self._due(now):
            return ()
        return (do.ReportProgress(self.epoch, self._positions()),)

    # --- take-over

    def _won(self, record: LeaseRecord) -> Commands:
        if not self.running:
            return super()._won(record)
        self._trying = self.running = False
        self.lease, self.epoch, self.role = record, record.epoch, Role.PRIMARY
        self.detector = self.detector.forget()
        lead = do.Lead(record.epoch, None, "continues what it has been running", live=True)
        if not self.exact:
            self._roll = RollCall(self.wiring)
            return (lead,)
        return (lead, *(self.publish(str(s)) for s in self.wiring.inputs))

    def start_inputs(self, checkpoint: Checkpoint | None) -> Commands:
        """From nothing: what an arbitrary network makes now differs from what an earlier life sent."""
        differs = self.determinants or not self.exact
        self._roll = RollCall(self.wiring) if differs and self.epoch > Epoch(1) else None
        return tuple(do.ReadInput(s, Seq(0)) for s in self.wiring.entering)

    @property
    def roll_open(self) -> bool:
        return self._roll is not None

    def _send_as_new(self, roll: RollCall) -> Commands:
        """The log, and all that follows, under seqs that no consumer has seen."""
        self._roll = None
        for stream in self.wiring.leaving:
            start = self.ledger.queues[stream].trimmed
            self.logs[stream] = self.logs[stream].moved(start, roll.furthest(stream))
        return self.send_as_new(roll)

    # --- migration: the secondary is live already

    must_withdraw = False

    def ready_for(self, target: str) -> bool:
        return self._secondary == target and self._peer is not None and self._roll is None

    def advance(self) -> Commands:
        if self.move is None or self.move.phase is not Phase.JOINING or not self.ready_for(self.move.target):
            return ()
        return self.hand_over(None)

    @property
    def moving(self) -> bool:
        return False

    # --- a live change

    @property
    def settled(self) -> bool:
        return super().settled and not self._fencing

    def retune(self, like: Instance) -> None:
        super().retune(like)
        if isinstance(like, ActiveStandby):
            self.interval = like.interval

    # --- primary

    def lead(self, event: Event) -> Commands:
        match event:
            case on.Subscribed() if self._roll is not None:
                self._roll.heard(event)
                return self._send_as_new(self._roll) if self._roll.complete else ()
            case on.SecondaryJoined(name):
                return self._offer(name)
            case on.SecondaryLeft(name) if name == self._secondary:
                return self._left()
            case on.CheckpointStored(epoch, number) if epoch == self.epoch:
                return self._stored(number)
            case on.SecondaryAt() if event.epoch == self.epoch and self._peer is not None:
                self._peer = event.positions
                return ()
            case on.DeterminantsStored(epoch, number) if epoch == self.epoch:
                return self._publish_upto(self._pending.stored(number))
            case _:
                return ()

    def _stored(self, number: int) -> Commands:
        """The secondary has the state: with it, what had been made until then and was held back."""
        offered = self._offered
        if offered is None or offered.number != number:
            return ()
        self._peer = {s: offered.position(s) or Seq(0) for s in self.wiring.entering}
        self._offered = None
        return self._publish_upto({s: offered.elements[s].held.stop for s in self.wiring.leaving if self.determinants})

    def _left(self) -> Commands:
        """With determinants, what the lost secondary has not confirmed may differ from what it would now send itself.

        So the primary takes the Lease anew first: then the secondary can't win it with what it has last seen.
        """
        self._offered = self._peer = None
        self._fencing = self.determinants
        if self._fencing:
            return (do.TryLease(self.lease, "to fence off the lost secondary"),)
        self._secondary = None
        return ()

    def still_ours(self) -> Commands:
        return self._left() if self._fencing else ()

    def renewed(self) -> Commands:
        if not self._fencing:
            return ()
        self._secondary, self._fencing = None, False
        free = self._publish_upto(self._pending.drop())
        joiner, self._joiner = self._joiner, None
        return (*free, *self._offer(joiner)) if joiner is not None else free

    def _offer(self, name: str) -> Commands:
        if self.determinants and self._secondary is not None:
            self._joiner = name
            return self._left()
        free = self._pending.drop()
        self._secondary, self._peer, self.number = name, None, self.number + 1
        self._offered = self.state(self.number)
        self._offered_at, self._pending, self._awaited = None, Pending(), (None, Millis(0))
        return (*self._publish_upto(free), do.Ship(self._offered, None))

    def _offer_again(self, now: Millis) -> Commands:
        """A state that is never confirmed is offered anew."""
        if self._offered is None or self._secondary is None:
            return ()
        self._offered_at = now if self._offered_at is None else self._offered_at
        if now - self._offered_at <= self.interval * RESEND:
            return ()
        return self._offer(self._secondary)

    def _log_again(self, now: Millis) -> Commands:
        """Determinants that are never confirmed were lost, and no later ones may follow that would show it: the
        secondary begins anew."""
        oldest, (awaited, since) = self._pending.oldest, self._awaited
        if oldest != awaited:
            self._awaited = (oldest, now)
            return ()
        lost = oldest is not None and not self._fencing and now - since > self.interval * RESEND
        return self._offer(self._secondary) if lost and self._secondary is not None else ()

    def book(self, event: on.Processed) -> Range:
        """Watermarks are kept as positions on the subjob's inputs: by the time an output is released, the steps between
        the elements that it came of may be forgotten. `at` is what is behind all output before the step for certain."""
        before = self.ledger.elements[event.element]
        made = super().book(event)
        if len(made):
            at, high = self._certain(before.positions), newest(self.logs, event.positions)
            step = Step(made.start, made.stop, before.selection, at, high)
            self.logs[Stream(event.element)].append(step)
        if self.role is Role.PRIMARY and self.determinants and self._secondary is not None:
            self._pending.add(event.choice, Stream(event.element), made.stop)
        return made

    def processed(self, event: on.Processed) -> Commands:
        held = self._roll is not None or (self.determinants and self._secondary is not None)
        publish = () if held and Stream(event.element) in self.wiring.leaving else (self.publish(event.element),)
        return (*publish, *self._release_inner())

    def acked(self, event: on.Acked) -> Commands:
        if event.stream in self.wiring.leaving:
            self.logs[event.stream].trim(self.ledger.queues[event.stream].trimmed)
        return ()

    def lead_tick(self, now: Millis) -> Commands:
        log = (*self._offer_again(now), *self._log_again(now), *self._log_message())
        if not self._due(now) or self._peer is None:
            return log
        return (*log, *self._acks(self._peer), *self._queue_trimming())

    def _log_message(self) -> Commands:
        message = self._pending.message() if self._secondary is not None else None
        return (do.ShipDeterminants(self.epoch, *message),) if message else ()

    def _acks(self, peer: Marks) -> Commands:
        """Upstream may drop what both replicas have processed; nothing, while this one is about to be succeeded."""
        if self.move is not None and self.move.handed:
            return ()
        mine = self._positions()
        return tuple(do.SendAck(s, 1, min(mine[s], peer.get(s, Seq(0)))) for s in self.wiring.external)

    def _queue_trimming(self) -> Commands:
        high = {}
        for stream in self.wiring.leaving:
            upto = self.ledger.queues[stream].trimmed
            if upto:
                high[stream] = self._input_before(stream, upto)
        return (do.SendQueueTrimming(self.epoch, high, self.kept_trees()),) if high else ()

    def _certain(self, positions: Marks) -> dict[Stream, Seq]:
        """Map positions on an element's inputs to the subjob's: all that was made of input before them is before the
        positions. An element that reads another one's stream may stand amid what a step of that one made."""
        found: dict[Stream, Seq] = {}
        for stream, position in positions.items():
            origin = self._input_before(stream, position) if stream in self.logs else {stream: position}
            for s, p in origin.items():
                found[s] = min(found.get(s, p), p)
        return found

    def _input_before(self, stream: Stream, position: Seq) -> dict[Stream, Seq]:
        """The same for a position on the stream of an element: where the step stood that made the tuple there."""
        step = self.logs[stream].find(position)
        if step is not None:
            return dict(step.at)
        whole = position >= self.ledger.queues[stream].next  # else it was made in another mode, and is not in the log
        return self._certain(self.ledger.elements[stream].positions) if whole else self._zero

    @property
    def _zero(self) -> dict[Stream, Seq]:
        return dict.fromkeys(self.wiring.entering, Seq(0))

    def _publish_upto(self, free: dict[Stream, Seq]) -> Commands:
        """An end is a choice, too: a step that drops the last tuples makes no output that would have to wait."""
        found = (self.publish(str(s), p) for s, p in free.items() if s in self.wiring.leaving)
        return tuple(replace(p, ended=p.ended and self._pending.settled) for p in found)

    # --- both

    def _release_inner(self) -> Commands:
        """Queues between the elements of a subjob are trimmed by what was processed: they live and die together. Their
        logs too: what has come of them since is kept as positions on the subjob's inputs."""
        processed = {s: self.ledger.position(s) for s in self.logs if s not in self.wiring.leaving}
        for stream, position in processed.items():
            self.logs[stream].trim(position)
        return tuple(do.SendAck(s, 1, p) for s, p in processed.items())

    def _positions(self) -> dict[Stream, Seq]:
        return {s: self.ledger.position(s) for s in self.wiring.entering}

    def _due(self, now: Millis) -> bool:
        if not due(self._told_at, now, self.interval):
            return False
        self._told_at = now
        return True

    @property
    def protected(self) -> bool:
        return self._peer is not None

    @property
    def secondary(self) -> str | None:
        return self._secondary
