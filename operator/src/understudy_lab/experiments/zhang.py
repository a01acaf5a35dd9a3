"""Zhang et al. (slides): checkpoint strategies over several elements, and hybrids of active and passive
standby.

A job of four subjobs with two elements each, one machine per subjob, 1 Gbit/s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean

from understudy.modes.passive_standby import PassiveStandby, Strategy
from understudy.modes.replica_backup import ReplicaBackup
from understudy.protocol import commands as do
from understudy.protocol.checkpoint import Checkpoint
from understudy_lab.experiments.experiment import Experiment, Progress, rises
from understudy_lab.simulation.cluster import Cluster, Monitor
from understudy_lab.simulation.made_up_operators import Operator, Row
from understudy_lab.simulation.process import Process
from understudy_lab.simulation.specs import Build, SourceSpec, SubjobSpec
from understudy_lab.simulation.world import MS, SECOND, Network, World

RATE = 3_000  # elements per second
BANDWIDTH = 1_000_000_000
SUBJOBS = 4
BURST = 10 * MS  # a source hands on what came in this time
INTERVAL = 500  # milliseconds between checkpoints
ACTIVE, PASSIVE = "AS", "PS"
QUEUE, TIME = "output queue in a checkpoint (elements)", "time to ship a checkpoint (ms)"
LOAD, DELAY = "messages between subjobs, against no protection", "delay (ms)"
NOTES = (
    "The slides give percentages and no tables: a queue 96 % shorter at 3000 elements/s, 75 % less time "
    "for a checkpoint at an interval of 500 ms.",
    "Elements of 50 bytes, 0.1 ms between machines, 10 µs to process an element: not given.",
    "The application acks every 50 ms.",
)


@dataclass
class Checkpoints(Monitor):
    """What checkpoints carry, and how long they are on their way. A subjob has one under way at a time."""

    since: int
    queues: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)

    def shipped(self, process: Process, element: str, queue: int, held: int) -> None:
        if process.world.now >= self.since:
            self.queues.append(held)
            self.left[process.spec.name] = process.world.now

    def stored(self, process: Process, checkpoint: Checkpoint) -> None:
        if (sent := self.left.pop(process.spec.name, None)) is not None:
            self.times.append((process.world.now - sent) / MS)


@dataclass
class Failure(Monitor):
    """The steps of one recovery."""

    crashed_at: int | None = None
    suspected_at: int | None = None
    led_at: int | None = None
    resumed_at: int | None = None

    def crashed(self, process: Process, *, gives_up: bool) -> None:
        self.crashed_at = process.world.now

    def suspected(self, process: Process, why: str) -> None:
        if self.crashed_at is not None and self.suspected_at is None:
            self.suspected_at = process.world.now

    def leads(self, process: Process, command: do.Lead) -> None:
        if self.crashed_at is not None and self.led_at is None:
            self.led_at = process.world.now

    def delivered(
        self, process: Process, stream: str, start: int, rows: list[Row | None], epoch: int
    ) -> None:
        if process.spec.family == "sink" and self.led_at is not None and self.resumed_at is None:
            self.resumed_at = process.world.now

    def steps(self) -> tuple[float, float, float]:
        """Detection, take-over and reprocessing, in milliseconds."""
        found = (self.crashed_at, self.suspected_at, self.led_at, self.resumed_at)
        times = [at for at in found if at is not None]
        if len(times) < len(found):
            raise RuntimeError(f"no recovery: {self}")
        detection, takeover, reprocessing = ((b - a) / MS for a, b in pairwise(times))
        return detection, takeover, reprocessing


# ---- the job -----------------------------------------------------------------------------------------------


def _job(
    monitor: Monitor,
    kinds: Sequence[str],
    strategy: Strategy,
    seconds: float,
    heartbeat: int = 100,
    seed: int = 0,
) -> Cluster:
    """Subjob j1 … j4, the elements of each one after the other."""
    world = World(seed, Network(MS // 10, BANDWIDTH))
    world.lease_delay = 0
    world.network.flows = {}
    cluster = Cluster(world, monitor, tick=MS, heartbeat=heartbeat * MS, interval=50)
    cluster.tails = "trim"
    cluster.spares = 0
    rows = ((0, 0),) * int(RATE * seconds)
    source = SourceSpec("s", rows, BURST, burst=RATE * BURST // SECOND)
    cluster.build(
        [source], [_subjob(k, i + 1, strategy) for i, k in enumerate(kinds)], {"app": f"j{len(kinds)}"}
    )
    return cluster


def _subjob(kind: str, place: int, strategy: Strategy) -> SubjobSpec:
    name, before = f"j{place}", "s" if place == 1 else f"j{place - 1}"
    elements = ((f"{name}.a", Operator(), (before,)), (name, Operator(), (f"{name}.a",)))
    if kind == ACTIVE:
        both: Build = lambda n, w, d: ReplicaBackup(n, w, d, interval=50)  # noqa: E731
        return SubjobSpec(name, elements, both, "replica")
    passive: Build = lambda n, w, d: PassiveStandby(n, w, d, interval=INTERVAL, strategy=strategy)  # noqa: E731
    return SubjobSpec(name, elements, passive)


# ---- checkpoint strategies ---------------------------------------------------------------------------------


def sweeping(progress: Progress, runs: int, seconds: float = 6.0) -> Experiment:
    title = "Checkpoint strategies: queue size and time (Zhang)"
    found = Experiment("zhang-sweeping", title, notes=list(NOTES))
    for strategy in Strategy:
        progress(strategy.value)
        seen = Checkpoints(since=2 * SECOND)
        _job(seen, [PASSIVE] * SUBJOBS, strategy, seconds).world.run(int(seconds * SECOND))
        found.add(strategy.value, "mean", QUEUE, None, seen.queues)
        found.add(strategy.value, "mean", TIME, None, seen.times)
    for metric, paper in ((QUEUE, 96.0), (TIME, 75.0)):
        others = [found.value(s.value, "mean", metric) for s in Strategy if s is not Strategy.SWEEPING]
        saved = 100 * (1 - found.value(Strategy.SWEEPING.value, "mean", metric) / fmean(others))
        found.add("sweeping saves (%)", "mean", metric, paper, [saved])
        found.check(f"sweeping is far better than both others: {metric}", saved > 50)
    found.notes.append(
        "'Saves' is against the mean of synchronous and individual; the slides do not say against which."
    )
    return found


# ---- hybrids -----------------------------------------------------------------------------------------------


def hybrid(
    progress: Progress,
    runs: int,
    seconds: float = 4.0,
    heartbeats: Sequence[int] = (50, 100, 200, 500, 1_000),
) -> Experiment:
    title = "Active and passive standby along a chain: messages and recovery (Zhang)"
    found = Experiment("zhang-hybrid", title, notes=list(NOTES), x="heart-beat interval (ms)")
    half = SUBJOBS // 2
    for first, second in ((PASSIVE, PASSIVE), (PASSIVE, ACTIVE), (ACTIVE, PASSIVE), (ACTIVE, ACTIVE)):
        progress(f"messages, {first}-{second}")
        cluster = _job(Monitor(), [first] * half + [second] * half, Strategy.SWEEPING, seconds)
        cluster.world.run(int(seconds * SECOND))
        found.add(f"{first}-{second}", "all", LOAD, None, [_load(cluster)])
    for heartbeat in heartbeats:
        progress(f"recovery, heart-beat {heartbeat} ms")
        steps = [_recovery(heartbeat, seed) for seed in range(runs)]
        for name, values in zip(STEPS, zip(*steps, strict=True), strict=True):
            found.add(name, heartbeat, DELAY, None, list(values))
    judge_hybrid(found)
    found.notes += [
        "AS is the slides' variant in which both replicas send to both replicas downstream: replica backup "
        "here.",
        "Links between subjobs are counted: source and application are not replicated. 'Almost 4 times' is "
        "put beside "
        "AS-AS over PS-PS.",
        "A passive standby is deployed before the failure here: the slides' time to deploy is not part of "
        "it.",
    ]
    return found


def judge_hybrid(found: Experiment) -> None:
    both, none = found.value("AS-AS", "all", LOAD), found.value("PS-PS", "all", LOAD)
    found.add("AS-AS over PS-PS", "all", LOAD, 4.0, [both / none])
    mixed = [found.value(name, "all", LOAD) for name in ("PS-AS", "AS-PS")]
    found.check("AS-AS costs most, PS-PS least, mixtures lie between", all(none < m < both for m in mixed))
    detection, takeover, again = (found.series(name, DELAY) for name in STEPS)
    found.check("detection grows with the heart-beat interval", rises(detection))
    found.check("detection dominates with a long one", detection[-1] > 3 * (takeover[-1] + again[-1]))


STEPS = ("detection", "take-over", "reprocessing")


def _load(cluster: Cluster) -> float:
    """Bytes between machines of subjobs over what one copy of the streams between them would be."""
    flows = cluster.world.network.flows or {}
    sent = sum(size for (_, a, b), size in flows.items() if a.startswith("host-j") and b.startswith("host-j"))
    elements = len(cluster.sources["s"].spec.rows) * (SUBJOBS - 1)
    return sent / (elements * cluster.tuple_size)


def _recovery(heartbeat: int, seed: int) -> tuple[float, float, float]:
    seen = Failure()
    cluster = _job(seen, [PASSIVE] * SUBJOBS, Strategy.SWEEPING, 12.0, heartbeat, seed)
    world = cluster.world
    world.at(1_500 * MS + world.random.randrange(heartbeat * MS), _crash, cluster)
    world.run(12 * SECOND, lambda: seen.resumed_at is not None)
    return seen.steps()


def _crash(cluster: Cluster) -> None:
    cluster.crash(next(p for p in cluster.running["j2"] if p.serving), silent=True, restart=None)
