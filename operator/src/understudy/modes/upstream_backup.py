"""Upstream backup (Hwang §5.2): the output queues of upstream are the backup; a replacement starts empty and
replays them.

Every M the subjob sends level-0 acks ("received", counted when processed: input that was received but not
processed is not given to the target of a move) and level-1 acks ("not needed to rebuild the state behind what
my consumers have"). The level-1 ack of an input is the `cause` of the newest output that all consumers have
acked at level 0.

A replacement learns from its consumers what they have, replays what upstream holds, and

- with `forward` (precise recovery, Hwang §6: watermarks go downstream with the tuples and come back with the
  roll call) drops the output before the step of the hindmost consumer, and gives the output of that step the
  same seqs as before;
- without `forward`, sends all its output as new tuples: duplicates, but no loss (rollback recovery).

It waits a limited time for consumers that do not answer, then serves those that have answered. Until the
others are back, it makes upstream keep everything. If a consumer comes back and can't be served from the
output made so far (it needs earlier tuples, or has other tuples under these seqs), this life begins again,
with its answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from understudy.modes.instance import Instance
from understudy.modes.roll import RollCall
from understudy.modes.transitions import State, row
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.commands import Commands
from understudy.protocol.delivered_acks import DeliveredAcks
from understudy.protocol.detector import Detector
from understudy.protocol.ids import Consumer, Epoch, Millis, Range, Seq, Stream
from understudy.protocol.ledger import Wiring
from understudy.protocol.timer import due
from understudy.protocol.watermarks import Step, StepLog, cause, traced


class UpstreamBackup(Instance):
    sources_keep_acks = True
    ships_state = False
    holds_nothing = True

    def __init__(
        self, name: str, wiring: Wiring, detector: Detector, *, interval: int, forward: bool = True
    ) -> None:
        super().__init__(name, wiring, detector)
        self.interval = interval
        self.forward = forward and wiring.chain
        self.forget()

    def forget(self) -> None:
        super().forget()
        self.logs = {Stream(name): StepLog() for name in self.wiring.inputs}
        self._starts: dict[Stream, Seq] = {}  # where the inputs of this life begin
        # from these seqs on, inputs differ from those of an earlier life
        self._others: dict[Stream, Seq] = {}
        # input that upstream holds and an earlier life has already used
        self._passed_over: dict[Stream, Range] = {}
        self._gone: dict[
            Stream, Range
        ] = {}  # input that an earlier life may not have released, and that no process holds
        self._had: dict[
            Stream, Seq
        ] = {}  # what an earlier life has released, as reported by a producer that still serves the input
        self._acked_at: Millis | None = None
        self._unlogged: dict[Stream, Seq] = {}  # output before these seqs was made in another mode
        self._named: dict[
            tuple[Stream, Consumer], Step | None
        ] = {}  # the steps that consumers named when they subscribed
        self._silent: set[tuple[Stream, Consumer]] = (
            set()
        )  # consumers that have not reported yet to a queue that moved here
        self._kept: dict[Stream, Seq] = {}  # where the input begins that upstream held for this life

    # --- take-over

    def start_inputs(self, checkpoint: Checkpoint | None) -> Commands:
        self.forget()
        if self.epoch == Epoch(1):
            self._starts = dict.fromkeys(self.wiring.entering, Seq(0))
            return tuple(do.ReadInput(s, Seq(0)) for s in self.wiring.entering)
        self.roll = RollCall.of(self.wiring)
        return tuple(do.Replay(s) for s in self.wiring.entering)

    def continue_moved(self, checkpoint: Checkpoint) -> Commands:
        self.forget()
        self._starts = dict.fromkeys(self.wiring.entering, Seq(0))
        self.logs |= {s: StepLog(steps) for s, steps in checkpoint.steps.items()}
        inner = set(self.wiring.inputs)
        self._silent = {
            (s, c) for s in self.wiring.leaving for c in self.wiring.consumers[s] if c not in inner
        }
        return super().continue_moved(checkpoint)

    def steps(self) -> dict[Stream, tuple[Step, ...]]:
        return {s: log.steps for s, log in self.logs.items()}

    def released(self, event: on.Released) -> Commands:
        """Notes where the input begins that upstream holds. When all producers and consumers have answered,
        this life begins."""
        if self.roll is None or event.stream in self._starts:
            return ()
        return (*self._released(event), *self._begin_if_ready())

    def consumer_heard(self, event: on.Subscribed) -> Commands:
        self._named[event.stream, event.consumer] = event.mark if event.start > 0 else None
        self._silent.discard((event.stream, event.consumer))
        if self.roll is None:
            return ()
        self.roll = self.roll.heard(event)
        return self._begin_if_ready()

    def _released(self, event: on.Released) -> Commands:
        """Upstream sends from `event.start` on. A source is read only when it is known what consumers
        have."""
        self._starts[event.stream] = event.start
        if event.anew is not None:
            self._others[event.stream] = event.anew
        if not self.neighbours.awaits_successor(
            event.stream
        ):  # otherwise the answer may come from a producer that was replaced
            self._had[event.stream] = event.start if event.released is None else event.released
        if event.released is not None and event.released < event.start:
            self._gone[event.stream] = Range(event.released, event.start)
        if event.stream in self.wiring.replayable:
            return ()
        self.ledger = self.ledger.moved(event.stream, event.start)
        return (do.Skip(event.stream, event.start),)

    def _begin_if_ready(self) -> Commands:
        roll = self.roll
        return self._settle(roll) if roll is not None and roll.complete and self._knows_its_inputs else ()

    @property
    def _knows_its_inputs(self) -> bool:
        return all(s in self._starts for s in self.wiring.entering)

    def _settle(self, roll: RollCall) -> Commands:
        self.roll, self._kept = None, dict(self._starts)
        return self.begin(roll)

    def late_consumer_differs(self, event: on.Subscribed) -> Commands:
        """This life begins again, as if another instance took over: with the input that upstream has kept,
        and this answer."""
        self.open_books(None)
        lead = do.Lead(
            self.epoch, None, f"begins again: {event.consumer} is back, and goes on from {event.start}"
        )
        inputs = self.start_inputs(None)
        self.ledger = self.ledger.subscribed(event)
        return (lead, *inputs, *self.consumer_heard(event))

    def begin(self, roll: RollCall) -> Commands:
        """Begins processing: the positions of consumers and the input that upstream holds are known."""
        skips = self._skip_sources(roll)
        self._gone = self._needed_of(self._gone, roll) | self._lost_with_the_consumers(roll)
        marks = {s: self._mark(roll, s) for s in self.wiring.leaving}
        border = [self._number(roll, s, mark) for s, mark in marks.items()]
        inner = self._inner([m for m in marks.values() if m is not None])
        passed = [c for s, mark in marks.items() if mark is None for c in self._passed(roll, s)]
        reads = (
            do.ReadInput(s, self._starts[s]) for s in self.wiring.entering if s in self.wiring.replayable
        )
        lost = (do.ReportLoss(s, missing) for s, missing in self._gone.items())
        return (*lost, *skips, *passed, *inner, *border, *reads)

    def _needed_of(self, gone: Mapping[Stream, Range], roll: RollCall) -> dict[Stream, Range]:
        """The part of the lost input that is still needed. Input before the watermarks of the hindmost
        consumers is not needed."""
        answers = [self._hindmost(roll, s) for s in self.wiring.leaving]
        lows = [a.mark.entering() if a is not None and a.mark is not None else {} for a in answers]
        needed = {s: missing.from_(min(low.get(s, Seq(0)) for low in lows)) for s, missing in gone.items()}
        return {s: missing for s, missing in needed.items() if len(missing)}

    def _lost_with_the_consumers(self, roll: RollCall) -> dict[Stream, Range]:
        """Input that is lost because all consumers restarted from zero: they need output made from input that
        upstream no longer holds. A consumer in its first life that has received nothing is not meant: nothing
        was sent to it, so no output was made from the released input."""
        if not _have_forgotten(roll.all):
            return {}
        return {s: Range(Seq(0), start) for s in self.wiring.external if (start := self._starts[s])}

    def _passed(self, roll: RollCall, stream: Stream) -> Commands:
        """Skips input that was already used for the last output. Upstream holds it if the input's producer
        has restarted, and so keeps more than the other producers."""
        answer = self._hindmost(roll, stream)
        high = answer.mark.high if answer is not None and answer.mark is not None and answer.start > 0 else {}
        behind = {s: p for s, p in high.items() if s in self._starts and self._starts[s] < p}
        for s, position in behind.items():
            received = max(self.ledger.received(s), position)
            self._pass_over(s, position)
            self.ledger = self.ledger.moved(s, position).skipped_to(s, received)
        return tuple(do.Skip(s, position) for s, position in behind.items())

    def _pass_over(self, stream: Stream, upto: Seq) -> None:
        """Skips input before `upto`, although upstream holds it."""
        if stream in self._starts:
            self._passed_over[stream] = Range(self._starts[stream], max(upto, self._starts[stream]))
            self._starts[stream] = upto

    def producer_diverges(self, event: on.Arrived) -> Commands:
        """A producer may find out only after its answer that its own input is gone, so that it makes other
        tuples than before. Then the input that was passed over differs from what an earlier life used, and is
        lost."""
        commands, passed, news = (
            super().producer_diverges(event),
            self._passed_over.get(event.stream),
            self._news(event),
        )
        if news is not None and self.roll_open:
            self._others[event.stream] = news
        if passed is None:
            return commands
        if news is not None or event.range.stop >= passed.stop:
            del self._passed_over[event.stream]
        missing = passed.from_(news) if news is not None else None
        return (*commands, do.ReportLoss(event.stream, missing)) if missing else commands

    def _news(self, event: on.Arrived) -> Seq | None:
        """The seq from which the producer diverges, if it was not in the producer's answer. A divergence
        below what an earlier life has released is left out of the answer on purpose, and here, too: that life
        has read the same tuples (`Books.diverged_for`). A producer that finds out after its answer diverges
        later than that."""
        if event.anew is None or event.anew < self._had.get(event.stream, Seq(0)):
            return None
        return event.anew if event.stream not in self._others else None

    def another_producer(self, event: on.Redirected) -> None:
        """Drops the former producer's report on released input: it does not hold for the tuples of its
        successor."""
        super().another_producer(event)
        if self.neighbours.awaits_successor(event.stream):
            self._had.pop(event.stream, None)

    def _hindmost(self, roll: RollCall, stream: Stream) -> on.Subscribed | None:
        """The consumer with the lowest position, of those whose position is known.

        A consumer that lost its state and starts at 0 asks for more than upstream holds; the loss is reported
        to it.
        """
        fresh = not any(self._starts.values())
        known = (a for a in roll.answers(stream) if a.mark is not None or (a.start == 0 and fresh))
        return next(known, None) if self.forward and not self._outdated(roll, stream) else None

    def _outdated(self, roll: RollCall, stream: Stream) -> bool:
        """Whether a consumer's watermark names input that was lost together with the earlier life: the
        producer of that input diverged, too, and has other tuples under these seqs. Then no step is repeated;
        all output is new."""
        marks = [answer.mark for answer in roll.answers(stream) if answer.mark is not None]
        ends = [
            item for m in marks for item in (*m.high.items(), *((s, p + 1) for s, p in m.entering().items()))
        ]
        return any(s in self._others and p > self._others[s] for s, p in ends)

    def _mark(self, roll: RollCall, stream: Stream) -> Step | None:
        """The step from which the hindmost consumer continues, if upstream holds the input to repeat it."""
        answer = self._hindmost(roll, stream)
        mark = answer.mark if answer is not None and answer.start > 0 else None
        return mark if mark is not None and self._reaches(mark) else None

    def _number(self, roll: RollCall, stream: Stream, mark: Step | None) -> do.Number:
        """Where the sequencer continues, and from which input positions on the output was not sent before."""
        first, until, as_new = roll.furthest(stream), None, not self.forward
        answer, outdated = self._hindmost(roll, stream), self._outdated(roll, stream)
        if mark is not None:
            first, until = mark.first, mark.at
        elif answer is not None and not self._gone and (answer.mark is None or self._whole(answer.mark)):
            first = answer.start  # the elements hold no state: everything they make now is new
        elif len(self.wiring.inputs) > 1 and not outdated:
            as_new = True  # watermarks do not cover the elements before the last one
        forgotten = bool(self._others) and _have_forgotten(roll.answers(stream))
        if as_new or self._gone or outdated or forgotten:
            self.numbering = self.numbering.diverging({stream: first})
        self.ledger = self.ledger.rebased(stream, first)
        return do.Number(str(stream), first, until, as_new=as_new)

    def _inner(self, marks: list[Step]) -> Commands:
        """Elements inside the subjob begin where the steps behind the marks began, under the same seqs."""
        steps = dict(item for mark in marks for item in _behind_all(mark))
        commands: list[do.Command] = []
        for name in (n for n in self.wiring.inputs if Stream(n) not in self.wiring.leaving):
            step = steps.get(Stream(name))
            first = step.first if step is not None else Seq(0)
            self.ledger = self.ledger.rebased(Stream(name), first).moved(Stream(name), first)
            commands += [
                do.Number(name, first, step.at if step is not None else None),
                do.Skip(Stream(name), first),
            ]
        return tuple(commands)

    def _whole(self, mark: Step) -> bool:
        """Whether a mark contains the steps of all elements before its own."""
        inner = [s for s in mark.low if s in self.logs]
        return all(s in mark.behind and self._whole(mark.behind[s]) for s in inner)

    def _reaches(self, mark: Step) -> bool:
        """Whether the inputs of this life begin early enough to repeat the step."""
        return self._whole(mark) and all(
            self._starts.get(s, Seq(0)) <= low for s, low in mark.entering().items()
        )

    def _skip_sources(self, roll: RollCall) -> Commands:
        """Determines where to read each source. Stored acks are old; watermarks from consumers are more
        exact."""
        marks = [e.mark.entering() for s in self.wiring.leaving for e in roll.answers(s)[:1] if e.mark]
        skips: list[do.Command] = []
        for source in (s for s in self.wiring.entering if s in self.wiring.replayable):
            kept = self._starts[source] if _something_received(roll.all) else Seq(0)
            low = min((m[source] for m in marks if source in m), default=kept)
            self._starts[source] = low
            self.ledger = self.ledger.moved(source, low)
            skips.append(do.Skip(source, low))
        return tuple(skips)

    # --- a live change

    def taken_up(self) -> None:
        self._starts = dict.fromkeys(self.wiring.entering, Seq(0))
        self._unlogged = {s: queue.next for s, queue in self.ledger.queues.items()}

    @property
    def warmed_up(self) -> bool:
        """Whether consumers have received output of this mode with watermarks, and no element needs tuples
        that another mode made."""
        leaving = (self.ledger.queues[s].received_by_all > self._unlogged[s] for s in self.wiring.leaving)
        inner = (s for s in self.logs if s not in self.wiring.leaving)
        return all(leaving) and all(self.ledger.queues[s].trimmed >= self._unlogged[s] for s in inner)

    def retune(self, like: Instance) -> None:
        super().retune(like)
        if isinstance(like, UpstreamBackup):
            self.interval = like.interval

    # --- acks

    def book(self, event: on.Processed) -> Range:
        return self.book_with_step(event, self.logs[Stream(event.element)])

    def acked(self, event: on.Acked) -> Commands:
        self.logs[event.stream].trim(self.ledger.queues[event.stream].trimmed)
        return ()

    def lead_tick(self, now: Millis) -> Commands:
        if self.roll is not None:
            ready = self._knows_its_inputs and self.without_the_silent(now)
            return self._settle(self.roll) if ready else ()
        if not due(self._acked_at, now, self.interval):
            return ()
        self._acked_at = now
        needed = dict(self._kept) if self.numbering.late else self.needed()
        inner = tuple(do.SendAck(s, 1, p) for s, p in needed.items() if s in self.logs)
        level0 = (do.SendAck(s, 0, self.ledger.position(s)) for s in self.wiring.external)
        return (*inner, *level0, *(self._level1(s, needed) for s in self.wiring.entering))

    def _level1(self, stream: Stream, needed: dict[Stream, Seq]) -> do.SendAck:
        return do.SendAck(stream, 1, needed.get(stream, self._starts.get(stream, Seq(0))))

    def needed(self) -> dict[Stream, Seq]:
        """For each stream the oldest tuple needed to rebuild the state behind what every consumer has."""
        found: dict[Stream, Seq] = {}
        for stream in self.wiring.leaving:
            for s, p in self._needed_for(stream).items():
                found[s] = min(found.get(s, p), p)
        return found

    def _needed_for(self, stream: Stream) -> Mapping[Stream, Seq]:
        low = self._behind(stream)
        if low is None or any(s == stream for s, _ in self._silent):
            return self._starts
        origin = cause(self.logs, low)
        for s, p in (item for mark in self._former(stream) for item in mark.entering().items()):
            origin[s] = min(origin.get(s, p), p)
        return origin

    def _behind(self, stream: Stream) -> dict[Stream, Seq] | None:
        if self._all_received(stream):
            return dict(self.ledger.elements[str(stream)].positions)
        step = self.logs[stream].before(self.ledger.queues[stream].received_by_all)
        return dict(step.low) if step else None

    def _all_received(self, stream: Stream) -> bool:
        """Whether consumers have received everything and the element holds no state: a replacement that
        begins here makes only new output."""
        queue, at = self.ledger.queues[stream], self.ledger.elements[str(stream)]
        return (
            queue.received_by_all == queue.next
            and at.positions == at.selection
            and len(self.wiring.inputs) == 1
        )

    def _former(self, stream: Stream) -> Iterator[Step]:
        """Steps of an earlier life that consumers may name again until they have received newer output. This
        life may have cut its steps differently: acks by its own steps alone could release input that the next
        life needs to repeat a named step."""
        acks = self.ledger.queues[stream].acks if not self._all_received(stream) else {}
        named = ((acks[c], mark) for (s, c), mark in self._named.items() if s == stream and c in acks)
        return (m for known, m in named if m is not None and known.received <= m.stop and self._reaches(m))

    def replays_from(self, stream: Stream, delivered: DeliveredAcks) -> Seq:
        """Producers hold the input from the last level-1 ack on. A source is read from the watermarks of the
        hindmost consumer, or else from the stored ack."""
        released = delivered.released.get(stream, self._starts.get(stream, Seq(0)))
        if stream not in self.wiring.replayable:
            return released
        had = {
            s: max(self.ledger.queues[s].received_by_all, delivered.sent.get(s, Seq(0)))
            for s in self.wiring.leaving
        }
        marks = [self.mark(s, Seq(position)) for s, position in had.items()]
        lows = [m.entering() for m in marks if m is not None]
        return min((low[stream] for low in lows if stream in low), default=released)

    @property
    def awaits_numbers(self) -> bool:
        return self.roll_open

    @property
    def protected(self) -> bool:
        return self.secondary is not None and self.roll is None

    def mark(self, stream: Stream, position: Seq) -> Step | None:
        step = self.logs[stream].before(position) if self.forward else None
        return traced(self.logs, step) if step is not None else None

    TRANSITIONS = Instance.TRANSITIONS.extended(row(State.PRIMARY, on.Released, released))


def _something_received(answers: Sequence[on.Subscribed]) -> bool:
    return any(e.start for e in answers)


def _have_forgotten(answers: Sequence[on.Subscribed]) -> bool:
    """Whether no consumer knows what earlier lives received, and there was an earlier life."""
    return any(e.epoch > Epoch(1) for e in answers) and not _something_received(answers)


def _behind_all(mark: Step) -> Iterator[tuple[Stream, Step]]:
    for stream, step in mark.behind.items():
        yield stream, step
        yield from _behind_all(step)
