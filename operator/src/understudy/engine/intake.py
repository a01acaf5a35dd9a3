"""The arrived tuples of one element, as one merged sequence, and how far it is processed. Not thread-safe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from understudy.engine.assemble import assemble
from understudy.engine.cells import block_end, complete
from understudy.engine.choices import Choices
from understudy.engine.cutting import Cutter, Limits, window_times
from understudy.engine.lane import GeneratorLane, InputSpec, StoredLane, lane_of
from understudy.engine.panes import Closing, Panes
from understudy.engine.plan import BatchPlan, Choice, Position
from understudy.engine.progress import output_progress
from understudy.engine.sequence import Merged, Single
from understudy.engine.sequence import Sequence as MergedInput
from understudy.engine.state import InboxState, LogState
from understudy.model.elements import Element
from understudy.model.job import Merge
from understudy.process.clock import steady_ms
from understudy.protocol.selection import CountWindow, EachRow, Micros, Times, TimeWindow, rule_of


@dataclass(frozen=True, slots=True)
class Wiring:
    """An element and its inputs, in the element's order."""

    element: Element
    inputs: tuple[InputSpec, ...]

    def places(self, name: str) -> list[int]:
        found = [place for place, spec in enumerate(self.inputs) if spec.name == name]
        if not found:
            raise KeyError(f"{self.element.name} does not read {name}")
        return found

    def by_name(self, seqs: Sequence[int]) -> dict[str, int]:
        """The least seq of each input; an input may occur twice."""
        names = [spec.name for spec in self.inputs]
        return {name: min(s for n, s in zip(names, seqs, strict=True) if n == name) for name in names}


