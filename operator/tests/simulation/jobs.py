"""Small jobs for the simulator."""

from __future__ import annotations

from understudy.modes.active_standby import ActiveStandby
from understudy.modes.amnesia import Amnesia
from understudy.modes.passive_standby import PassiveStandby, Strategy
from understudy.modes.replica_backup import ReplicaBackup
from understudy.modes.savepoint import SavepointMode
from understudy.modes.upstream_backup import UpstreamBackup
from understudy.protocol.ids import Range
from understudy_lab.simulation.cluster import Cluster, Monitor
from understudy_lab.simulation.made_up_operators import Aggregate, Filter, Row, mix, reference
from understudy_lab.simulation.process import Process
from understudy_lab.simulation.specs import Build, SourceSpec, SubjobSpec
from understudy_lab.simulation.world import MS, SECOND, World

MODES: dict[str, tuple[Build, str]] = {
    "amnesia": (lambda n, w, d: Amnesia(n, w, d), "lease"),
    "passiveStandby": (lambda n, w, d: PassiveStandby(n, w, d, interval=50), "lease"),
    "passiveStandby/individual": (
        lambda n, w, d: PassiveStandby(n, w, d, interval=50, strategy=Strategy.INDIVIDUAL),
        "lease",
    ),
    "passiveStandby/sweeping": (
        lambda n, w, d: PassiveStandby(n, w, d, interval=50, strategy=Strategy.SWEEPING),
        "lease",
    ),
    "upstreamBackup": (lambda n, w, d: UpstreamBackup(n, w, d, interval=50), "lease"),
    "activeStandby": (lambda n, w, d: ActiveStandby(n, w, d, interval=50), "lease"),
    "replicaBackup": (lambda n, w, d: ReplicaBackup(n, w, d, interval=20), "replica"),
    "savepoint": (lambda n, w, d: SavepointMode(n, w, d), "savepoint"),
}
AGGREGATE, FILTER = Aggregate(window=6, advance=2), Filter(salt=3)
ROWS: tuple[Row, ...] = tuple((mix(i, 5), 1 << i) for i in range(200))


class Seen(Monitor):
    def __init__(self) -> None:
        self.rows: list[Row | None] = []
        self.losses: list[tuple[str, str, Range]] = []

    def delivered(
        self, process: Process, stream: str, start: int, rows: list[Row | None], epoch: int
    ) -> None:
        if process.spec.family == "sink":
            self.rows += rows

    def lost(self, process: Process, stream: str, missing: Range) -> None:
        self.losses.append((process.spec.name, stream, missing))


def chain(mode: str, seed: int = 1) -> tuple[Cluster, Seen]:
    """S → A (aggregate) → B (filter) → out."""
    build, family = MODES[mode]
    cluster, seen = Cluster(World(seed), Seen()), Seen()
    cluster.monitor = seen
    cluster.world.history = []
    cluster.build(
        [SourceSpec("S", ROWS, 5 * MS)],
        [
            SubjobSpec("A", (("A", AGGREGATE, ("S",)),), build, family),
            SubjobSpec("B", (("B", FILTER, ("A",)),), build, family),
        ],
        {"out": "B"},
    )
    return cluster, seen


def expected() -> list[Row]:
    return reference(FILTER, [reference(AGGREGATE, [ROWS])])


def kill(cluster: Cluster, subjob: str, at: int, silent: bool = False) -> None:
    def act() -> None:
        serving = next(p for p in cluster.running[subjob] if p.alive and p.serving)
        cluster.crash(serving, silent, 100 * MS)

    cluster.world.at(at, act)


def run(cluster: Cluster) -> None:
    cluster.world.run(8 * SECOND, lambda: cluster.finished)
