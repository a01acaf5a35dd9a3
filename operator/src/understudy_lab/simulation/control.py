"""The simulated control plane: restarts, replacements, planned moves, and what is done when nothing is
left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from understudy.control.giving_up import give_up
from understudy.control.planned_move import Where
from understudy.modes.amnesia import Amnesia
from understudy.protocol import events as on
from understudy.protocol.coordinator import Coordinator, Recall, StartReplacement
from understudy.protocol.failures import (
    ActivateElsewhere,
    AlternativeBranch,
    Means,
    MigrateFromBackup,
    ServiceWatch,
    Temporary,
)
from understudy.protocol.ids import Epoch
from understudy_lab.simulation.world import MS

if TYPE_CHECKING:
    from understudy_lab.simulation.cluster import Cluster
    from understudy_lab.simulation.process import Process
    from understudy_lab.simulation.specs import SubjobSpec

AGAIN = 50 * MS
TIMEOUT = 250  # milliseconds after which a failure is permanent
REJOIN = 120 * MS


class ControlPlane:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.world = cluster, cluster.world
        self.coordinator = Coordinator(cluster.heartbeat // MS, cluster.misses)
        self._epochs: dict[str, int] = {}
        self.dead: set[str] = set()  # subjobs that no one runs any more
        self._placed = 0

    def begin(self) -> None:
        if any(s.family == "savepoint" for s in self.cluster.subjobs.values()):
            self.world.at(self.cluster.heartbeat, self._check)

    def _when_up(self, act: Callable[..., None], *args: Any) -> None:
        """Now, or when the control plane is back: what it intends is written down."""
        if self.cluster.control_down:
            self.world.at(AGAIN, self._when_up, act, *args)
        else:
            act(*args)

    # --- crashes

    def crash(self, process: Process, silent: bool, restart: int | None, *, gives_up: bool = False) -> None:
        """`restart`: after how long it is started again in its place; None: never, its node is gone."""
        if not process.alive:
            return
        self.world.note(
            f"{process.name} dies{' silently' if silent else ''}{' for good' if restart is None else ''}"
        )
        self.cluster.monitor.crashed(process, gives_up=gives_up)
        process.crash(silent)
        if not silent:
            self._closed(process)
        family, running = process.spec.family, self.cluster.running[process.spec.name]
        if family == "lease" and restart is not None:
            self.world.at(restart, self._when_up, self._restart, process)
        elif family == "lease":
            watch = ServiceWatch(self.cluster.heartbeat // MS, TIMEOUT, 10**6, self.world.millis)
            self.world.at(AGAIN, self._when_up, self._missed, process, watch)
        if family == "replica" and not any(p.alive for p in running):
            self.world.at(restart or 100 * MS, self._start_over, process.spec)

    def _closed(self, process: Process) -> None:
        for other in self.cluster.peers(process):
            if other.alive:
                process.send(other, "control", 0, "rx_closed", process)

    def _restart(self, process: Process) -> None:
        if process not in self.cluster.running[process.spec.name]:
            return  # it was retired meanwhile
        self.cluster.remove(process)
        self.cluster.launch(process.spec, process.core.name, process.host, None)

    def _missed(self, process: Process, watch: ServiceWatch) -> None:
        """An instance is gone: for a while that is temporary, then it needs another node."""
        failure = watch.classify(self.world.millis, waiting=1)
        if failure is None or isinstance(failure, Temporary):
            self.world.at(AGAIN, self._when_up, self._missed, process, watch)
            return
        spec, running = process.spec, self.cluster.running[process.spec.name]
        if process not in running:
            return  # it was retired meanwhile
        if len(running) > spec.replicas:
            self.cluster.remove(process)  # the target of a move is there already
            return
        alone = not any(p.alive for p in running if p is not process)
        node = f"spare-{self._placed}" if self.cluster.spares > 0 else None
        means = Means(node, "alternative" if spec.alternative else None, spec.process)
        begun = self.world.lease(spec.name) is not None
        handling = give_up(failure.why, started=begun, covered=not alone, means=means)
        self.cluster.remove(process)
        match handling:
            case MigrateFromBackup() | ActivateElsewhere():
                self.place_on_spare(spec)
            case _ if not alone:
                self.world.note(f"{spec.name}: {handling.why}")
                return
            case AlternativeBranch() if spec.alternative is not None:
                self._activate_alternative(spec, spec.alternative)
            case _:
                self.dead.add(spec.name)
        self.world.note(f"{spec.name}: {type(handling).__name__}: {handling.why}")
        self.cluster.monitor.handled(spec.name, handling)

    def place_on_spare(self, spec: SubjobSpec) -> Process:
        node = f"spare-{self._placed}"
        self._placed += 1
        self.cluster.spares -= 1
        return self.cluster.launch(spec, f"{spec.name}-m{self._placed}", node, None)

    def _activate_alternative(self, spec: SubjobSpec, elements: Any) -> None:
        simpler = replace(spec, elements=elements, build=lambda n, w, d: Amnesia(n, w, d), alternative=None)
        self.cluster.launch(simpler, f"{spec.name}-alternative", f"host-{spec.name}-alternative", None)

    def stepped_down(self, process: Process) -> None:
        if process.spec.family != "lease":
            process.crash()

    # --- planned moves

    def migrate(self, subjob: str, why: str, where: Where = Where.ANYWHERE, *, late: int = 0) -> None:
        """`late`: it acts so long after it has looked."""
        self._when_up(self._migrate, subjob, why, where, late)

    def relieve(self, subjob: str, why: str) -> None:
        """Its primary is overloaded."""
        self._when_up(self._relieve, subjob, why)

    def _relieve(self, subjob: str, why: str) -> None:
        self.cluster.orders.order(subjob, why, Where.STANDBY, ordered=False)

    def _migrate(self, subjob: str, why: str, where: Where, late: int) -> None:
        if self.cluster.subjobs[subjob].family == "savepoint":
            self._decided(self.coordinator.move(subjob, why))
        else:
            self.cluster.orders.order(subjob, why, where, late=late)

    def stop(self, process: Process) -> None:
        """For good, because nobody needs it."""
        self.cluster.monitor.crashed(process, gives_up=False)
        process.crash()
        self._closed(process)

    # --- replica backup

    def elect(self, survivor: Process, why: str) -> None:
        self.world.note(f"{survivor.name}: {why}")
        self.world.at(self.cluster.deploy, self._when_up, self._replace_peer, survivor)

    def _next_epoch(self, subjob: str) -> Epoch:
        self._epochs[subjob] = self._epochs.get(subjob, 1) + 1
        return Epoch(self._epochs[subjob])

    def _replace_peer(self, survivor: Process) -> None:
        name, running = survivor.spec.name, self.cluster.running[survivor.spec.name]
        if not survivor.alive or survivor not in running:
            return
        epoch = self._next_epoch(name)
        for old in self.cluster.peers(survivor):
            self.cluster.remove(old)
            self.world.send("control", "control", old.host, 0, old.receive, "rx_newer", (epoch,))
        event = on.Started(epoch, fresh=False)
        joiner = self.cluster.launch(survivor.spec, f"{name}-r{epoch}", f"host-{name}-r{epoch}", event)
        joiner.peers.primary = survivor
        self._join(joiner, survivor, epoch)

    def _join(self, joiner: Process, survivor: Process, epoch: Epoch) -> None:
        """Until the survivor's state has come, ask for it."""
        if not joiner.alive or joiner.processing:
            return
        if not survivor.alive:  # nobody is left whose state it could take
            joiner.crash()
            self._start_over(joiner.spec)
            return
        args = (joiner, epoch, None)
        self.world.send("control", "control", survivor.host, 0, survivor.receive, "rx_keep_alive", args)
        joiner.send(survivor, "control", 0, "rx_follow", joiner)
        self.world.at(REJOIN, self._join, joiner, survivor, epoch)

    def _start_over(self, spec: SubjobSpec) -> None:
        """No replica is left: the job goes on from whatever upstream still holds."""
        if any(p.alive for p in self.cluster.running[spec.name]):
            return
        epoch = self._next_epoch(spec.name)
        for former in list(self.cluster.running[spec.name]):
            self.cluster.remove(former)
        for i in range(spec.replicas):
            name = f"{spec.name}-s{epoch}{i}"
            process = self.cluster.launch(spec, name, f"host-{name}", on.Started(epoch, fresh=True))
            self.world.at(1, process.post, on.KeepAlive(process.millis, epoch, None))

    # --- savepoint: the coordinator

    def deployed(self, process: Process, life: int) -> None:
        if process.spec.family == "savepoint":
            process.life = life
            self.coordinator.deployed(process.spec.name, life, self.world.millis)

    def beat(self, process: Process) -> None:
        if not self.cluster.control_down and self.world.network.reaches(process.host, "control"):
            self.coordinator.beat(process.spec.name, process.life, self.world.millis)

    def _check(self) -> None:
        if not self.cluster.control_down:
            self._decided(self.coordinator.check(self.world.millis))
        self.world.at(self.cluster.heartbeat, self._check)

    def progressed(self, process: Process) -> None:
        self._decided(self.coordinator.progressed(process.spec.name, process.life, self.world.millis))

    def _decided(self, decisions: list[StartReplacement | Recall]) -> None:
        for decision in decisions:
            match decision:
                case StartReplacement(operator, why):
                    self.world.note(f"replacement for {operator}: {why}")
                    self.cluster.monitor.replacing(operator, why)
                    self.world.at(self.cluster.deploy, self._replace_operator, operator)
                case Recall(operator, life, _):
                    for other in [p for p in self.cluster.running[operator] if p.life == life]:
                        self.world.note(f"{other.name} is recalled")
                        other.crash()
                        self.cluster.remove(other)

    def _replace_operator(self, name: str) -> None:
        life = self._next_epoch(name)
        event = on.Started(life, fresh=False)
        process = self.cluster.launch(
            self.cluster.subjobs[name], f"{name}-{life}", f"host-{name}-{life}", event
        )
        self.deployed(process, life)
