"""One inbox per element: takes arriving tuples, cuts batch plans, returns their rows, drops what is no longer
needed. Thread-safe."""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa

from understudy.engine.choices import Choices, PlanClock
from understudy.engine.cutting import Limits
from understudy.engine.intake import Intake, Wiring
from understudy.engine.lane import GeneratorLane, InputKind, InputSpec, StoredLane
from understudy.engine.plan import BatchPlan, Choice, Position, plan_schema, taken_from_plan
from understudy.engine.state import InboxState, LogState
from understudy.model.draws import Taken
from understudy.model.elements import Element
from understudy.process.clock import now_micros
from understudy.protocol.ids import Seq, Stream
from understudy.protocol.selection import UNKNOWN, Micros, Times

MAX_ROWS = 200_000
PAST = 1_000  # earlier states of which a checkpoint can still be made
PART_ROWS = 20_000
MAX_WAITING = 500_000  # tuples of one input
STARVED_ROOM = 50_000


class Inbox:
    """Input readers offer tuples, the data source cuts and reads plans, the query reports when a plan is
    done.

    Plans are numbered for the life of the process. Each belongs to the intake from which it was cut: the one
    of the current role, one of a former role (`reset`), or one made for a warm-up. Only plans of the current
    role move the position.
    """

    def __init__(
        self,
        element: Element,
        inputs: Sequence[InputSpec],
        *,
        max_rows: int = MAX_ROWS,
        max_waiting: int = MAX_WAITING,
        parallelism: int = 1,
        part_rows: int = PART_ROWS,
        block: int | None = None,
        salt: Callable[[], int] = lambda: secrets.randbits(62),
        clock: Callable[[], int] = now_micros,
    ) -> None:
        if len(inputs) != len(element.inputs):
            raise ValueError(f"{element.name} has {len(element.inputs)} inputs, got {len(inputs)}")
        self.element, self.inputs = element, tuple(inputs)
        self.in_panes = block is not None
        """Whether windows are folded from partials, with cells of at most `block` tuples."""
        self.schema = plan_schema(element, inputs, self.in_panes)
        self._block = block
        self._folds: list[pa.Table] = []
        self._wiring = Wiring(element, self.inputs)
        taken = taken_from_plan(element)
        self._salt = salt if Taken.SALT in taken else lambda: 0
        self._clock = PlanClock(clock) if Taken.CLOCK in taken else None
        self._max_waiting = max_waiting
        self._limits = Limits(max_rows, parallelism, part_rows)
        self._changed = threading.Condition()
        self._closed = self._held = False
        self._most: dict[str | None, int] = {}
        self._newest = self._under_way = 0
        self._steps = self._waiting = self._begun = 0
        self._plans: dict[int, tuple[BatchPlan, Intake]] = {}
        self._warm_ups: deque[Intake] = deque()
        self._intake = self._fresh(self._limits)
        self._past: deque[InboxState] = deque(
            maxlen=PAST
        )  # before each plan that made output; only with a single input

    def _fresh(self, limits: Limits) -> Intake:
        return Intake(self._wiring, limits, Choices(self._salt, self._clock), self._block)

    @property
    def parallelism(self) -> int:
        """How many parts a plan can have."""
        return self._limits.parallelism

    # --- input readers

    def wanted(self, name: str) -> int:
        """The next seq to offer."""
        with self._changed:
            return min(self._intake.lanes[place].stop for place in self._wiring.places(name))

    def room(self, name: str) -> int:
        """How many tuples of an input may be offered. More than MAX_WAITING are taken only if the waiting
        ones are not enough for a plan."""
        with self._changed:
            done = self._intake.sequence.seqs(self._intake.position)
            places = self._wiring.places(name)
            left = self._max_waiting - max(self._intake.lanes[place].stop - done[place] for place in places)
            if left > 0:
                return left
            return STARVED_ROOM if self.starved(name) else 0

    def starved(self, name: str) -> bool:
        """Whether the element can make nothing more before more of this input arrives."""
        with self._changed:
            return any(self._intake.starved(place) for place in self._wiring.places(name))

    def offer(self, name: str, rows: pa.RecordBatch | pa.Table, progress: Micros | None = None) -> None:
        """Offers consecutive tuples, in order, without repetition; and how far event time has come, in
        microseconds."""
        table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
        with self._changed:
            self._intake.append(name, table)
            self._intake.learn(name, progress, None)
            self._changed.notify_all()

    def advance(self, name: str, upto: int) -> None:
        """A generator's tuples before `upto` are due."""
        with self._changed:
            self._intake.advance(name, upto)
            self._changed.notify_all()

    def learn(self, name: str, progress: Micros | None, end: int | None) -> None:
        """How far event time has come on a stream, and where the stream ends, as far as that is known."""
        with self._changed:
            self._intake.learn(name, progress, end)
            self._changed.notify_all()

    def end(self, name: str, at: int) -> None:
        """The stream ends before `at`, whether or not all its tuples have arrived."""
        self.learn(name, None, at)

    # --- signs of life of the query

    @property
    def steps(self) -> int:
        """A counter that grows with each request and report of the query."""
        return self._steps

    @property
    def begun(self) -> int:
        """How many micro-batches the query has begun."""
        return self._begun

    @property
    def keeps_waiting(self) -> bool:
        """Whether the query waits for this process: for a plan, or for room for its output."""
        return self._waiting > 0

    @contextmanager
    def waited_for(self) -> Iterator[None]:
        """While in this context, the query waits for this process: it does not count as slow."""
        with self._changed:
            self._steps += 1
            self._waiting += 1
        try:
            yield
        finally:
            with self._changed:
                self._steps += 1
                self._waiting -= 1

    # --- the data source

    def cut(self, after: int, timeout: float) -> BatchPlan | None:
        """The plan after number `after`; waits until it is cut. The same request returns the same plan."""
        with self.waited_for(), self._changed:
            self._changed.wait_for(lambda: self._closed or after < self._newest or self._next(), timeout)
            return None if self._closed or after + 1 not in self._plans else self._plans[after + 1][0]

    def _next(self) -> bool:
        number = self._newest + 1
        if self._warm_ups:
            context = self._warm_ups.popleft()
            self._plans[number] = context.warm_up(number), context
        else:
            plan = (
                None if self._held else self._intake.next_plan(number, min(self._most.values(), default=None))
            )
            if plan is None:
                return False
            self._plans[number] = plan, self._intake
        self._newest = number
        return True

    def rows(self, number: int | None, part: int, place: int | None = None) -> pa.Table:
        """The rows of one part of a plan (None: of the running one), with the columns of `plan.py`."""
        with self._changed:
            self._steps += 1
            plan, intake = self._plans[self._under_way if number is None else number]
            return intake.rows(plan, part, place, self.schema)

    def take_at_most(self, tuples: int, of: str | None = None) -> None:
        """Plans that are cut here take at most so many tuples from now on: otherwise there would be no room
        for the output, or the plan would need more of an input than its producer can hold."""
        with self._changed:
            self._most[of] = max(tuples, 1)

    # --- the query

    def begin(self, number: int) -> BatchPlan:
        """The plan is running from now on."""
        with self._changed:
            self._steps += 1
            self._begun += 1
            self._under_way = number
            return self._plans[number][0]

    def window_times(self, number: int) -> tuple[int, Times]:
        """Count windows: the first window that the plan closes, and the greatest event time of each, in
        order."""
        with self._changed:
            plan, intake = self._plans[number]
            return intake.window_times(plan)

    def summed(self, number: int, tables: Sequence[pa.Table]) -> list[pa.Table]:
        """Panes: the partials of the plan's parts are made. Returns those of the windows that the plan
        closes, as tables to fold, as many at a time as a plan can have parts."""
        with self._changed:
            plan, intake = self._plans[number]
            panes = intake.panes
            assert panes is not None
            cells = [panes.cells(intake.sequence, part) for part in plan.parts]
            closing = None if plan.ahead else intake.closing(plan)
        panes.add(list(zip(plan.parts, cells, tables, strict=True)))
        return [] if closing is None else panes.folds(closing, self._limits.max_rows, self.parallelism)

    def lend(self, tables: Sequence[pa.Table]) -> None:
        """Panes: what the query folds now, one table for each of its tasks."""
        with self._changed:
            self._folds = list(tables)

    def fold_rows(self, slot: int) -> pa.Table:
        with self._changed:
            self._steps += 1
            return self._folds[slot]

    def done(self, number: int, made: int = 0) -> Position:
        """The output is appended: drops tuples that the new selection does not need. May be called twice."""
        with self._changed:
            plan, intake = self._plans.pop(number, (None, None))
            if plan is not None and intake is self._intake:
                if made and len(self.inputs) == 1:
                    self._past.append(self._intake.state())
                self._intake.done(plan)
            self._changed.notify_all()
            return self._intake.where()

    @property
    def last_done(self) -> int:
        """The number after which a query that starts now begins."""
        with self._changed:
            return min(self._plans, default=self._newest + 1) - 1

    def close(self) -> None:
        """No more plans: releases all threads that wait for one."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    # --- positions

    @property
    def position(self) -> Position:
        with self._changed:
            return self._intake.where()

    def place_of(self, seqs: Mapping[str, int]) -> int:
        """The place in the merged input at which each input has reached its seq."""
        return sum(seqs[spec.name] for spec in self.inputs)

    @property
    def idle(self) -> bool:
        """No plan is running, and nothing can be made of the tuples that have arrived."""
        with self._changed:
            rests = not self._plans and self._intake.choices.first is None
            return rests and self._intake.target() is None and not self._intake.sums_ahead

    def hold(self) -> None:
        """Cuts no further plan of this role until `release`; arriving tuples are kept."""
        with self._changed:
            self._held = True

    def release(self) -> None:
        with self._changed:
            self._held = False
            self._changed.notify_all()

    @property
    def still(self) -> bool:
        """Whether it is on hold, and no plan of this role is running."""
        with self._changed:
            return self._held and not any(intake is self._intake for _, intake in self._plans.values())

    def under_way_ms(self, now: int) -> int:
        """How long the current micro-batch has been running; 0 if none is."""
        with self._changed:
            return max(
                [0, *(now - plan.cut_ms for plan, intake in self._plans.values() if intake is self._intake)]
            )

    @property
    def finished(self) -> bool:
        """Whether all inputs have ended and no further output is possible."""
        with self._changed:
            return self.idle and self._intake.exhausted

    # --- checkpoints and changes of role

    def state(self) -> InboxState:
        with self._changed:
            return replace(self._intake.state(), clock=self._clock.latest if self._clock is not None else 0)

    def earlier(self, positions: Mapping[Stream, Seq]) -> InboxState | None:
        """The state in which its only input had reached this seq and a plan had made output; None if it was
        dropped."""
        seqs = tuple(positions[Stream(spec.name)] for spec in self.inputs)
        with self._changed:
            return next((state for state in reversed(self._past) if state.seqs == seqs), None)

    def tail(self, name: str, start: int = 0) -> pa.Table:
        """The held tuples of an input before the position, from `start` on; a generator's are not kept."""
        with self._changed:
            intake = self._intake
            place = min(self._wiring.places(name), key=lambda p: intake.lanes[p].start)
            lane, stop = intake.lanes[place], intake.sequence.seqs(intake.position)[place]
            return lane.rows(max(start, lane.start), stop)

    def arrived(self, name: str, start: int, stop: int) -> pa.Table:
        """Tuples of an input that are held, processed or not; those of a generator are not kept."""
        with self._changed:
            return self._intake.lanes[self._wiring.places(name)[0]].rows(start, stop)

    def end_at(self, name: str, seq: int) -> None:
        """A plan should end where this input has reached `seq`, if possible: a window is not cut."""
        with self._changed:
            self._intake.end_at(name, seq)

    def reset(self) -> None:
        """Starts over. Running plans keep their rows until they are done, but no longer count."""
        with self._changed:
            self._past.clear()
            self._intake = self._fresh(self._limits)
            self._changed.notify_all()

    def restore(self, state: InboxState, tails: Mapping[str, pa.Table]) -> None:
        """Continues from a state. Tails that are missing have to be offered: `wanted` begins at the
        selection."""
        with self._changed:
            restored = Intake(self._wiring, self._limits, self._intake.choices, self._block)
            restored.restore(state, tails)
            if self._clock is not None:
                self._clock.reached(state.clock)
            self._intake = restored
            self._past.clear()
            self._changed.notify_all()

    def is_current(self, plan: BatchPlan) -> bool:
        """Whether the plan was cut in this role."""
        with self._changed:
            return self._plans[plan.number][1] is self._intake

    def skip(self, name: str, to: int) -> None:
        """Tuples before `to` were lost, or are not needed: continues there, without a tail. Later tuples, and
        those of other inputs, are kept."""
        with self._changed:
            past, at = self._intake, self._intake.state()
            seqs = tuple(
                max(to, s) if i.name == name else s for i, s in zip(self.inputs, at.seqs, strict=True)
            )
            place = seqs[0] if len(seqs) == 1 else sum(seqs)
            log = LogState(place, seqs, UNKNOWN, b"") if len(seqs) > 1 else None
            self.restore(InboxState(place, seqs, seqs, (UNKNOWN,) * len(seqs), log), {})
            for spec, lane, seq in zip(self.inputs, past.lanes, seqs, strict=True):
                if isinstance(lane, StoredLane) and lane.stop >= seq and self.wanted(spec.name) == seq:
                    self.offer(spec.name, lane.rows(seq, lane.stop), lane.progress)
                    self.learn(spec.name, None, lane.end)

    # --- determinants

    def follow(self, choices: Iterable[Choice]) -> None:
        """Cuts plans by the determinants of another process, and makes no choices until `lead`."""
        with self._changed:
            self._intake.choices.follow(choices)
            self._intake.extend_all()
            self._changed.notify_all()

    def heard_of(self, choice: Choice) -> None:
        """A determinant of another process: whether or not it is followed, no later plan has an earlier
        time."""
        with self._changed:
            if self._clock is not None and choice.clock is not None:
                self._clock.reached(choice.clock)

    @property
    def is_told(self) -> bool:
        """Whether the next plan follows a determinant of another process."""
        with self._changed:
            return self._intake.choices.first is not None

    def lead(self) -> None:
        """Makes its own choices as soon as all determinants of other processes are used up."""
        with self._changed:
            self._intake.choices.lead()
            self._intake.extend_all()
            self._changed.notify_all()

    # --- warm_ups

    def warm_up(self, rows: Mapping[str, pa.Table] | None = None, count: int = 1000) -> None:
        """Plans whose output is discarded, small and split: over the given tuples, and over made-up ones of
        other inputs."""
        with self._changed:
            for tasks in dict.fromkeys((1, self._limits.parallelism)):
                context = self._fresh(Limits(self._limits.max_rows, tasks, part_rows=1))
                for spec in dict.fromkeys(self.inputs):
                    _fill(context, spec, (rows or {}).get(spec.name), count)
                self._warm_ups.append(context)
            self._changed.notify_all()

    def wait_warmed_up(self, timeout: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._warm_ups and not self._plans, timeout)


def _fill(context: Intake, spec: InputSpec, rows: pa.Table | None, count: int) -> None:
    if spec.kind is InputKind.GENERATOR:
        context.advance(spec.name, count)
    else:
        rows = _renumbered(rows) if rows is not None and rows.num_rows else made_up(spec.schema, count)
        context.append(spec.name, rows)
    context.learn(spec.name, None, count if rows is None else rows.num_rows)


def _renumbered(rows: pa.Table) -> pa.Table:
    place = rows.schema.get_field_index("_seq")
    return rows.set_column(place, "_seq", pa.array(range(rows.num_rows), pa.int64()))


def made_up(schema: pa.Schema, count: int) -> pa.Table:
    """Rows without content, one millisecond apart."""
    wire = GeneratorLane(1000).rows(0, count)
    nulls = [pa.nulls(count, field.type) for field in schema]
    return pa.Table.from_arrays([*wire.columns, *nulls], names=[*wire.column_names, *schema.names])
