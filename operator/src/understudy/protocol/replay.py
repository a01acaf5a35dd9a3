"""Where a subjob can do again what it did (Hwang §6, upstream backup with determinants).

The log holds the steps of all elements: where each stood, from which input on it needs (`low`), which seqs it
gave, and what it chose. To make a stream again from some seq on, alike,

- an element's output counts from the newest step that began at or before that seq: it gets the seq that this
  had;
- the element itself begins at the newest step that began at or before the `low` of that one: what is missing
  before it is needed for nothing that counts, and a step of a non-deterministic element can be done again
  only as a whole;
- what it then reads of another element of the subjob, that one has to make again, by the same rule; where
  several read it, from the earliest place at which one of them begins.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from understudy.protocol.determinants import Determinant
from understudy.protocol.ids import Range, Seq, Stream
from understudy.protocol.ledger import Ledger
from understudy.protocol.watermarks import Marks


@dataclass(frozen=True, slots=True)
class Replay:
    begins: Mapping[Stream, Seq]  # on each stream that an element reads: the earliest place of its readers
    places: Mapping[str, Marks]  # where each element begins
    counts: Mapping[str, Determinant]  # for each element, the first step whose output counts
    script: tuple[Determinant, ...]  # what was chosen from the beginning on


class ReplayLog:
    """The steps of each element, oldest first. The first one may be no more than the place where the log
    begins."""

    def __init__(self, inputs: Mapping[str, tuple[Stream, ...]], steps: Iterable[Determinant] = ()) -> None:
        self._inputs = inputs
        self._steps: dict[str, list[Determinant]] = {name: [] for name in inputs}
        self.extend(steps)

    @classmethod
    def beginning(cls, ledger: Ledger) -> ReplayLog:
        """From where the books stand now."""
        places = []
        for name, at in ledger.elements.items():
            made = ledger.queues[Stream(name)].next
            low = at.selection
            places.append(Determinant(name, at.positions, at.positions, (), low, low, Range(made, made)))
        return cls(ledger.wiring.inputs, places)

    @property
    def steps(self) -> tuple[Determinant, ...]:
        return tuple(step for steps in self._steps.values() for step in steps)

    @property
    def ends(self) -> dict[Stream, Seq]:
        """How far the log has come on each stream that an element reads."""
        found: dict[Stream, Seq] = {}
        for steps in self._steps.values():
            for s, p in steps[-1].to.items() if steps else ():
                found[s] = max(found.get(s, p), p)
        return found

    def extend(self, steps: Iterable[Determinant]) -> None:
        for step in steps:
            self._append(step)

    def _append(self, step: Determinant) -> None:
        """What is known already is a replay. A new life may cut the steps of a deterministic element
        differently: that which has come further counts."""
        steps = self._steps[step.element]
        if steps and _reached(step.to, steps[-1].to):
            return
        while steps and _reached(step.at, steps[-1].at):
            del steps[-1]
        steps.append(step)

    def trim(self, begins: Marks) -> None:
        """Forget what precedes these positions."""
        for element, steps in self._steps.items():
            first = self._begin(element, {s: begins[s] for s in self._inputs[element]})
            del steps[: max(min(first, len(steps) - 1), 0)]

    def replay(self, wanted: Mapping[Stream, Seq]) -> Replay | None:
        """How to make the streams again from these seqs on; None if the log does not go back, or come, so
        far."""
        begins = dict(wanted)
        places: dict[str, Marks] = {}
        counts: dict[str, Determinant] = {}
        script: list[Determinant] = []
        for element in reversed(list(self._inputs)):
            place = self._counting(element, begins[Stream(element)])
            first = self._begin(element, self._at(element, place).low) if place >= 0 else -1
            if first < 0:
                return None
            places[element] = at = self._at(element, first).at
            begins |= {s: min(begins.get(s, p), p) for s, p in at.items()}
            counts[element] = self._at(element, place)
            script += [step for step in self._steps[element][first:] if step.choice]
        return Replay({s: p for s, p in begins.items() if s not in wanted}, places, counts, tuple(script))

    def _at(self, element: str, place: int) -> Determinant:
        """A step, or the place where the last one ended."""
        steps = self._steps[element]
        return steps[place] if place < len(steps) else steps[-1].end

    def _counting(self, element: str, seq: Seq) -> int:
        """The newest step that began at or before this seq; -1 if there is none, or the log does not come so
        far."""
        steps = self._steps[element]
        if not steps or seq >= steps[-1].made.stop:
            return len(steps) if steps and seq == steps[-1].made.stop else -1
        return bisect_right(steps, seq, key=lambda step: step.made.start) - 1

    def _begin(self, element: str, low: Marks) -> int:
        """The newest step that began at or before these positions; -1 if there is none."""
        steps = self._steps[element]
        if steps and _reached(steps[-1].to, low):
            return len(steps)
        return bisect_left(steps, True, key=lambda step: not _reached(step.at, low)) - 1


def _reached(at: Marks, upto: Marks) -> bool:
    """Whether `at` is nowhere beyond `upto`. Of two places where an element has stood, one is before the
    other."""
    return all(at[s] <= upto[s] for s in at)
