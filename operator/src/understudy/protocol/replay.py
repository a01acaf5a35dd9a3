"""From where a subjob can repeat its steps (Hwang §6, upstream backup with determinants).

The log holds the steps of all elements: the positions before each step, the input from which on it needs
tuples (`low`), the seqs of its output, and its determinant. To make a stream again from some seq on, with the
same tuples,

- the output of an element counts from the newest step that began at or before that seq: its output gets the
  same seqs as before;
- the element itself begins at the newest step that began at or before the `low` of that step: earlier output
  is not needed by any step that counts, and a step of a non-deterministic element can only be repeated as a
  whole;
- if the element reads the stream of another element of the subjob, that element has to make its output again,
  by the same rule; if several elements read it, from the earliest position at which one of them begins.
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
    # for each stream that an element reads: the earliest position at which one of its readers begins
    begins: Mapping[Stream, Seq]
    places: Mapping[str, Marks]  # where each element begins
    counts: Mapping[str, Determinant]  # for each element, the first step whose output counts
    script: tuple[Determinant, ...]  # the determinants from the beginning on


class ReplayLog:
    """The steps of each element, oldest first. The first one may be an empty step that only marks where the
    log begins."""

    def __init__(self, inputs: Mapping[str, tuple[Stream, ...]], steps: Iterable[Determinant] = ()) -> None:
        self._inputs = inputs
        self._steps: dict[str, list[Determinant]] = {name: [] for name in inputs}
        self.extend(steps)

    @classmethod
    def beginning(cls, ledger: Ledger) -> ReplayLog:
        """An empty log that begins at the positions of the books."""
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
        """The end of the log on each stream that an element reads."""
        found: dict[Stream, Seq] = {}
        for steps in self._steps.values():
            for s, p in steps[-1].to.items() if steps else ():
                found[s] = max(found.get(s, p), p)
        return found

    def extend(self, steps: Iterable[Determinant]) -> None:
        for step in steps:
            self._append(step)

    def _append(self, step: Determinant) -> None:
        """Adds a step. A step that is known already is part of a replay. A new life may cut the steps of a
        deterministic element differently: the step that goes further counts."""
        steps = self._steps[step.element]
        if steps and _reached(step.to, steps[-1].to):
            return
        while steps and _reached(step.at, steps[-1].at):
            del steps[-1]
        steps.append(step)

    def trim(self, begins: Marks) -> None:
        """Drops the steps that no replay from these positions needs."""
        for element, steps in self._steps.items():
            first = self._begin(element, {s: begins[s] for s in self._inputs[element]})
            del steps[: max(min(first, len(steps) - 1), 0)]

    def replay(self, wanted: Mapping[Stream, Seq]) -> Replay | None:
        """How to make the streams again from these seqs on; None if the log begins too late, or ends too
        early."""
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
        """A step, or an empty step at the end of the last one."""
        steps = self._steps[element]
        return steps[place] if place < len(steps) else steps[-1].end

    def _counting(self, element: str, seq: Seq) -> int:
        """The newest step that began at or before this seq; -1 if there is none, or if the log ends before
        it."""
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
    """Whether no position of `at` is beyond `upto`. (Any two places of one element are ordered in this
    way.)"""
    return all(at[s] <= upto[s] for s in at)
