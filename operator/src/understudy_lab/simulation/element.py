"""One element of a simulated process: its rows, its positions, and what it may do next."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from understudy.protocol.determinants import Determinant
from understudy_lab.simulation.made_up_operators import Operator, Row


@dataclass(slots=True)
class Shelf:
    """Consecutive rows from `base` on: an output queue, or an input with its tail. None marks what was
    skipped."""

    base: int = 0
    rows: list[Row | None] = field(default_factory=list)

    @property
    def stop(self) -> int:
        return self.base + len(self.rows)

    def read(self, seq: int) -> Row | None:
        place = seq - self.base
        return self.rows[place] if 0 <= place < len(self.rows) else None

    def slice(self, start: int, stop: int) -> list[Row | None]:
        return self.rows[max(0, start - self.base) : max(0, stop - self.base)]

    def append(self, start: int, rows: list[Row | None]) -> None:
        """Rows from `start` on: what is here already is dropped, a hole is filled with nothing."""
        if start > self.stop:
            self.rows.extend([None] * (start - self.stop))
        self.rows.extend(rows[self.stop - start :])

    def trim(self, upto: int) -> None:
        if upto > self.base:
            del self.rows[: upto - self.base]
            self.base = upto

    def copy(self, start: int, stop: int) -> Shelf:
        return Shelf(max(start, self.base), self.slice(start, stop))


@dataclass(slots=True)
class Element:
    name: str
    op: Operator
    inputs: tuple[str, ...]
    inbox: list[Shelf]
    positions: list[int]
    ends: list[int | None]  # where an input ends, if it is known
    busy: bool = False
    waiting: bool = False  # for the sequencer: may not emit yet
    until: list[int] | None = None  # what is made before was sent by an earlier life
    arrivals: deque[int] = field(default_factory=deque)  # for a union: the inputs as tuples came
    script: deque[Determinant] = field(default_factory=deque)  # choices of the primary
    follows_script: bool = False
    finished: bool = False
    cuts: dict[int, int] = field(default_factory=dict)  # input: where a batch must end
    held_from: int = 0  # since which position tuples have entered the state

    @classmethod
    def empty(cls, name: str, op: Operator, inputs: tuple[str, ...]) -> Element:
        n = len(inputs)
        return cls(name, op, inputs, [Shelf() for _ in range(n)], [0] * n, [None] * n)

    def jump(self, i: int, to: int) -> None:
        """The position on input i becomes `to`; what lies before is not there."""
        for _ in range(self.positions[i], min(to, self.inbox[i].stop) if self.arrivals else 0):
            self.arrivals.remove(i)
        if to > self.inbox[i].stop:
            self.inbox[i].append(to, [])
        if to > self.positions[i]:
            self.positions[i] = to
            if not self.inbox[i].slice(0, to) or all(r is None for r in self.inbox[i].slice(0, to)):
                self.inbox[i].trim(to)
                self.held_from = max(self.held_from, to)
        if self.until is not None and to > self.until[i]:
            self.until = None  # the step of the earlier life can't be done again

    def arrived(self, i: int, start: int, rows: list[Row | None]) -> None:
        before = self.inbox[i].stop
        self.inbox[i].append(start, rows)
        if self.op.arbitrary:
            self.arrivals.extend([i] * (self.inbox[i].stop - max(before, self.positions[i])))

    def batch(self, limit: int) -> tuple[list[int], float]:
        """The inputs of the tuples that can be taken now, in order, and what that costs."""
        if self.op.arbitrary:
            return self._chosen(limit)
        p, cost = list(self.positions), 0.0
        order: list[int] = []
        stops = [shelf.stop for shelf in self.inbox]
        ended = [end is not None and stop >= end for end, stop in zip(self.ends, stops, strict=True)]
        while len(order) < limit and (p != self.until or not order):
            i = self.op.next_input(p, stops, ended)
            if i is None:
                break
            cost += self.op.price(p[i] - self.held_from)
            p[i] += 1
            order.append(i)
            if self.cuts and self.cuts.get(i) == p[i]:
                break
        return order, cost

    def _chosen(self, limit: int) -> tuple[list[int], float]:
        if self.script:
            order = self._scripted(self.script[0])
        elif self.follows_script:
            return [], 0.0
        else:
            order = [self.arrivals[k] for k in range(min(limit, len(self.arrivals)))]
        return order, self.op.cost * len(order)

    def _scripted(self, step: Determinant) -> list[int]:
        """The order of the primary's step, once all its tuples are here."""
        complete = all(self.inbox[i].stop >= step.to[s] for i, s in enumerate(self.inputs))  # type: ignore[index]
        if not complete:
            return []
        if len(self.inputs) == 1:
            return [0] * len(step.choice)
        return list(step.choice)

    @property
    def exhausted(self) -> bool:
        return all(end is not None and p >= end for p, end in zip(self.positions, self.ends, strict=True))
