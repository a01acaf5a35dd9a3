"""Upstream backup that is precise for every network (Hwang §6, Table 4): the primary logs its steps at its
standby.

"As in active standby, upstream backup can provide precise recovery for more complex query networks by logging
determinants from primary to secondary. Unlike active standby, these determinants are processed only when the
secondary takes over."

For each step the log contains the positions at which it began, its determinant, and the seqs of its output
(`protocol.replay`).

- The primary sends an output tuple only when its standby holds the step that made it (`confirming`). It
  releases input by these steps only, so a replay by the standby never begins before the input that upstream
  still holds.
- The standby keeps only the log. The primary reports from where on a replay can begin; the standby drops
  earlier steps.
- At a take-over the standby repeats what the hindmost consumer lacks: elements begin where logged steps
  began, use the logged determinants, and assign the logged seqs. After the last logged step they choose for
  themselves.

A log is valid only in the epoch right after its own: a primary that took the Lease again may have run alone
in the meantime. Without a valid log, a take-over is that of `UpstreamBackup` without watermarks: duplicates,
but no loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from understudy.modes.confirming import Confirming
from understudy.modes.instance import Instance
from understudy.modes.roll import RollCall
from understudy.modes.transitions import State, row
from understudy.modes.upstream_backup import UpstreamBackup
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.commands import Commands
from understudy.protocol.delivered_acks import DeliveredAcks
from understudy.protocol.detector import Detector
from understudy.protocol.determinants import Determinant, Free
from understudy.protocol.ids import Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Wiring
from understudy.protocol.replay import Replay, ReplayLog
from understudy.protocol.watermarks import Marks


class LoggedBackup(UpstreamBackup):
    hold_back = True
    holds_nothing = False
    _log_again: ReplayLog | None = None  # the log with which this life begins again

    def __init__(self, name: str, wiring: Wiring, detector: Detector, *, interval: int) -> None:
        super().__init__(name, wiring, detector, interval=interval, forward=False)

    def forget(self) -> None:
        super().forget()
        self.log = ReplayLog.beginning(self.ledger)
        self.logged_in: Epoch | None = None  # as a standby: the epoch of the log, which has no gaps
        self._heard_upto = 0
        self._confirming = Confirming(self, self._offer)
        self._informed = False  # as a primary: whether the standby has confirmed the log
        self._trimmed: Mapping[Stream, Seq] = {}  # as a primary: where the log begins

    # --- standby

    def could_continue(self) -> bool:
        return self.logged_in is not None and self.logged_in == self.epoch

    def heard(self, event: on.KeepAlive) -> Commands:
        """Also drops the log if the primary took the Lease again: it may have run alone in the meantime. The
        primary sends the whole log again to its standby."""
        if self.logged_in is not None and event.epoch > self.logged_in:
            self.logged_in = None
        return super().heard(event)

    def determinants_arrived(self, event: on.DeterminantsArrived) -> Commands:
        """Adds them to the log and confirms them. Rejoins if earlier determinants are missing."""
        return self._keep(event) if event.epoch >= self.epoch else ()

    def _keep(self, event: on.DeterminantsArrived) -> Commands:
        if event.whole:
            self.leadership, self.logged_in = self.leadership.in_epoch(event.epoch), event.epoch
            self.log = ReplayLog(self.wiring.inputs)
        elif event.epoch != self.logged_in:
            return ()  # the steps before them are not here, so the primary gets no confirmation
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
        """The log stays valid unless this life assigned other seqs than it says: unconfirmed steps were not
        sent to anybody. A standby that was about to be fenced off is still fenced off."""
        self._log_again = self.log if event.stream not in self.numbering.diverged_at else None
        fencing = self._confirming.fencing
        commands = super().late_consumer_differs(event)
        return (*commands, *(self._confirming.left() if fencing else ()))

    def begin(self, roll: RollCall) -> Commands:
        replay = self._replay(roll)
        if replay is not None:
            commands = self._do_again(replay)
        else:
            self._gone |= self._made_of_others(roll)
            commands = super().begin(roll)
            self.log = ReplayLog.beginning(self.ledger)
        spare = self.secondary
        return (*commands, *(self._confirming.joined(spare) if spare is not None else ()))

    def _replay(self, roll: RollCall) -> Replay | None:
        """A replay from the first tuple that the hindmost consumer lacks; consumers that ask for more than
        can be made again are left out. None without such a replay, and also if the log names input that was
        lost with its producer: other tuples have these seqs now."""
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
        """Logged input that its producer has lost, and from which tuples were made that consumers lack."""
        lacking = self.log.replay(
            {s: min(answer.start for answer in roll.answers(s)) for s in self.wiring.leaving}
        )
        begins, ends = lacking.begins if lacking is not None else {}, self.log.ends
        lost = {s: ends[s] for s, anew in self._others.items() if ends.get(s, Seq(0)) > anew}
        return {s: Range(begins[s], end) for s, end in lost.items() if s in begins and begins[s] < end}

    def _reached(self, replay: Replay | None) -> bool:
        """Whether upstream holds the input with which the replay begins."""
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
        """The input that upstream holds may begin before the log, because an ack was late: the part before
        `begin` is skipped."""
        received = Seq(max(self.ledger.received(stream), begin))
        self._pass_over(stream, begin)
        self.ledger = self.ledger.skipped_to(stream, received)

    def _place(self, element: str, at: Marks) -> Iterator[do.Skip]:
        """Elements that read the same stream may begin at different positions on it."""
        self.ledger = self.ledger.placed(element, at)
        return (do.Skip(stream, seq, element) for stream, seq in at.items())

    def _number_alike(self, name: str, step: Determinant) -> do.Number:
        self.ledger = self.ledger.rebased(Stream(name), step.made.start)
        return do.Number(name, step.made.start, step.at)

    # --- losses: logged steps can't be repeated, or have other seqs now

    def resumes(self, event: on.Resumes) -> Commands:
        """As in every mode. The log contains lost input, so a new log begins."""
        commands = super().resumes(event)
        return (*commands, *self._log_anew()) if commands else ()

    def renumber(self, stream: Stream, first: Seq) -> Commands:
        return (*super().renumber(stream, first), *self._log_anew())

    def _log_anew(self) -> Commands:
        self.log = ReplayLog.beginning(self.ledger)
        return self._confirming.begin() if not self._confirming.fencing else ()

    # --- moves: the log goes to the target

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

    def secondary_joined(self, event: on.SecondaryJoined) -> Commands:
        """Gives the standby the log. If a roll call is open, the standby gets it afterwards."""
        joined: Commands = ()
        if self.roll is None:
            self._informed = False
            joined = self._confirming.joined(event.name)
        return (*joined, *self.moves.handle(event))

    def secondary_left(self, event: on.SecondaryLeft) -> Commands:
        """Takes the Lease again, so that the lost standby cannot win it; until then sends nothing."""
        left: Commands = ()
        if event.name == self._confirming.secondary:
            self._informed = False
            left = self._confirming.left()
        return (*left, *self.moves.handle(event))

    def determinants_stored(self, event: on.DeterminantsStored) -> Commands:
        """Sends the output that waited for this confirmation."""
        if event.epoch != self.epoch:
            return ()
        self._informed = True
        return self._free(self._confirming.pending.stored(event.number))

    def _offer(self, name: str) -> Commands:
        """Ships the whole log that a replay may need. The standby does not count as protection until it
        confirms this log. Then also output is sent that another mode made before and held back."""
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

    def replays_from(self, stream: Stream, delivered: DeliveredAcks) -> Seq:
        return self.needed().get(stream, Seq(0))

    def _behind_all(self) -> Replay | None:
        """A replay of everything that some consumer has not acked at level 0, from steps that the standby
        holds."""
        return self.log.replay({s: self.ledger.queues[s].received_by_all for s in self.wiring.leaving})

    def lead_tick(self, now: Millis) -> Commands:
        acks = super().lead_tick(now)
        replay = self._behind_all() if acks and not self.numbering.late else None
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

    TRANSITIONS = UpstreamBackup.TRANSITIONS.extended(
        row(State.STANDBY, on.DeterminantsArrived, determinants_arrived),
        row(State.PRIMARY, on.SecondaryJoined, secondary_joined),
        row(State.PRIMARY, on.SecondaryLeft, secondary_left),
        row(State.PRIMARY, on.DeterminantsStored, determinants_stored),
        row(State.PRIMARY, on.Resumes, resumes),
    )
