"""Control as two papers have it, for experiments and for exploring their protocols: replicas that elect a
joiner (Xiao), savepoint operators that a coordinator replaces and recalls (Koldehofe §7.2). No user's job
runs like this: there the Lease decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.protocol import events as on
from understudy.protocol.ids import Epoch
from understudy_lab.simulation.coordinator import Coordinator, Recall, StartReplacement
from understudy_lab.simulation.world import MS

if TYPE_CHECKING:
    from understudy_lab.simulation.cluster import Cluster
    from understudy_lab.simulation.process import Process
    from understudy_lab.simulation.specs import SubjobSpec

REJOIN = 120 * MS


class PaperControl:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.world = cluster, cluster.world
        self.coordinator = Coordinator(cluster.heartbeat // MS, cluster.misses)
        self._epochs: dict[str, int] = {}

    def begin(self) -> None:
        if any(s.family == "savepoint" for s in self.cluster.subjobs.values()):
            self.world.at(self.cluster.heartbeat, self._check)

    def stepped_down(self, process: Process) -> None:
        if process.spec.family != "lease":
            process.crash()

    # --- replica backup

    def elect(self, survivor: Process, why: str) -> None:
        self.world.note(f"{survivor.name}: {why}")
        self.world.at(self.cluster.deploy, self.cluster.control.when_up, self._replace_peer, survivor)

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
            self.start_over(joiner.spec)
            return
        args = (joiner, epoch, None)
        self.world.send("control", "control", survivor.host, 0, survivor.receive, "rx_keep_alive", args)
        joiner.send(survivor, "control", 0, "rx_follow", joiner)
        self.world.at(REJOIN, self._join, joiner, survivor, epoch)

    def start_over(self, spec: SubjobSpec) -> None:
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

    def move(self, operator: str, why: str) -> None:
        self._decided(self.coordinator.move(operator, why))

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
