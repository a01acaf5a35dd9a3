"""The shell: carries out what the core decides on simulated machines, and tells it what happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from understudy.modes.instance import Instance
from understudy.modes.leadership import Role
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.events import Event
from understudy.protocol.ids import Consumer, Epoch, Millis, Stream
from understudy_lab.simulation.backups import Backups
from understudy_lab.simulation.computing import Computing
from understudy_lab.simulation.element import Element, Shelf
from understudy_lab.simulation.endpoint import Endpoint
from understudy_lab.simulation.engine import Engine
from understudy_lab.simulation.hand_over import Moves
from understudy_lab.simulation.inputs import Inputs
from understudy_lab.simulation.leases import Leases
from understudy_lab.simulation.outputs import Outputs
from understudy_lab.simulation.peers import Peers
from understudy_lab.simulation.recovery import Recovery
from understudy_lab.simulation.world import MS

if TYPE_CHECKING:
    from understudy_lab.simulation.cluster import Cluster
    from understudy_lab.simulation.specs import SubjobSpec

LEASE_CHECK = 100 * MS  # how often a primary looks whether the Lease is still its own


class Process(Endpoint):
    """One instance: the core, its elements, its queues, its connections."""

    def __init__(self, cluster: Cluster, spec: SubjobSpec, name: str, host: str, core: Instance) -> None:
        super().__init__(cluster, name, host)
        self.spec, self.core = spec, core
        self.life = 0  # counted by the coordinator of savepoint recovery
        self.generation = 0
        self.silent = False
        self.processing = self.serving = False
        self.clock = 0  # milliseconds: each machine's monotonic clock began at a time of its own
        self._beat_at = -(10**9)
        self._lease_at = 0
        self.carry: dict[type, Callable[[Any], None]] = {
            do.Lead: self._lead,
            do.Run: self._run,
            do.StepDown: self._step_down,
            do.ReportLoss: lambda c: cluster.monitor.lost(self, c.stream, c.missing),
            do.Elect: self._elect,
        }
        self.computing, self.leases, self.inputs = Computing(self), Leases(self), Inputs(self)
        self.outputs, self.peers, self.recovery = Outputs(self), Peers(self), Recovery(self)
        self.backups, self.moves, self.engine = Backups(self), Moves(self), Engine(self)
        self._clear()

    @property
    def parts(self) -> tuple[object, ...]:
        return (self.inputs, self.outputs, self.peers, self.recovery, self.backups, self.moves)

    @property
    def speaks(self) -> bool:
        return self.core.role is Role.PRIMARY

    @property
    def leads(self) -> bool:
        """Whether the Lease is its own: a primary that was replaced forgets its state as soon as it learns of
        it."""
        record = self.world.lease(self.spec.name)
        if self.spec.side_by_side:
            return record is not None and record.epoch == self.core.epoch
        return record is not None and record.address == self.name

    @property
    def elements(self) -> dict[str, Element]:
        return self.computing.elements

    @property
    def at_the_end(self) -> bool:
        return self.alive and all(e.finished for e in self.elements.values())

    @property
    def epoch(self) -> Epoch:
        """What its messages carry. The lives of a savepoint operator are equals: nobody is fenced (Koldehofe
        §7.2)."""
        return Epoch(1) if self.spec.family == "savepoint" else self.core.epoch

    @property
    def millis(self) -> Millis:
        return Millis(self.world.now // MS + self.clock)

    @property
    def consumer(self) -> str:
        return self.spec.name

    def start(self, event: Event | None = None) -> None:
        self.post(event) if event is not None else self.leases.order(do.ReadLease("first look"))
        self._tick()

    def post(self, event: Event) -> None:
        for command in self.core.handle(event):
            self.carry[type(command)](command)

    def crash(self, silent: bool = True) -> None:
        """`silent`: its machine is gone, too, so that nobody is told."""
        if self.alive:
            self.cluster.monitor.ended(self)
        self.alive, self.silent = False, silent
        self.generation += 1

    # --- time

    def _tick(self) -> None:
        if not self.alive:
            return
        world = self.world
        if world.now >= self.paused:
            was_open = self.core.roll_open
            self.post(on.Tick(self.millis))
            if was_open and not self.core.roll_open:
                world.note(
                    f"{self.name} does not wait for "
                    f"{', '.join(sorted(c for _, c in self.core.numbering.late))}"
                )
                self.outputs.align()
                world.at(0, self.outputs.settle)
            self._duties()
        world.at(self.cluster.tick, self._tick)

    def _duties(self) -> None:
        now = self.world.now
        if now - self._beat_at >= self.cluster.heartbeat:
            self._beat_at = now
            self._beat()
        if self.spec.family == "lease":
            if self.core.role is Role.PRIMARY and now - self._lease_at >= LEASE_CHECK:
                self._lease_at = now
                self.leases.order(do.ReadLease("to see whether it is still ours"))
            self.peers.watch()
        self.inputs.watch()

    def _beat(self) -> None:
        if self.spec.family == "lease":
            self.peers.keep_alive()
        elif self.spec.family == "savepoint":
            self.cluster.control.papers.beat(self)
        if self.cluster.lossy and self.serving:
            for sub in self.outputs.subscriptions.values():
                at = self.core.numbering.theirs(Stream(sub.stream), Consumer(sub.consumer), sub.next)
                args = (sub.stream, self.name, int(at), sub.end_told)
                self.send(sub.target, "keep-alive", 0, "rx_alive", *args)

    # --- roles

    def _clear(self) -> None:
        self.computing.clear()
        self.outputs.clear()

    def _elect(self, command: do.Elect) -> None:
        if self.spec.family == "lease":
            self.leases.try_it(do.TryLease(command.expected, command.why))
        else:
            self.cluster.control.papers.elect(self, command.why)

    def _lead(self, command: do.Lead) -> None:
        self.cluster.monitor.leads(self, command)
        if not command.beside and self.spec.family == "lease":
            self.peers.leave()
        if command.live:
            self.inputs.speak()
        else:
            self._restore(command.checkpoint)
        asks = self.cluster.ask if self.core.epoch > 1 else 0
        self.processing, self.serving = True, asks == 0
        for element in self.elements.values():
            element.follows_script = False
        if self.cluster.presubscribe:
            for name, _, _ in self.spec.elements:
                for consumer in self.cluster.consumers(name):
                    self.outputs.expect(name, consumer)
        self.world.at(asks, self._serve)
        self.computing.kick_all()

    def _serve(self) -> None:
        self.serving = self.serving or self.core.role is Role.PRIMARY
        self.outputs.settle()

    def _run(self, command: do.Run) -> None:
        self.cluster.monitor.ran(self, command)
        self._restore(command.checkpoint)
        self.processing, self.serving = True, False
        for element in self.elements.values():
            element.follows_script = command.waits_for_choices
        self.computing.kick_all()

    def _restore(self, checkpoint: Checkpoint | None) -> None:
        self.generation += 1
        self.inputs.close()
        self.outputs.close()
        self._clear()
        shelf = self.peers.shelves.permanent if checkpoint is not None else None
        for name, state in (checkpoint.elements if checkpoint else {}).items():
            saved, held = shelf.rows.get(name) if shelf else None, state.held
            self.computing.restore(name, state, saved, shelf.ahead if shelf else {})
            kept = saved["queue"].slice(held.start, held.stop) if saved else []
            self.outputs.restore(name, Shelf(held.start, kept), state.ended)
        for element in self.elements.values():
            element.waiting = self.core.awaits_numbers
        if checkpoint is not None:
            for name in self.elements:
                self.computing.feed(name)

    def _step_down(self, command: do.StepDown) -> None:
        self.world.note(f"{self.name} steps down: {command.why}")
        self.cluster.monitor.stepped_down(self, command)
        self.generation += 1
        self.processing = self.serving = False
        self.leases.withdraw()
        self.inputs.close()
        self.outputs.close()
        self.outputs.forget()
        self.peers.step_down(command.keep)
        self._clear()
        self.cluster.control.papers.stepped_down(self)


__all__ = ["Endpoint", "Process"]