class Intake:
    def __init__(self, wiring: Wiring, limits: Limits, choices: Choices, block: int | None = None) -> None:
        """`block`: windows are folded from panes, with cells of at most so many tuples."""
        self.wiring, self.choices = wiring, choices
        self.lanes = tuple(lane_of(spec) for spec in wiring.inputs)
        self.sequence: MergedInput = (
            Single(self.lanes[0])
            if len(self.lanes) == 1
            else Merged(self.lanes, wiring.element.merge is Merge.EVENT_TIME)
        )
        rule = rule_of(wiring.element.operators)
        self.panes: Panes | None = None
        if block is not None:
            assert isinstance(rule, CountWindow | TimeWindow)
            self.panes, self._copies = Panes(rule, block), -(-rule.size // rule.slide)
        else:
            limits = limits.in_tuples(rule)
        self.cutter = Cutter(rule, self.lanes, self.sequence, limits)
        self.position = self.cut = 0
        self._summed = 0
        """Panes: partials of the tuples before this place are made, or in a plan that is cut."""
        self._clear = 0
        """Panes: no window closes between `cut` and this place."""
        self._border: int | None = None
        self._lacking: InboxState | None = None
        """A restored state that still lacks tuples before its position."""

    # --- what arrives

    def append(self, name: str, rows: pa.Table) -> None:
        for place in self.wiring.places(name):
            lane = self.lanes[place]
            assert isinstance(lane, StoredLane)
            lane.append(rows)
            self._extend(place)

    def advance(self, name: str, upto: int) -> None:
        for place in self.wiring.places(name):
            lane = self.lanes[place]
            assert isinstance(lane, GeneratorLane)
            lane.advance(upto)
            self._extend(place)

    def learn(self, name: str, progress: Micros | None, end: int | None) -> None:
        for place in self.wiring.places(name):
            lane = self.lanes[place]
            if progress is not None and isinstance(lane, StoredLane):
                lane.learn(progress)
            if end is not None:
                lane.end = end
            self._extend(place)

    def _extend(self, place: int) -> None:
        if self._lacking is not None:
            if all(lane.stop >= seq for lane, seq in zip(self.lanes, self._lacking.seqs, strict=True)):
                self._place_tail(self._lacking)
                self._lacking = None
                self.extend_all()
        elif self.choices.leave_order:
            self.sequence.extend(place)

    def extend_all(self) -> None:
        for place in range(len(self.lanes)):
            self._extend(place)

    # --- plans

    def next_plan(self, number: int, most: int | None = None) -> BatchPlan | None:
        """The next plan: by a determinant, or by a choice made here, of at most so many tuples."""
        if self.choices.drop_done(self.cut):
            self.extend_all()
        theirs = self.choices.first
        if theirs is None:
            stop = self._bordered(self.target(most))
            choice = None if stop is None else Choice(self.cut, stop, self.choices.salt(), ())
        else:
            choice = theirs if self._can(theirs) else None
        if (ahead := self._ahead(choice)) is not None:
            if choice is None:
                self._clear = ahead
            return self._summing(number, Choice(self.cut, self.cut, 0, ()), ahead, ahead=True)
        if choice is None:
            return None
        plan = self._plan(number, choice)
        self.cut = choice.stop
        return plan

    def _ahead(self, choice: Choice | None) -> int | None:
        """Panes: where a plan ends that makes partials, but no output. Blocks that are complete are not left
        to the plan that closes their window, nor more tuples than a plan may have."""
        if self.panes is None or self._lacking is not None:
            return None
        start, most = self._first_unsummed, self.cutter.limits.max_rows
        if choice is None:
            stop = self.sequence.stop if self.choices.are_ours else start
        elif choice.stop - start > most:
            stop = choice.stop - 1
        else:
            return None
        block = self.panes.block
        end = block_end(start, min(stop, start + most), block)
        return end if end is not None else block_end(start, min(stop, start + block), block)

    @property
    def _first_unsummed(self) -> int:
        return max(self._summed, self.sequence.start)

    @property
    def sums_ahead(self) -> bool:
        """Whether partials can be made of the tuples that have arrived."""
        return self._ahead(None) is not None

    def end_at(self, name: str, seq: int) -> None:
        """Only rows of a single input can be cut anywhere; other plans end where windows and merges allow
        it."""
        if len(self.lanes) == 1 and isinstance(self.cutter.rule, EachRow) and self.wiring.places(name):
            self._border = seq

    def _bordered(self, stop: int | None) -> int | None:
        border = self._border
        return border if stop is not None and border is not None and self.cut < border < stop else stop

    def _can(self, choice: Choice) -> bool:
        return (
            self._lacking is None and self.sequence.adopt(choice.runs) and self.sequence.stop >= choice.stop
        )

    def target(self, most: int | None = None) -> int | None:
        """Where a plan that is chosen here would end."""
        if self._lacking is not None or not self.choices.are_ours:
            return None
        if self.panes is None:
            return self.cutter.target(self.cut, most)
        bound = max(int(self.cutter.limits.max_rows / max(1.0, self._copies * self.panes.share)), 1)
        most = bound if most is None else min(most, bound)
        return self.cutter.target(self.cut, most, self._clear)

    def starved(self, place: int) -> bool:
        """Whether the next plan can only be cut when more of this input arrives."""
        if self.position != self.cut:
            return False
        if self._lacking is not None or self.choices.first is not None:
            return True
        merged = self.sequence.seqs(self.sequence.stop)[place]
        return self.choices.are_ours and merged >= self.lanes[place].stop and self.target() is None

    def warm_up(self, number: int) -> BatchPlan:
        return self._plan(number, Choice(self.cut, self.sequence.stop, self.choices.salt(), ()), warm_up=True)

    def _plan(self, number: int, choice: Choice, warm_up: bool = False) -> BatchPlan:
        if self.panes is not None:
            return self._summing(number, choice, complete(self.panes.windows, choice.stop), warm_up)
        parts, runs = self.cutter.parts(self.cut, choice.stop), self.sequence.runs(self.cut, choice.stop)
        clock = self.choices.time_of(choice)
        return BatchPlan(
            number, self.cut, choice.stop, parts, runs, choice.salt, clock, warm_up, cut_ms=steady_ms()
        )

    def _summing(
        self, number: int, choice: Choice, upto: int, warm_up: bool = False, ahead: bool = False
    ) -> BatchPlan:
        """A plan that makes the partials that are missing before `upto`."""
        assert self.panes is not None
        start = self._first_unsummed
        upto = max(upto, start)
        parts = self.cutter.pane_parts(start, upto, self.panes.block)
        runs = self.sequence.runs(self.cut, choice.stop)
        self._summed = upto
        return BatchPlan(
            number, self.cut, choice.stop, parts, runs, choice.salt, None, warm_up, ahead, steady_ms()
        )

    def rows(self, plan: BatchPlan, part: int, place: int | None, schema: pa.Schema) -> pa.Table:
        cells = None if self.panes is None else self.panes.cells(self.sequence, plan.parts[part])
        return assemble(self.lanes, self.sequence, self.cutter.rule, schema, plan, part, place, cells)

    def closing(self, plan: BatchPlan) -> Closing:
        """Panes: the windows that a plan closes."""
        match self.cutter.rule:
            case CountWindow():
                first, times = self.window_times(plan)
                return Closing(first, first + len(times), times)
            case TimeWindow() as windows:
                before = self.sequence.before
                return Closing(
                    windows.first_open(before(plan.start)), windows.first_open(before(plan.stop)), None
                )
            case rule:
                raise ValueError(f"{rule} has no windows")

    def window_times(self, plan: BatchPlan) -> tuple[int, Times]:
        assert isinstance(self.cutter.rule, CountWindow)
        return window_times(self.cutter.rule, self.sequence, plan.start, plan.stop)

    def done(self, plan: BatchPlan) -> None:
        """Drops tuples that the selection after the plan does not need, and partials of closed windows."""
        if plan.ahead:
            return
        self.position = plan.stop
        if self.panes is not None:
            self.panes.forget(self._first_open())
        needed = self.cutter.needed(self.position)
        for lane, seq in zip(self.lanes, needed, strict=True):
            lane.forget(seq)
        self.sequence.forget(needed)

    def _first_open(self) -> int:
        match self.cutter.rule:
            case CountWindow() as windows:
                return windows.first_open(self.position)
            case TimeWindow() as windows:
                return windows.first_open(self.sequence.before(self.position))
            case _:
                return 0

    # --- positions

    def where(self) -> Position:
        seqs, selection = self.sequence.seqs(self.position), [lane.start for lane in self.lanes]
        by_name = self.wiring.by_name
        return Position(self.position, by_name(seqs), by_name(selection), self._progress())

    def _progress(self) -> Micros | None:
        if self._lacking is not None:
            return None
        return output_progress(self.wiring.element, self.wiring.inputs, self.cutter, self.position)

    @property
    def exhausted(self) -> bool:
        """Whether all streams have ended, and all their tuples are in the sequence."""
        merged = zip(self.lanes, self.sequence.seqs(self.sequence.stop), strict=True)
        return self._lacking is None and all(lane.complete and seq >= lane.stop for lane, seq in merged)

    # --- checkpoints

    def state(self) -> InboxState:
        selection = tuple(lane.start for lane in self.lanes)
        before = tuple(lane.before(seq) for lane, seq in zip(self.lanes, selection, strict=True))
        return InboxState(self.position, self.sequence.seqs(self.position), selection, before, self._log())

    def _log(self) -> LogState | None:
        log = self.sequence
        if not isinstance(log, Merged):
            return None
        return LogState(
            log.base, log.origin, log.base_before, log.order[: self.position - log.base].tobytes()
        )

    def restore(self, state: InboxState, tails: Mapping[str, pa.Table]) -> None:
        """Continues from a state. Tails that are missing have to be appended, from the selection on."""
        self.position = self.cut = state.position
        for place, (spec, lane) in enumerate(zip(self.wiring.inputs, self.lanes, strict=True)):
            lane.begin(state.selection[place], state.before[place])
            if isinstance(lane, GeneratorLane):
                lane.advance(state.seqs[place])
            elif spec.name in tails:
                lane.append(_from(tails[spec.name], lane.start))
        self._place_tail(state)
        self._lacking = state
        self._extend(0)

    def _place_tail(self, state: InboxState) -> None:
        if isinstance(self.sequence, Merged) and state.log is not None:
            log = state.log
            self.sequence.resume(log.base, log.origin, log.before, log.places())


def _from(rows: pa.Table, start: int) -> pa.Table:
    return rows.slice(max(start - rows["_seq"][0].as_py(), 0)) if rows.num_rows else rows
