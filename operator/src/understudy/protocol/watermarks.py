"""Which input an output came from (Hwang §5.2.2, §5.3; Koldehofe §6.2).

A *step* is what an element does between two moments at which its only state is its selection: a micro-batch,
or a single tuple. Each step that emits is logged with

- `low`, the selection before it: the oldest input needed to repeat it (Hwang's low watermark, Koldehofe's
  f⁻¹),
- `at`, the positions before it, and
- `high`, the positions after it: one past the newest input that contributed (Hwang's high watermark).

Hwang's ω[I, S] is the position that `low` holds for S, mapped through the log of S to the subjob's input I.
Indicators on a stream never decrease, because positions and selections never do.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from understudy.protocol.ids import Seq, Stream

Marks = Mapping[Stream, Seq]


@dataclass(frozen=True, slots=True)
class Step:
    """A step that made the outputs `[first, stop)` from inputs beginning at `low`, while its positions moved
    from `at` to `high`."""

    first: Seq
    stop: Seq
    low: Marks
    at: Marks
    high: Marks
    behind: Mapping[Stream, Step] = field(default_factory=dict)
    """For inputs from other elements of the same subjob: the steps that made the first tuples needed."""

    def renumbered(self, shift: int) -> Step:
        """The same outputs under other seqs."""
        return replace(self, first=Seq(self.first + shift), stop=Seq(self.stop + shift)) if shift else self

    def entering(self) -> dict[Stream, Seq]:
        """The oldest input from outside that is needed to repeat this step, and all steps in `behind`."""
        found = {s: p for s, p in self.low.items() if s not in self.behind}
        for step in self.behind.values():
            for s, p in step.entering().items():
                found[s] = min(found.get(s, p), p)
        return found


class StepLog:
    """The steps that made the tuples of one output queue, oldest first; trimmed together with the queue."""

    __slots__ = ("_firsts", "_steps")

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self._steps = list(steps)
        self._firsts = [step.first for step in self._steps]

    def __len__(self) -> int:
        return len(self._steps)

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(self._steps)

    @property
    def oldest(self) -> Step | None:
        return self._steps[0] if self._steps else None

    def append(self, step: Step) -> None:
        """Adds a new step. A producer that diverged may have cut its steps differently: the longer step
        counts."""
        if self._steps and step.stop <= self._steps[-1].stop:
            return  # known already: a replay
        while self._firsts and self._firsts[-1] >= step.first:
            del self._steps[-1], self._firsts[-1]
        self._steps.append(step)
        self._firsts.append(step.first)

    def find(self, seq: Seq) -> Step | None:
        """The step that made tuple `seq`; None if it is not in the log."""
        place = bisect_right(self._firsts, seq) - 1
        if place < 0 or seq >= self._steps[place].stop:
            return None
        return self._steps[place]

    def before(self, position: Seq) -> Step | None:
        """The step that made the last tuple before `position`: the cause of the newest tuple acked there."""
        return self.find(Seq(position - 1)) if position > 0 else None

    def moved(self, start: Seq, first: Seq) -> StepLog:
        """The steps that made the tuples from `start` on, renumbered so that these begin at `first`."""
        steps = self._steps[max(bisect_right(self._firsts, start) - 1, 0) :]
        shift = first - start
        return StepLog(s.renumbered(shift) for s in steps if s.stop > start)

    def trim(self, upto: Seq) -> None:
        """Drops steps whose tuples all precede `upto`, but keeps the last of them: acks are mapped to it."""
        keep = max(bisect_right(self._firsts, Seq(max(upto - 1, 0))) - 1, 0)
        if keep > 64 or keep == len(self._steps) - 1:  # cut in slabs, not one by one
            del self._steps[:keep], self._firsts[:keep]

    def keep(self, count: int) -> None:
        """Drops all but the newest steps."""
        if len(self._steps) > 2 * count:
            del self._steps[:-count], self._firsts[:-count]


def older(high: Marks, than: Marks) -> bool:
    """Whether the watermarks `high` are lower than `than`: nowhere higher, and somewhere lower. If downstream
    has a tuple with the watermarks `than`, a tuple with `high` is a duplicate (Hwang §5.3): it was made from
    earlier input. Equal watermarks do not suffice: one step may emit several tuples, of which only the first
    may have arrived."""
    if any(high[s] > than.get(s, Seq(0)) for s in high):
        return False
    return any(high[s] < than.get(s, Seq(0)) for s in high)


def cause(logs: Mapping[Stream, StepLog], marks: Marks) -> dict[Stream, Seq]:
    """Maps positions on an element's inputs back to the subjob's inputs, through the elements in between: the
    least position on each.

    The result also contains the streams between the elements: they are released by the same rule.
    """
    found: dict[Stream, Seq] = {}
    for stream, position in marks.items():
        found[stream] = min(found.get(stream, position), position)
        log = logs.get(stream)
        step = (log.find(position) or log.before(position)) if log else None
        for s, p in (cause(logs, step.low) if step else {}).items():
            found[s] = min(found.get(s, p), p)
    return found


def traced(logs: Mapping[Stream, StepLog], step: Step) -> Step:
    """The step together with the steps before it in the subjob: from these all elements can restart and
    assign the same seqs to the streams between them."""
    made = ((s, logs[s].find(p) or logs[s].before(p)) for s, p in step.low.items() if s in logs)
    behind = {s: traced(logs, found) for s, found in made if found is not None}
    return replace(step, behind=behind) if behind else step


def newest(logs: Mapping[Stream, StepLog], marks: Marks) -> dict[Stream, Seq]:
    """Like `cause`, for high watermarks: the greatest position on each subjob input that contributed."""
    found: dict[Stream, Seq] = {}
    for stream, position in marks.items():
        if stream in logs:
            step = logs[stream].before(position)
            origin = newest(logs, step.high) if step else {}
        else:
            origin = {stream: position}
        for s, p in origin.items():
            found[s] = max(found.get(s, p), p)
    return found
