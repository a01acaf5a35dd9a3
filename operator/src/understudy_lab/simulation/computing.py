"""The elements of a simulated process at work: micro-batches that take time on its machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import ElementState
from understudy.protocol.determinants import Determinant
from understudy.protocol.ids import Seq, Stream
from understudy_lab.simulation.element import Element, Shelf
from understudy_lab.simulation.made_up_operators import Row

if TYPE_CHECKING:
    from understudy_lab.simulation.process import Process


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """A micro-batch under way."""

    element: Element
    order: list[int]
    generation: int
    due: int


class Computing:
    def __init__(self, process: Process) -> None:
        self.process, self.cluster, self.world = process, process.cluster, process.world
        self.elements: dict[str, Element] = {}
        self.standing = False  # no micro-batch is begun
        self.steps = 0  # micro-batches that were finished
        self.slowdown = 1  # an overloaded machine takes so many times as long
        self._free = 0  # when the machine has done what it was given
        self._under_way: dict[str, Batch] = {}
        process.carry[do.Choose] = self._choose

    def clear(self) -> None:
        self.standing, self._under_way = False, {}
        self.elements = {n: Element.empty(n, op, ins) for n, op, ins in self.process.spec.elements}

    def restore(
        self, name: str, state: ElementState, saved: dict[str, Any] | None, ahead: Mapping[str, Shelf]
    ) -> None:
        element = self.elements[name]
        for i, stream in enumerate(element.inputs):
            at = int(state.positions[Stream(stream)])
            element.positions[i] = at
            element.inbox[i] = saved["tails"][i].copy(0, at) if saved else Shelf(at)
            if not element.inbox[i].rows:
                element.inbox[i] = Shelf(at)
            if stream in ahead:
                element.inbox[i].append(ahead[stream].base, ahead[stream].rows)
            element.ends[i] = saved["ends"][i] if saved else None
        element.held_from = element.inbox[0].base
        element.finished = state.ended

    # --- input

    def readers(self, stream: str) -> Iterator[tuple[Element, int]]:
        return ((e, i) for e in self.elements.values() for i, s in enumerate(e.inputs) if s == stream)

    def arrived(self, stream: str, start: int, rows: list[Row | None]) -> None:
        for element, i in self.readers(stream):
            element.arrived(i, start, rows)
            self.kick(element)

    def ends(self, stream: str, end: int) -> None:
        for element, i in self.readers(stream):
            element.ends[i] = end
        self.kick_all()

    def feed(self, stream: str) -> None:
        """Hand what was published to the elements of this process that read it."""
        outputs = self.process.outputs
        upto, store = outputs.published[stream], outputs.stores[stream]
        end = outputs.end_of(stream)
        for element, i in self.readers(stream):
            start = element.inbox[i].stop
            if start < upto:
                element.arrived(i, max(start, store.base), store.slice(start, upto))
            if end is not None and element.inbox[i].stop >= end:
                element.ends[i] = end
            self.kick(element)

    def number(self, command: do.Number) -> None:
        element = self.elements[command.element]
        element.waiting = False
        element.until = (
            [int(command.until[Stream(s)]) for s in element.inputs] if command.until is not None else None
        )
        if element.until == element.positions:
            element.until = None
        self.world.at(0, self.kick, element)

    def _choose(self, command: do.Choose) -> None:
        for step in command.determinants:
            self.elements[step.element].script.append(step)
        self.kick_all()

    # --- micro-batches

    def kick_all(self) -> None:
        for element in self.elements.values():
            self.kick(element)

    def kick(self, element: Element) -> None:
        if (
            element.busy
            or element.waiting
            or element.finished
            or not self.process.processing
            or self.standing
        ):
            return
        order, cost = element.batch(self.cluster.batch)
        if not order:
            if element.exhausted:
                element.finished = True
                self._emit(element, [], None, ended=True)
            return
        element.busy = True
        starts = max(self.world.now, self._free)
        self._free = starts + round(cost * self.slowdown)
        self._begin(Batch(element, order, self.process.generation, self._free))

    def _begin(self, batch: Batch) -> None:
        self._under_way[batch.element.name] = batch
        self.world.at(batch.due - self.world.now, self._done, batch)

    def relieve(self) -> None:
        """The machine is as fast as before, also for what it has begun."""
        slowdown, self.slowdown = self.slowdown, 1
        now = self.world.now
        self._free = now + max(0, self._free - now) // slowdown
        for batch in list(self._under_way.values()):
            self._begin(replace(batch, due=now + max(0, batch.due - now) // slowdown))

    def _done(self, batch: Batch) -> None:
        process, element, order = self.process, batch.element, batch.order
        if not process.alive or batch.generation != process.generation:
            return
        if self._under_way.get(element.name) is not batch:
            return  # done earlier than it was expected
        still = max(process.paused, process.engine.hung_until)
        if self.world.now < still:
            self.world.at(still - self.world.now, self._done, batch)
            return
        self.steps += 1
        del self._under_way[element.name]
        element.busy = False
        script = element.script.popleft() if element.script else None
        at = list(element.positions)
        out, bits = self._compute(element, order, script)
        choice = None
        if element.op.arbitrary:
            names = [Stream(s) for s in element.inputs]
            before = {s: Seq(p) for s, p in zip(names, at, strict=True)}
            after = {s: Seq(p) for s, p in zip(names, element.positions, strict=True)}
            choice = Determinant(element.name, before, after, tuple(order) if element.op.arity > 1 else bits)
        self._emit(element, out, choice, ended=False)
        if self.standing:
            process.moves.settled()
        self.kick(element)

    def _compute(
        self, element: Element, order: list[int], script: Determinant | None
    ) -> tuple[list[Row], tuple[int, ...]]:
        op, positions, inbox = element.op, element.positions, element.inbox
        dropping = element.until is not None and positions != element.until
        out: list[Row] = []
        bits: list[int] = []

        def read(i: int, seq: int) -> Row | None:
            return inbox[i].read(seq)

        for k, i in enumerate(order):
            if script is not None and op.arity == 1:
                bit = script.choice[k]
            else:
                bit = op.choose(self.world.random.getrandbits(16)) if op.arbitrary and op.arity == 1 else 0
            bits.append(bit)
            out += op.take(i, positions, read, bit)
            positions[i] += 1
        if op.arbitrary:
            for i in order:
                if i in element.arrivals:
                    element.arrivals.remove(i)
        if not dropping:
            element.until = None
        return ([] if dropping else out), tuple(bits)

    def _emit(self, element: Element, out: list[Row], choice: Determinant | None, *, ended: bool) -> None:
        positions: dict[Stream, Seq] = {}
        kept: dict[Stream, Seq] = {}
        selection = element.op.selection(element.positions)
        for name, first, shelf, at in zip(
            element.inputs, selection, element.inbox, element.positions, strict=True
        ):
            positions[Stream(name)] = Seq(at)
            kept[Stream(name)] = Seq(max(first, min(shelf.base, at)))
        self.process.outputs.made(element.name, out, ended)
        self.process.post(on.Processed(element.name, positions, kept, len(out), ended, choice))
        if self.cluster.tails == "trim":
            for shelf, keep in zip(element.inbox, kept.values(), strict=True):
                if keep - shelf.base > 256:
                    shelf.trim(keep)
        self.cluster.monitor.processed(self.process, element)
