"""The node of Hwang's experiments (§7): N between an upstream node and an application, parameters of Table 5.

N fails once. Recovery time counts from the detection of the failure until N's state before it is reached
again and shows in an output; for active standby, until the secondary has sent what N had sent. Overhead is
what N and its secondary send or are sent for high availability over the tuples on N's inputs (Table 1, and
§7.1: "the node transmits only one 8-byte tuple identifier for every 25 tuples it receives, yielding an
overhead of 0.64 %").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from understudy.modes.active_standby import ActiveStandby
from understudy.modes.instance import Instance
from understudy.modes.passive_standby import PassiveStandby
from understudy.modes.replica_backup import ReplicaBackup
from understudy.modes.savepoint import SavepointMode
from understudy.modes.upstream_backup import UpstreamBackup
from understudy.protocol import commands as do
from understudy.protocol.commands import Commands
from understudy.protocol.detector import Detector
from understudy.protocol.ids import Millis
from understudy.protocol.ledger import Wiring
from understudy_lab.simulation.cluster import Cluster, Monitor
from understudy_lab.simulation.made_up_operators import Aggregate, Filter, Operator, Union
from understudy_lab.simulation.process import Endpoint, Process
from understudy_lab.simulation.specs import SourceSpec, SubjobSpec
from understudy_lab.simulation.world import MS, SECOND, Network, World

Elements = tuple[tuple[str, Operator, tuple[str, ...]], ...]

UPSTREAM, ACTIVE, PASSIVE = APPROACHES = ("upstream backup", "active standby", "passive standby")
SAVEPOINT, REPLICA = "savepoint", "replica backup"  # on the same node, for the planner
FAMILIES = {SAVEPOINT: "savepoint", REPLICA: "replica"}
OVERHEAD, RECOVERY = "bandwidth overhead (%)", "recovery time (ms)"

# Table 5
RATE = 1_000  # λ, tuples per second
BANDWIDTH = 16_000_000  # bits per second
DELAY = 5 * MS  # d
REDIRECT = 40 * MS  # r
WORK = 10.0  # microseconds for a tuple in a filter, and for each open window of an aggregate
TUPLE = 50  # bytes
RECEIVE = TUPLE * 8 * SECOND / BANDWIDTH  # microseconds to take a tuple off the link: 25

WARM = 701 * MS
NOTES = (
    "Timers of the nodes have independent phases, as Table 3 supposes (M·λ + 2·d·λ tuples to process again).",
    "With passive standby the application's acks come right after a checkpoint: what was released before one "
    "is not "
    "shipped by this core, while the paper's checkpoint has all 'newly enqueued tuples'.",
    "The aggregate costs 10 µs for each open window a tuple falls into: window/advance of them in normal "
    "running, as "
    "in Table 5, fewer while a restarted aggregate opens its windows again.",
    "A node takes a tuple off the link (25 µs at 16 Mbit/s) and then processes it; the two do not overlap. "
    "The paper "
    "does not say. It was chosen because passive standby's columns show it: they are r + d + (M/2 + "
    "advance/2) · "
    "(25 µs + p) in all three tables. With overlap, upstream backup's recovery of aggregates is 16 to 19 % "
    "short.",
    "Recovery ends with the first output at or after the state before the failure: only there an aggregate's "
    "state "
    "can be seen.",
    "The cost of a union is not given in the paper: 10 µs per tuple, as for the filter.",
    "Each position in a message is an identifier of 8 bytes: level-0 and level-1 ack (upstream backup); the "
    "primary's "
    "ack, the secondary's progress, the queue-trimming message (active standby); positions of queues and "
    "state, "
    "confirmation and ack of a checkpoint (passive standby). What the application sends to N is the "
    "application's.",
    "The moments of failure and the phases of timers are spread evenly over M (a low-discrepancy sequence).",
    "Redirecting takes r = 40 ms until upstream starts to send; that includes the request on its way.",
    "A run is 2 to 4 simulated seconds around the failure, not a minute: nothing else happens in it.",
)


@dataclass(frozen=True)
class Setup:
    approach: str
    elements: Elements
    inputs: int = 1
    interval: int = 50  # M, milliseconds
    precise: bool = False
    rate: int = RATE
    acks: int | None = None  # the application's interval, if it is not M


@dataclass(frozen=True, slots=True)
class Entrance(Aggregate):
    """The aggregate at the node's input: every tuple is taken off the link first."""

    def price(self, filled: int) -> float:
        return RECEIVE + Aggregate.price(self, filled)


FILTER: Elements = (("N", Filter(keep=3, cost=WORK + RECEIVE), ("I1",)),)
UNION: Elements = (("N", Union(cost=WORK + RECEIVE), ("I1", "I2")),)


def aggregate(window: int = 100, advance: int = 10) -> Elements:
    return (("N", Entrance(window=window, advance=advance, cost=WORK), ("I1",)),)


# ---- the core, with a phase of its own ---------------------------------------------------------------------


class Phased(Instance):
    """Periodic work is due at multiples of M on the node's own clock."""

    phase = 0

    def lead_tick(self, now: Millis) -> Commands:
        return super().lead_tick(Millis(now + self.phase))

    def follow_tick(self, now: Millis) -> Commands:
        return super().follow_tick(Millis(now + self.phase))


class PhasedUpstream(Phased, UpstreamBackup): ...


class PhasedActive(Phased, ActiveStandby): ...


class PhasedPassive(Phased, PassiveStandby): ...


