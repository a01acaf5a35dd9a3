"""Writes down what happens in a simulated run, as plain values, at the hooks of the monitor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.protocol.failures import AlternativeBranch, FailureProcess, Report
from understudy.protocol.ids import Stream
from understudy_lab.exploration import history as seen
from understudy_lab.exploration.history import Observation, Timed
from understudy_lab.simulation.cluster import Cluster, Monitor
from understudy_lab.simulation.world import MS, World

if TYPE_CHECKING:
    from understudy.protocol import commands as do
    from understudy.protocol import events as on
    from understudy.protocol.checkpoint import Checkpoint
    from understudy.protocol.epochs import LeaseRecord
    from understudy.protocol.failures import Handling
    from understudy.protocol.ids import Range
    from understudy_lab.simulation.element import Element
    from understudy_lab.simulation.made_up_operators import Row
    from understudy_lab.simulation.process import Process


class Recorder(Monitor):
    def __init__(self, world: World) -> None:
        self.history: list[Timed] = []
        self._world = world
        self._counted: dict[str, int] = {}  # messages, when they were counted last
        self._logs: dict[
            tuple[str, str], int
        ] = {}  # what was last said of a life's log: that is said again and again

    def _see(self, event: Observation) -> None:
        self.history.append((self._world.now // MS, event))

    def count(self, cluster: Cluster) -> list[Observation]:
        """Messages since this was asked last."""
        before, self._counted = self._counted, dict(cluster.calls)
        return [seen.Sent(kind, n - before.get(kind, 0)) for kind, n in self._counted.items()]

    # --- faults and orders

    def disturbed(self, what: str, touches: tuple[str, ...], until: int) -> None:
        self._see(seen.Disturbed(what, touches, until // MS))

    def ordered(self, subjob: str, source: str, target: str) -> None:
        self._see(seen.Ordered(subjob, source, target))

    def given_up(self, subjob: str, target: str) -> None:
        self._see(seen.GivenUp(subjob, target))

    # --- lives

    def launched(self, process: Process, number: int) -> None:
        self._see(seen.Launched(process.name, process.spec.name, number))

    def crashed(self, process: Process, *, gives_up: bool) -> None:
        self._see(seen.Crashed(process.name, gives_up))

    def ended(self, process: Process) -> None:
        self._see(seen.Ended(process.name))

    def removed(self, process: Process) -> None:
        self._see(seen.Removed(process.name))

    def hung(self, process: Process, lasts: int) -> None:
        self._see(seen.EngineHung(process.name, lasts))

    def handled(self, subjob: str, handling: Handling) -> None:
        branch = isinstance(handling, AlternativeBranch)
        gives_up = isinstance(handling, FailureProcess | Report)
        self._see(
            seen.Handled(subjob, str(getattr(handling, "why", "")), branch or gives_up, branch, not gives_up)
        )

    # --- who leads

    def elected(self, process: Process, lease: LeaseRecord) -> None:
        self._see(seen.LeaseTaken(process.spec.name, process.name, lease.epoch))

    def leads(self, process: Process, command: do.Lead) -> None:
        self._forget_the_log(process)
        self._see(seen.Led(process.name, command.epoch, _state_of(process, command.checkpoint), command.live))

    def stepped_down(self, process: Process, command: do.StepDown) -> None:
        self._forget_the_log(process)
        self._see(seen.SteppedDown(process.name, _state_of(process, command.keep)))

    def ran(self, process: Process, command: do.Run) -> None:
        state = _state_of(process, command.checkpoint)
        assert state is not None
        self._see(seen.Ran(process.name, command.epoch, state))

    def handed_over(self, process: Process) -> None:
        self._see(seen.HandedOver(process.name))

    def moved(self, process: Process, expected: bool) -> None:
        self._see(seen.Moved(process.name, not expected))

    def resumed(self, process: Process) -> None:
        self._see(seen.Resumed(process.name))

    def joined(self, process: Process, secondary: Process | None) -> None:
        self._logs.pop((process.name, "confirmed"), None)
        self._see(seen.Joined(process.name, secondary.name if secondary is not None else None))

    # --- input

    def asked(self, process: Process, stream: str, start: int | None) -> None:
        self._see(seen.Asked(process.name, stream, start))

    def answered(self, process: Process, stream: str, start: int) -> None:
        self._see(seen.Answered(process.name, stream, start))

    def delivered(
        self, process: Process, stream: str, start: int, rows: list[Row | None], epoch: int
    ) -> None:
        self._see(seen.Delivered(process.name, stream, start, tuple(rows), epoch))

    def skipped(self, process: Process, command: do.Skip) -> None:
        self._see(seen.Skipped(process.name, command.stream, command.to, command.element))

    def processed(self, process: Process, element: Element) -> None:
        if process.spec.family == "sink":
            return
        positions = dict(zip(element.inputs, element.positions, strict=True))
        self._see(
            seen.Processed(process.name, element.name, positions, process.outputs.stores[element.name].stop)
        )

    def lost(self, process: Process, stream: str, missing: Range) -> None:
        self._see(seen.LossReported(process.name, stream, missing.start, missing.stop))

    def acked(self, process: Process, command: do.SendAck) -> None:
        self._see(seen.Acked(process.name, command.stream, command.level, command.upto))

    def recovery_asked(self, process: Process, stream: str) -> None:
        self._see(seen.RecoveryAsked(process.name, stream))

    def recovery_answered(self, process: Process, stream: str) -> None:
        self._see(seen.RecoveryAnswered(process.name, stream))

    # --- output

    def subscribed(self, process: Process, event: on.Subscribed) -> None:
        self._see(seen.Subscribed(process.name, event.stream, event.consumer, event.start, event.epoch))

    def ack_heard(self, process: Process, ack: on.Acked) -> None:
        self._see(seen.AckHeard(process.name, ack.stream, ack.consumer, ack.level, ack.upto))

    def numbered(self, process: Process, stream: str, first: int) -> None:
        self._see(seen.Numbered(process.name, stream, first))

    def renumbered(self, process: Process, stream: str, first: int) -> None:
        self._see(seen.Renumbered(process.name, stream, first))

    def trimmed(self, process: Process, command: do.Trim) -> None:
        self._see(seen.Trimmed(command.stream, command.upto))

    # --- what a standby has

    def stored(self, process: Process, checkpoint: Checkpoint) -> None:
        state = _state_of(process, checkpoint)
        assert state is not None
        self._see(seen.Stored(process.name, state))

    def confirmed(self, process: Process, epoch: int) -> None:
        self._see(seen.Confirmed(process.name, epoch))

    def _forget_the_log(self, process: Process) -> None:
        for word in ("kept", "confirmed"):
            self._logs.pop((process.name, word), None)

    def log_kept(self, process: Process, epoch: int) -> None:
        if self._logs.get((process.name, "kept")) != epoch:
            self._logs[process.name, "kept"] = epoch
            self._see(seen.LogKept(process.name, epoch))

    def log_confirmed(self, process: Process, epoch: int) -> None:
        if self._logs.get((process.name, "confirmed")) != epoch:
            self._logs[process.name, "confirmed"] = epoch
            self._see(seen.LogConfirmed(process.name, epoch))


def measured(cluster: Cluster) -> list[Observation]:
    """How long the queues are now, and who has read all of its input."""
    found: list[Observation] = []
    for source in cluster.sources.values():
        if source.queue.acks:
            found.append(seen.QueueMeasured(source.name, source.name, source.store.base, source.store.stop))
    for process in (p for ps in cluster.running.values() for p in ps if p.alive):
        if process.spec.family != "sink":
            store = process.outputs.stores[process.spec.stream]
            found.append(seen.QueueMeasured(process.name, process.spec.stream, store.base, store.stop))
    for process in (p for p in cluster.processes.values() if p.alive):
        finished = tuple(name for name, element in process.elements.items() if element.finished)
        found.append(seen.ReadToTheEnd(process.name, finished, len(finished) == len(process.elements)))
    return found


def _state_of(process: Process, checkpoint: Checkpoint | None) -> seen.State | None:
    if checkpoint is None:
        return None
    covers = {s: int(checkpoint.covers(Stream(s)) or 0) for s in process.spec.inputs}
    held = {name: (int(e.held.start), int(e.held.stop)) for name, e in checkpoint.elements.items()}
    positions = {
        name: {str(s): int(p) for s, p in e.positions.items()} for name, e in checkpoint.elements.items()
    }
    return seen.State(checkpoint.epoch, covers, held, positions)
