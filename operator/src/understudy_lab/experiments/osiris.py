"""Brettlecker et al. §4.4 to §4.6: unsynchronized, synchronized and extended backups (OSIRIS-SE).

The paper argues without figures. A daisy chain A → B → C (its Figure 4) loses B, or B and C together; A and B
feed a join C (its Figure 7), whose backups are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from understudy.modes.instance import Instance
from understudy.modes.passive_standby import PassiveStandby
from understudy.modes.synchronized_backup import SynchronizedBackup
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.detector import Detector
from understudy.protocol.ledger import Wiring
from understudy_lab.experiments.experiment import Experiment, Progress
from understudy_lab.simulation.cluster import Cluster, Monitor
from understudy_lab.simulation.made_up_operators import Join, Operator, Row, mix
from understudy_lab.simulation.process import Process
from understudy_lab.simulation.specs import Build, SourceSpec, SubjobSpec
from understudy_lab.simulation.world import MS, SECOND, Network, World

UNSYNCHRONIZED, SYNCHRONIZED, EXTENDED = KINDS = ("unsynchronized", "synchronized", "extended")
ONE, TWO = "B fails", "B and C fail"
INTERVAL = 100  # milliseconds between backups of an operator
EVERY = 2 * MS  # a source makes an element
LOST, COUNT = "elements lost", "backups of the join"
QUEUE, BYTES = "output queue in a backup of A (elements)", "sent for backups (bytes per element)"
NOTES = (
    "The paper has no figures: what it says of the three kinds is compared.",
    "Backups every 100 ms, 500 elements/s, 5 ms between nodes: not given.",
    "In this core an unsynchronized backup holds the output that the consumers' backups do not cover yet, so "
    "that two "
    "neighbours that fail together lose nothing either; what the paper saves with synchronized backups is "
    "that part.",
)


@dataclass
class Watch(Monitor):
    seen: list[int] = field(default_factory=list)  # rows at the application
    queues: dict[str, list[float]] = field(default_factory=dict)
    backups: set[int] = field(default_factory=set)  # of the join; an extended one keeps its number

    def delivered(
        self, process: Process, stream: str, start: int, rows: list[Row | None], epoch: int
    ) -> None:
        if process.spec.family == "sink":
            self.seen += [row[1] for row in rows if row is not None]

    def shipped(self, process: Process, element: str, queue: int, held: int) -> None:
        self.queues.setdefault(process.spec.name, []).append(held)

    def stored(self, process: Process, checkpoint: Checkpoint) -> None:
        if process.spec.name == "C":
            self.backups.add(checkpoint.number)


def backups(progress: Progress, runs: int, seconds: int = 3) -> Experiment:
    found = Experiment("osiris-backups", "Backups of neighbouring operators (OSIRIS-SE)", notes=list(NOTES))
    for kind in KINDS:
        for event, failing in ((ONE, "B"), (TWO, "BC")):
            progress(f"{kind}, {event}")
            lost = [_chain(kind, failing, seconds, seed) for seed in range(runs)]
            found.add(kind, event, LOST, None, lost)
        progress(f"{kind}, join")
        counts, sizes, queues = zip(*(_join(kind, seconds, seed) for seed in range(runs)), strict=True)
        found.add(kind, "join", COUNT, None, counts)
        found.add(kind, "join", BYTES, None, sizes)
        found.add(kind, "join", QUEUE, None, queues)
    judge(found)
    return found


def judge(found: Experiment) -> None:
    one = [found.value(kind, ONE, LOST) for kind in KINDS]
    found.check("a single failure loses nothing, synchronized or not", not any(one))
    two = [found.value(kind, TWO, LOST) for kind in (SYNCHRONIZED, EXTENDED)]
    found.check("synchronized, two neighbours that fail together lose nothing", not any(two))
    plain, synchronized, extended = (found.value(kind, "join", COUNT) for kind in KINDS)
    found.check("a join that obeys requests on all inputs makes more backups", synchronized > plain)
    found.check("extending them makes fewer", extended < synchronized)
    queues = [found.value(kind, "join", QUEUE) for kind in KINDS]
    found.check("a synchronized backup holds less output", max(queues[1:]) < queues[0])


# ---- runs --------------------------------------------------------------------------------------------------


def _build(kind: str) -> Build:
    def make(name: str, wiring: Wiring, detector: Detector) -> Instance:
        if kind == UNSYNCHRONIZED:
            return PassiveStandby(name, wiring, detector, interval=INTERVAL)
        return SynchronizedBackup(name, wiring, detector, interval=INTERVAL, extended=kind == EXTENDED)

    return make


def _cluster(
    watch: Watch, sources: Sequence[str], subjobs: Sequence[SubjobSpec], seconds: int, seed: int
) -> Cluster:
    world = World(seed, Network(5 * MS))
    cluster = Cluster(world, watch, interval=INTERVAL)
    count = seconds * SECOND // EVERY
    specs = [
        SourceSpec(
            s, tuple((mix(n, i), 2 * n + i) for n in range(count)), EVERY, phase=world.random.randrange(EVERY)
        )
        for i, s in enumerate(sources)
    ]
    cluster.build(specs, list(subjobs), {"app": "C"})
    return cluster


def _chain(kind: str, failing: str, seconds: int, seed: int) -> float:
    """Elements lost when the operators `failing` crash in the same moment."""
    watch = Watch()
    names = ["s", "A", "B", "C"]
    subjobs = [SubjobSpec(n, ((n, Operator(), (names[i],)),), _build(kind)) for i, n in enumerate(names[1:])]
    cluster = _cluster(watch, ["s"], subjobs, seconds, seed)
    at = SECOND + cluster.world.random.randrange(INTERVAL * MS)
    for name in failing:
        cluster.world.at(at, _crash, cluster, name)
    cluster.world.run((seconds + 6) * SECOND, lambda: cluster.finished)
    return seconds * SECOND // EVERY - len(set(watch.seen))


def _crash(cluster: Cluster, name: str) -> None:
    serving = next(p for p in cluster.running[name] if p.alive and p.serving)
    cluster.crash(serving, silent=True, restart=None)


def _join(kind: str, seconds: int, seed: int) -> tuple[float, float, float]:
    """Backups of the join, bytes for all backups per element, and the output in A's."""
    watch = Watch()
    subjobs = [
        SubjobSpec("A", (("A", Operator(), ("a",)),), _build(kind)),
        SubjobSpec("B", (("B", Operator(), ("b",)),), _build(kind)),
        SubjobSpec("C", (("C", Join(window=20), ("A", "B")),), _build(kind)),
    ]
    cluster = _cluster(watch, ["a", "b"], subjobs, seconds, seed)
    cluster.world.run(seconds * SECOND)
    sent = cluster.world.network.bytes.get("checkpoints", 0) / (2 * seconds * SECOND // EVERY)
    return len(watch.backups), sent, fmean(watch.queues["A"])
