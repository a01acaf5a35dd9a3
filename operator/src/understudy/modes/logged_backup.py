"""Upstream backup that is precise for every network (Hwang §6, Table 4): the primary logs its steps at its
standby.

"As in active standby, upstream backup can provide precise recovery for more complex query networks by logging
determinants from primary to secondary. Unlike active standby, these determinants are processed only when the
secondary takes over."

The log says of each step where it began, what it chose and which seqs it gave (`protocol.replay`).

- The primary sends nothing before its standby holds the step behind it (`confirming`), and releases input
  only by steps that the standby holds: what upstream lets go of, no replay of the standby begins at.
- The standby keeps the log and nothing else. It drops what no replay can begin at any more; the primary says
  what.
- At a take-over it does again what the hindmost consumer lacks: elements begin where steps began, take the
  choices of the log, and give the seqs that it says. After the last step of the log they choose for
  themselves.

A log counts only in the epoch right after its own: a primary that took the Lease anew may have been alone
since. Where there is none, a take-over is that of `UpstreamBackup` without watermarks: duplicates, but no
loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from understudy.modes.confirming import Confirming
from understudy.modes.instance import Commands, Instance
from understudy.modes.roll import RollCall
from understudy.modes.upstream_backup import UpstreamBackup
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.detector import Detector
from understudy.protocol.determinants import Determinant, Free
from understudy.protocol.events import Event
from understudy.protocol.ids import Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Wiring
from understudy.protocol.replay import Replay, ReplayLog
from understudy.protocol.told import Told
from understudy.protocol.watermarks import Marks


class LoggedBackup(UpstreamBackup):
    hold_back = True
    holds_nothing = False
    _log_again: ReplayLog | None = None  # with which this life begins again

    def __init__(self, name: str, wiring: Wiring, detector: Detector, *, interval: int) -> None:
        super().__init__(name, wiring, detector, interval=interval, forward=False)

    def forget(self) -> None:
        super().forget()
        self.log = ReplayLog.beginning(self.ledger)
        self.logged_in: Epoch | None = None  # as a standby: whose log is here, whole as far as it goes
        self._heard_upto = 0
        self._confirming = Confirming(self, self._offer)
        self._informed = False  # as a primary: whether the standby has confirmed the log
        self._trimmed: Mapping[Stream, Seq] = {}  # as a primary: the log begins there

    # --- standby

    def could_continue(self) -> bool:
        return self.logged_in is not None and self.logged_in == self.epoch

    def _heard(self, event: on.KeepAlive) -> Commands:
        """A primary that took the Lease anew may have been alone since. It gives the log anew to who is
        there."""
        if self.logged_in is not None and event.epoch > self.logged_in:
            self.logged_in = None
        return super()._heard(event)

    def follow(self, event: Event) -> Commands:
        match event:
            case on.DeterminantsArrived() if event.epoch >= self.epoch:
                return self._keep(event)
            case _:
                return super().follow(event)

    def _keep(self, event: on.DeterminantsArrived) -> Commands:
        if event.whole:
            self.epoch = self.logged_in = event.epoch
            self.log = ReplayLog(self.wiring.inputs)
        elif event.epoch != self.logged_in:
            return ()  # what they follow is not here: the primary will hear no word of them
        elif event.number != self._heard_upto + 1:
            return self._rejoin(f"determinants {self._heard_upto + 1} are missing")
        self._heard_upto = event.number
        self.log.extend(event.determinants)
        if event.needed:
            self.log.trim(event.needed)
        return (do.ConfirmDeterminants(event.epoch, event.number),)

    def _rejoin(self, why: str) -> Commands:
        self.forget()
        return (do.StepDown(why), do.ReadLease("to follow anew"))

    # --- take-over

    def start_inputs(self, checkpoint: Checkpoint | None) -> Commands:
        counts = self.logged_in is not None and self.logged_in + 1 == self.epoch
        log, self._log_again = self.log if counts else self._log_again, None
        commands = super().start_inputs(checkpoint)
        self.log = log or self.log
        return commands

    def late_consumer_differs(self, event: on.Subscribed) -> Commands:
        """The log still counts, unless this life gave other seqs than it says. What no standby has confirmed
        yet was sent to nobody. A standby that was about to be fenced off still has to be."""
        self._log_again = self.log if event.stream not in self.anew else None
        fencing = self._confirming.fencing
        commands = super().late_consumer_differs(event)
        return (*commands, *(self._confirming.left() if fencing else ()))

    def _begin(self, roll: RollCall) -> Commands:
        replay = self._replay(roll)
        if replay is not None:
            commands = self._do_again(replay)
        else:
            self._gone |= self._made_of_others(roll)
            commands = super()._begin(roll)
            self.log = ReplayLog.beginning(self.ledger)
        spare = self.secondary
        return (*commands, *(self._confirming.joined(spare) if spare is not None else ()))

    def _replay(self, roll: RollCall) -> Replay | None:
        """From what the hindmost consumer lacks on; of those that ask for no more than can be made again.
        None, too, if the log speaks of input that was lost with its producer: there are other tuples under
        these seqs now."""
        if any(self.log.ends[s] > anew for s, anew in self._others.items()):
            return None
        wanted: dict[Stream, Seq] = {}
        for stream in self.wiring.leaving:
            starts = [answer.start for answer in roll.answers(stream)]
            found = next((start for start in starts if self._reached(self.log.replay({stream: start}))), None)
            if found is None or self.log.replay({stream: starts[-1]}) is None:
                return None
            wanted[stream] = found
        return self.log.replay(wanted)

    def _made_of_others(self, roll: RollCall) -> dict[Stream, Range]:
        """Input that the log says was taken, and that its producer has lost: of it came what consumers
        lack."""
        lacking = self.log.replay(
            {s: min(answer.start for answer in roll.answers(s)) for s in self.wiring.leaving}
        )
        begins, ends = lacking.begins if lacking is not None else {}, self.log.ends
        lost = {s: ends[s] for s, anew in self._others.items() if ends.get(s, Seq(0)) > anew}
        return {s: Range(begins[s], end) for s, end in lost.items() if s in begins and begins[s] < end}

    def _reached(self, replay: Replay | None) -> bool:
        """Whether upstream holds what the replay begins with."""
        return replay is not None and all(self._starts[s] <= replay.begins[s] for s in self.wiring.external)

    def _do_again(self, replay: Replay) -> Commands:
        numbers = tuple(self._number_alike(name, step) for name, step in replay.counts.items())
        for stream, begin in replay.begins.items():
            self._take_up(stream, begin)
        skips = tuple(skip for name, at in replay.places.items() for skip in self._place(name, at))
        sources = (s for s in self.wiring.entering if s in self.wiring.replayable)
        reads = tuple(do.ReadInput(s, self._starts[s]) for s in sources)
        return (*skips, do.Choose(replay.script), *numbers, *reads)

    def _take_up(self, stream: Stream, begin: Seq) -> None:
        """What upstream holds may begin earlier than the log: an ack was late."""
        received = Seq(max(self.ledger.received(stream), begin))
        self._pass_over(stream, begin)
        self.ledger = self.ledger.skipped_to(stream, received)

    def _place(self, element: str, at: Marks) -> Iterator[do.Skip]:
        """Elements that read the same stream may begin at different places on it."""
        self.ledger = self.ledger.placed(element, at)
        return (do.Skip(stream, seq, element) for stream, seq in at.items())

    def _number_alike(self, name: str, step: Determinant) -> do.Number:
        self.ledger = self.ledger.rebased(Stream(name), step.made.start)
        return do.Number(name, step.made.start, step.at)

    # --- losses: what is in the log can't be made again, or has other seqs now

    def _resumes(self, event: on.Resumes) -> Commands:
        commands = super()._resumes(event)
        return (*commands, *self._log_anew()) if commands else ()

    def renumber(self, stream: Stream, first: Seq) -> Commands:
        return (*super().renumber(stream, first), *self._log_anew())

    def _log_anew(self) -> Commands:
        self.log = ReplayLog.beginning(self.ledger)
        return self._confirming.begin() if not self._confirming.fencing else ()

    # --- moves: the log goes along

    def state(self, number: int) -> Checkpoint:
        pending = self._confirming.pending.unconfirmed
        return replace(super().state(number), log=(*self.log.steps, *pending))

    def continue_moved(self, checkpoint: Checkpoint) -> Commands:
        commands = super().continue_moved(checkpoint)
        self.log = ReplayLog(self.wiring.inputs, checkpoint.log)
        return commands

    # --- a live change

    def taken_up(self) -> None:
        super().taken_up()
        self.log = ReplayLog.beginning(self.ledger)

    @property
    def settled(self) -> bool:
        return super().settled and not self._confirming.fencing

    # --- primary

    def lead(self, event: Event) -> Commands:
        match event:
            case on.SecondaryJoined(name) if self._roll is None:
                self._informed = False
                return self._confirming.joined(name)
            case on.SecondaryLeft(name) if name == self._confirming.secondary:
                self._informed = False
                return self._confirming.left()
            case on.DeterminantsStored(epoch, number) if epoch == self.epoch:
                self._informed = True
                return self._free(self._confirming.pending.stored(number))
            case _:
                return super().lead(event)

    def _offer(self, name: str) -> Commands:
        """All of the log that a replay may need: until it is confirmed, nobody counts on this standby. When
        it is, what another mode made before and held back is sent, too."""
        self._informed = False
        for stream in self.wiring.leaving:
            self._confirming.add(None, stream, self.ledger.queues[stream].next)
        number, _ = self._confirming.pending.next_message()
        return (do.ShipDeterminants(self.epoch, number, self.log.steps, whole=True),)

    def still_ours(self) -> Commands:
        return self._confirming.still_ours()

    def renewed(self) -> Commands:
        return (*self._free(self._confirming.renewed()), *self._confirming.begin())

    def _free(self, free: Free) -> Commands:
        self.log.extend(free.steps)
        return self._confirming.publish(free)

    def book(self, event: on.Processed) -> Range:
        before = self.ledger.elements[event.element]
        made = Instance.book(self, event)
        choice = event.choice.choice if event.choice is not None else ()
        at, low = before.positions, before.selection
        step = Determinant(event.element, at, event.positions, choice, low, event.selection, made)
        if self._confirming.holds:
            self._confirming.add(step, Stream(event.element), made.stop)
        else:
            self.log.extend((step,))
        return made

    def processed(self, event: on.Processed) -> Commands:
        held = self._confirming.holds and Stream(event.element) in self.wiring.leaving
        return () if held else super().processed(event)

    # --- acks

    def needed(self) -> dict[Stream, Seq]:
        replay = self._behind_all()
        return dict(replay.begins) if replay is not None else dict(self._starts)

    def replays_from(self, stream: Stream, told: Told) -> Seq:
        return self.needed().get(stream, Seq(0))

    def _behind_all(self) -> Replay | None:
        """How to make again what no consumer has acked at level 0, of steps that the standby holds."""
        return self.log.replay({s: self.ledger.queues[s].received_by_all for s in self.wiring.leaving})

    def lead_tick(self, now: Millis) -> Commands:
        acks = super().lead_tick(now)
        replay = self._behind_all() if acks and not self.late else None
        if replay is not None:
            self._trimmed = replay.begins
            self.log.trim(replay.begins)
        late = self._confirming.overdue(now, self.interval)
        return (*acks, *(self._confirming.begin_again() if late else self._log_message()))

    def _log_message(self) -> Commands:
        message = self._confirming.message()
        return (
            (do.ShipDeterminants(self.epoch, *message, needed=self._trimmed),) if message is not None else ()
        )

    @property
    def protected(self) -> bool:
        return super().protected and self._informed
