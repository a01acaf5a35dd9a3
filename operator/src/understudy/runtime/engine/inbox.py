"""What has arrived for one element: merges inputs, cuts batch plans, gives their rows, forgets what is done with."""

from __future__ import annotations

import copy
import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

import pyarrow as pa

from understudy.model.elements import Element
from understudy.model.job import Merge
from understudy.protocol.selection import UNKNOWN, CountWindow, Micros, Times, rule_of
from understudy.runtime.clock import now_ms
from understudy.runtime.engine.assemble import assemble
from understudy.runtime.engine.cutting import Cutter, window_times
from understudy.runtime.engine.lane import GeneratorLane, InputKind, InputSpec, Lane, StoredLane, lane_of
from understudy.runtime.engine.plan import BatchPlan, Choice, Position, is_salted, plan_schema
from understudy.runtime.engine.progress import output_progress
from understudy.runtime.engine.sequence import Merged, Single
from understudy.runtime.engine.state import InboxState, LogState

MAX_ROWS = 100_000
PART_ROWS = 20_000


class Inbox:
    """Thread-safe. Input readers offer, the data source cuts and reads, the query says when a plan is done."""

    def __init__(
        self,
        element: Element,
        inputs: Sequence[InputSpec],
        *,
        max_rows: int = MAX_ROWS,
        parallelism: int = 1,
        part_rows: int = PART_ROWS,
        salt: Callable[[], int] = lambda: secrets.randbits(62),
    ) -> None:
        if len(inputs) != len(element.inputs):
            raise ValueError(f"{element.name} has {len(element.inputs)} inputs, got {len(inputs)}")
        self.element, self.inputs = element, tuple(inputs)
        self.schema = plan_schema(element, inputs)
        self._salt = salt if is_salted(element) else lambda: 0
        self._limits = max_rows, parallelism, part_rows
        self._changed = threading.Condition()
        self._closed = False
        self._newest = self._under_way = 0
        self._plans: dict[int, tuple[BatchPlan, Inbox]] = {}
        self._rehearsals: deque[Inbox] = deque()
        self._choices: deque[Choice] = deque()
        self._follows = False
        self._start()

    def _start(self) -> None:
        self._lanes = tuple(lane_of(spec) for spec in self.inputs)
        self._position = 0
        self._cut = 0
        self._incomplete: InboxState | None = None
        self._sequence = (
            Single(self._lanes[0])
            if len(self._lanes) == 1
            else Merged(self._lanes, self.element.merge is Merge.EVENT_TIME)
        )
        rule = rule_of(self.element.operators)
        self._cutter = Cutter(rule, self._lanes, self._sequence, *self._limits)

    # --- input readers

    def wanted(self, name: str) -> int:
        """The next seq to offer."""
        with self._changed:
            return min(self._lanes[place].stop for place in self._named(name))

    def offer(self, name: str, rows: pa.RecordBatch | pa.Table, progress: int | None = None) -> None:
        """Consecutive tuples, in order, without repetition; how far event time has come, in microseconds."""
        table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
        with self._changed:
            for place in self._named(name):
                lane = self._lanes[place]
                assert isinstance(lane, StoredLane)
                lane.append(table)
                if progress is not None:
                    lane.learn(progress)
                self._extend(place)
            self._changed.notify_all()

    def learn(self, name: str, progress: int | None, end: int | None) -> None:
        """How far event time has come on a stream, and where the stream ends, as far as that is known."""
        with self._changed:
            for place in self._named(name):
                lane = self._lanes[place]
                assert isinstance(lane, StoredLane)
                if progress is not None:
                    lane.learn(progress)
                lane.end = lane.end if end is None else end
                self._extend(place)
            self._changed.notify_all()

    def waiting(self, name: str) -> int:
        """How many tuples of an input have arrived and are in no plan that is done."""
        with self._changed:
            return max(self._lanes[place].stop - self._where().seqs[name] for place in self._named(name))

    def advance(self, name: str, upto: int) -> None:
        """A generator's tuples before `upto` are due."""
        with self._changed:
            for place in self._named(name):
                lane = self._lanes[place]
                assert isinstance(lane, GeneratorLane)
                lane.advance(upto)
                self._extend(place)
            self._changed.notify_all()

    def end(self, name: str, at: int) -> None:
        """The stream ends before `at`, whether or not all of it has arrived."""
        with self._changed:
            for place in self._named(name):
                self._lanes[place].end = at
                self._extend(place)
            self._changed.notify_all()

    def _extend(self, place: int) -> None:
        if self._incomplete is None:
            if not self._follows and not self._choices:
                self._sequence.extend(place)
        elif all(lane.stop >= seq for lane, seq in zip(self._lanes, self._incomplete.seqs, strict=True)):
            self._resume(self._incomplete)
            self._incomplete = None
            self._extend_all()

    def _extend_all(self) -> None:
        for place in range(len(self._lanes)):
            self._extend(place)

    def _named(self, name: str) -> list[int]:
        places = [place for place, spec in enumerate(self.inputs) if spec.name == name]
        if not places:
            raise KeyError(f"{self.element.name} does not read {name}")
        return places

    # --- the data source

    def cut(self, after: int, timeout: float) -> BatchPlan | None:
        """The plan after number `after`; waits for one. Asking again gives the same plan."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or after < self._newest or self._next(), timeout)
            plan, _ = self._plans.get(after + 1, (None, self))
            return None if self._closed else plan

    def _next(self) -> bool:
        number = self._newest + 1
        if self._rehearsals:
            scene = self._rehearsals.popleft()
            self._plans[number] = scene._scene(number), scene
        else:
            choice = self._choose()
            if choice is None:
                return False
            self._plans[number] = self._plan(number, choice.stop, choice.salt), self
            self._cut = choice.stop
        self._newest = number
        return True

    def _choose(self) -> Choice | None:
        """What comes next: as another process chose it, or as seems best here."""
        while self._choices and self._choices[0].stop <= self._cut:
            self._choices.popleft()
            if not self._choices:
                self._extend_all()
        if self._choices:
            choice = self._choices[0]
            if self._incomplete is not None or not self._sequence.adopt(choice.runs):
                return None
            return choice if self._sequence.stop >= choice.stop else None
        stop = None if self._follows else self._target()
        return None if stop is None else Choice(self._cut, stop, self._salt(), ())

    def _target(self) -> int | None:
        return self._cutter.target(self._cut) if self._incomplete is None else None

    def _scene(self, number: int) -> BatchPlan:
        return self._plan(number, self._sequence.stop, self._salt(), rehearsal=True)

    def _plan(self, number: int, stop: int, salt: int, rehearsal: bool = False) -> BatchPlan:
        parts, runs = self._cutter.parts(self._cut, stop), self._sequence.runs(self._cut, stop)
        return BatchPlan(number, self._cut, stop, parts, runs, salt, rehearsal, now_ms())

    def rows(self, number: int | None, part: int, place: int | None = None) -> pa.Table:
        """The rows of one part of a plan (None: of the one under way), with the columns of `plan.py`."""
        with self._changed:
            plan, scene = self._plans[self._under_way if number is None else number]
            return assemble(scene._lanes, scene._sequence, scene._cutter.rule, self.schema, plan, part, place)

    def window_times(self, number: int) -> tuple[int, Times]:
        """Count windows: the first that the plan closes, and the greatest event time of each in their order."""
        with self._changed:
            plan, scene = self._plans[number]
            rule = scene._cutter.rule
            assert isinstance(rule, CountWindow)
            return window_times(rule, scene._sequence, plan.start, plan.stop)

    # --- the query

    def begin(self, number: int) -> BatchPlan:
        """The plan is under way from now on."""
        with self._changed:
            self._under_way = number
            return self._plans[number][0]

    def done(self, number: int) -> Position:
        """The output is appended: forget what the selection behind it no longer needs. To say it twice is fine."""
        with self._changed:
            plan, scene = self._plans.pop(number, (None, None))
            if plan is not None and scene is self:
                self._position = plan.stop
                self._forget()
            self._changed.notify_all()
            return self._where()

    def _forget(self) -> None:
        needed = self._cutter.needed(self._position)
        for lane, seq in zip(self._lanes, needed, strict=True):
            lane.forget(seq)
        self._sequence.forget(needed)

    @property
    def last_done(self) -> int:
        """Where a query that starts now begins."""
        with self._changed:
            return min(self._plans, default=self._newest + 1) - 1

    def close(self) -> None:
        """No more plans: whoever waits for one is let go."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    # --- determinants

    def follow(self, choices: Iterable[Choice]) -> None:
        """Cut plans as another process chose them, and none of our own until `lead`."""
        with self._changed:
            self._follows = True
            self._choices.extend(choices)
            self._changed.notify_all()

    def lead(self) -> None:
        """Choose for ourselves, once all choices made elsewhere are used up."""
        with self._changed:
            self._follows = False
            self._extend_all()
            self._changed.notify_all()

    # --- a change of role

    def reset(self) -> None:
        """Begin anew. Plans that are under way keep their rows until they are done, but count no longer."""
        with self._changed:
            past = copy.copy(self)
            self._choices, self._follows = deque(), False
            self._plans = {n: (plan, past if scene is self else scene) for n, (plan, scene) in self._plans.items()}
            self._start()
            self._changed.notify_all()

    def is_current(self, plan: BatchPlan) -> bool:
        """Whether the plan was cut in this role."""
        with self._changed:
            return self._plans[plan.number][1] is self

    def skip(self, name: str, to: int) -> None:
        """What precedes `to` was lost: go on there, without a tail. Other inputs keep what has arrived."""
        with self._changed:
            past = self.state()
            arrived = {s.name: lane.rows(seq, lane.stop) for s, lane, seq in self._stored(past) if s.name != name}
            seqs = tuple(max(to, s) if i.name == name else s for i, s in zip(self.inputs, past.seqs, strict=True))
            place = seqs[0] if len(seqs) == 1 else sum(seqs)
            unknown = (UNKNOWN,) * len(seqs)
            log = LogState(place, seqs, UNKNOWN, b"") if len(seqs) > 1 else None
            self.reset()
            self.restore(InboxState(place, seqs, seqs, unknown, log), {})
            for other, rows in arrived.items():
                self.offer(other, rows)

    def _stored(self, at: InboxState) -> list[tuple[InputSpec, Lane, int]]:
        lanes = zip(self.inputs, self._lanes, at.seqs, strict=True)
        return [(spec, lane, seq) for spec, lane, seq in lanes if isinstance(lane, StoredLane)]

    # --- positions

    @property
    def position(self) -> Position:
        with self._changed:
            return self._where()

    def _where(self) -> Position:
        seqs = self._sequence.seqs(self._position)
        selection = self._by_name([lane.start for lane in self._lanes])
        return Position(self._position, self._by_name(seqs), selection, self._progress())

    def _progress(self) -> Micros | None:
        complete = self._incomplete is None
        return output_progress(self.element, self.inputs, self._cutter, self._position) if complete else None

    def _by_name(self, seqs: Sequence[int]) -> dict[str, int]:
        names = [spec.name for spec in self.inputs]
        return {name: min(s for n, s in zip(names, seqs, strict=True) if n == name) for name in names}

    @property
    def idle(self) -> bool:
        """Nothing is under way, and nothing can be made of what has arrived."""
        with self._changed:
            return not self._plans and not self._choices and self._target() is None

    @property
    def finished(self) -> bool:
        """All inputs have ended and nothing more can come of them."""
        with self._changed:
            return self.idle and all(lane.complete for lane in self._lanes)

    # --- checkpoints

    def state(self) -> InboxState:
        with self._changed:
            selection = tuple(lane.start for lane in self._lanes)
            before = tuple(lane.before(seq) for lane, seq in zip(self._lanes, selection, strict=True))
            seqs = self._sequence.seqs(self._position)
            return InboxState(self._position, seqs, selection, before, self._log())

    def _log(self) -> LogState | None:
        log = self._sequence
        if not isinstance(log, Merged):
            return None
        order = log.order[: self._position - log.base]
        return LogState(log.base, log.origin, log.base_before, order.tobytes())

    def tail(self, name: str, start: int = 0) -> pa.Table:
        """The held tuples of an input before the position, from `start` on; a generator's are not kept."""
        with self._changed:
            place = min(self._named(name), key=lambda p: self._lanes[p].start)
            lane, stop = self._lanes[place], self._sequence.seqs(self._position)[place]
            return lane.rows(max(start, lane.start), stop)

    def restore(self, state: InboxState, tails: Mapping[str, pa.Table]) -> None:
        """Continue from a state. Tails that are not given are to be offered: `wanted` begins at the selection."""
        with self._changed:
            if any(scene is self for _, scene in self._plans.values()):
                raise RuntimeError(f"{self.element.name} is in the middle of a batch")
            self._start()
            self._position = self._cut = state.position
            for place, (spec, lane) in enumerate(zip(self.inputs, self._lanes, strict=True)):
                lane.begin(state.selection[place], state.before[place])
                if isinstance(lane, GeneratorLane):
                    lane.advance(state.seqs[place])
                elif spec.name in tails:
                    lane.append(_from(tails[spec.name], lane.start))
            self._resume(state)
            self._incomplete = state
            self._extend(0)
            self._changed.notify_all()

    def _resume(self, state: InboxState) -> None:
        if isinstance(self._sequence, Merged) and state.log is not None:
            log = state.log
            self._sequence.resume(log.base, log.origin, log.before, log.places())

    # --- rehearsals

    def rehearse(self, rows: Mapping[str, pa.Table] | None = None, count: int = 1000) -> None:
        """A plan whose output is discarded: over the given tuples, made-up ones for other inputs."""
        scene = Inbox(self.element, self.inputs, salt=self._salt)
        for spec in self.inputs:
            scene._fill(spec, (rows or {}).get(spec.name), count)
        with self._changed:
            self._rehearsals.append(scene)
            self._changed.notify_all()

    def wait_rehearsed(self, timeout: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._rehearsals and not self._plans, timeout)

    def _fill(self, spec: InputSpec, rows: pa.Table | None, count: int) -> None:
        if self.wanted(spec.name):
            return
        if spec.kind is InputKind.GENERATOR:
            self.advance(spec.name, count)
        else:
            rows = _renumbered(rows) if rows is not None and rows.num_rows else made_up(spec.schema, count)
            self.offer(spec.name, rows)
        self.end(spec.name, self.wanted(spec.name))


def _from(rows: pa.Table, start: int) -> pa.Table:
    return rows.slice(max(start - rows["_seq"][0].as_py(), 0)) if rows.num_rows else rows


def _renumbered(rows: pa.Table) -> pa.Table:
    place = rows.schema.get_field_index("_seq")
    return rows.set_column(place, "_seq", pa.array(range(rows.num_rows), pa.int64()))


def made_up(schema: pa.Schema, count: int) -> pa.Table:
    """Rows without content, a millisecond apart."""
    wire = GeneratorLane(1000).rows(0, count)
    nulls = [pa.nulls(count, field.type) for field in schema]
    return pa.Table.from_arrays([*wire.columns, *nulls], names=[*wire.column_names, *schema.names])
