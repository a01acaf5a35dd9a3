"""The simulated control plane: restarts, replacements, planned moves, and what is done when nothing is
left. It acts; `understudy.control` decides, as for users."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from understudy.control.giving_up import give_up
from understudy.control.planned_move import Where
from understudy.modes.amnesia import Amnesia
from understudy.protocol.failures import (
    ActivateElsewhere,
    AlternativeBranch,
    Means,
    MigrateFromBackup,
    ServiceWatch,
    Temporary,
)
from understudy_lab.simulation.paper_control import PaperControl
from understudy_lab.simulation.world import MS

if TYPE_CHECKING:
    from understudy_lab.simulation.cluster import Cluster
    from understudy_lab.simulation.process import Process
    from understudy_lab.simulation.specs import SubjobSpec

AGAIN = 50 * MS
TIMEOUT = 250  # milliseconds after which a failure is permanent


class ControlPlane:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.world = cluster, cluster.world
        self.papers = PaperControl(cluster)
        self.dead: set[str] = set()  # subjobs that no one runs any more
        self._placed = 0

    def when_up(self, act: Callable[..., None], *args: Any) -> None:
        """Now, or when the control plane is back: what it intends is written down."""
        if self.cluster.control_down:
            self.world.at(AGAIN, self.when_up, act, *args)
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
            self.world.at(restart, self.when_up, self._restart, process)
        elif family == "lease":
            watch = ServiceWatch(self.cluster.heartbeat // MS, TIMEOUT, 10**6, self.world.millis)
            self.world.at(AGAIN, self.when_up, self._missed, process, watch)
        if family == "replica" and not any(p.alive for p in running):
            self.world.at(restart or 100 * MS, self.papers.start_over, process.spec)

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
            self.world.at(AGAIN, self.when_up, self._missed, process, watch)
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

    # --- planned moves

    def migrate(self, subjob: str, why: str, where: Where = Where.ANYWHERE, *, late: int = 0) -> None:
        """`late`: it acts so long after it has looked."""
        self.when_up(self._migrate, subjob, why, where, late)

    def relieve(self, subjob: str, why: str) -> None:
        """Its primary is overloaded."""
        self.when_up(self._relieve, subjob, why)

    def _relieve(self, subjob: str, why: str) -> None:
        self.cluster.orders.order(subjob, why, Where.STANDBY, ordered=False)

    def _migrate(self, subjob: str, why: str, where: Where, late: int) -> None:
        if self.cluster.subjobs[subjob].family == "savepoint":
            self.papers.move(subjob, why)
        else:
            self.cluster.orders.order(subjob, why, where, late=late)

    def stop(self, process: Process) -> None:
        """For good, because nobody needs it."""
        self.cluster.monitor.crashed(process, gives_up=False)
        process.crash()
        self._closed(process)