def _build(setup: Setup, phases: Iterator[float]) -> Callable[[str, Wiring, Detector], Instance]:
    def make(name: str, wiring: Wiring, detector: Detector) -> Instance:
        if setup.approach == SAVEPOINT:
            return SavepointMode(name, wiring, detector)
        if setup.approach == REPLICA:
            return ReplicaBackup(name, wiring, detector, interval=setup.interval)
        core: PhasedUpstream | PhasedActive | PhasedPassive
        if setup.approach == UPSTREAM:
            core = PhasedUpstream(name, wiring, detector, interval=setup.interval, forward=setup.precise)
        elif setup.approach == ACTIVE:
            core = PhasedActive(name, wiring, detector, interval=setup.interval)
        else:
            core = PhasedPassive(name, wiring, detector, interval=setup.interval)
        core.phase = 0 if setup.approach == PASSIVE else int(setup.interval * next(phases))
        return core

    return make


# ---- one run -----------------------------------------------------------------------------------------------


class Watch(Monitor):
    """Times one recovery."""

    def __init__(self, world: World, *, live: bool) -> None:
        self.world = world
        self.live = live  # the secondary has the state; it has to send
        self.target: dict[str, int] = {}
        self.sent_before = 0
        self.detected: int | None = None
        self.recovered: int | None = None
        self.successor: Process | None = None

    def fails(self, primary: Process) -> None:
        first = next(iter(primary.elements.values()))
        self.target = dict(zip(first.inputs, first.positions, strict=True))
        self.sent_before = int(primary.core.ledger.queues[primary.core.wiring.leaving[0]].next)

    def suspected(self, process: Process, why: str) -> None:
        self.replacing(process.spec.name, why)

    def replacing(self, subjob: str, why: str) -> None:
        if self.target and self.detected is None and subjob == "N":
            self.detected = self.world.now

    def leads(self, process: Process, command: do.Lead) -> None:
        if self.target and process.spec.name == "N":
            self.successor = process

    def sent(self, process: Process, stream: str, stop: int, target: Endpoint) -> None:
        if process is not self.successor or self.recovered is not None:
            return
        if self.live and stop >= self.sent_before:
            self.recovered = self.world.network.links[process.host, target.host].free_at
        elif not self.live and self._reached(process):
            self.recovered = self.world.now

    def _reached(self, process: Process) -> bool:
        first = next(iter(process.elements.values()))
        return all(first.positions[i] >= self.target[s] for i, s in enumerate(first.inputs))


def run(setup: Setup, seed: int) -> tuple[float, float]:
    """One run: bandwidth overhead in percent, recovery time in milliseconds (of replicas: nothing is
    recreated)."""
    moment, *others = _spread(seed)
    phases = iter(others)
    world = World(seed, Network(DELAY, BANDWIDTH))
    world.lease_delay = 0
    flows = world.network.flows = {}
    live = setup.approach == ACTIVE
    watch = Watch(world, live=live)
    cluster = Cluster(
        world,
        watch,
        tick=MS,
        heartbeat=100 * MS,
        interval=setup.acks or setup.interval,
        redirect=REDIRECT - DELAY,
        batch=1,
        chunk=1,
    )
    cluster.tails = "trim"
    cluster.spares = 0  # N, its secondary, and nobody else
    cluster.deploy = 0  # an operator's replacement waits on its node
    cluster.presubscribe = live
    cluster.ask = REDIRECT if live and setup.precise else 0
    cluster.source_marks = int(setup.precise and setup.approach == UPSTREAM)
    node = SubjobSpec("N", setup.elements, _build(setup, phases), FAMILIES.get(setup.approach, "lease"))
    cluster.build(_sources(setup.inputs, setup.rate), [node], {"app": "N"})
    world.at(WARM, flows.clear)
    measured = WARM + max(4, 800 // setup.interval) * setup.interval * MS
    fail_at = measured + round(moment * setup.interval * MS)
    overhead: list[float] = []
    world.at(measured, lambda: overhead.append(_overhead(cluster)))
    if setup.approach == REPLICA:
        world.run(measured)
        return overhead[0], 0.0
    world.at(fail_at, _fail, cluster, watch)
    world.run(fail_at + 2 * SECOND, lambda: watch.recovered is not None)
    if watch.recovered is None or watch.detected is None:
        raise RuntimeError(f"no recovery within two seconds: {setup}")
    return overhead[0], (watch.recovered - watch.detected) / MS


def measure(setup: Setup, runs: int) -> tuple[list[float], list[float]]:
    found = [run(setup, seed) for seed in range(runs)]
    return [o for o, _ in found], [r for _, r in found]


def _sources(inputs: int, rate: int) -> list[SourceSpec]:
    every = SECOND * inputs // rate
    rows = ((0, 0),) * (8 * rate)
    return [SourceSpec(f"I{i + 1}", rows, every, phase=every * i // inputs) for i in range(inputs)]


def _spread(seed: int) -> list[float]:
    """Parts of an interval, spread evenly over the runs in three dimensions: of the failure, of both
    timers."""
    return [(0.5 + seed * step) % 1 for step in (0.8191725134, 0.6710436067, 0.5497004779)]


def _fail(cluster: Cluster, watch: Watch) -> None:
    primary = next(p for p in cluster.running["N"] if p.serving)
    watch.fails(primary)
    cluster.crash(primary, silent=True, restart=None)


def _overhead(cluster: Cluster) -> float:
    primary = next(p for p in cluster.running["N"] if p.serving)
    marks = (
        cluster.id_size * cluster.source_marks / (cluster.tuple_size + cluster.id_size * cluster.source_marks)
    )
    payload = extra = 0.0
    for (kind, source, target), size in (cluster.world.network.flows or {}).items():
        from_source = source.startswith("host-I")
        first = primary.host in (source, target)
        if kind == "tuples" and from_source and first:
            payload += size * (1 - marks)
            extra += size * marks
        elif (kind == "tuples" and not first) or (
            kind in ("acks", "checkpoints") and source.startswith("host-N")
        ):
            extra += size
    return 100 * extra / payload
