"""Koldehofe et al. §8.1: what savepoints cost while nothing fails, Figures 10 to 12.

Event-based simulation without the influence of a network, as in the paper: what counts is what is sent and
kept. Every correlation step takes ten new events from the incoming streams and makes one; the consumer acks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean

from understudy.modes.instance import Instance
from understudy.modes.savepoint import SavepointMode
from understudy.modes.sink_client import Client
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.commands import Commands
from understudy.protocol.detector import Detector
from understudy.protocol.events import Event
from understudy.protocol.ledger import Wiring
from understudy_lab.experiments.experiment import Experiment, Progress, falls, rises
from understudy_lab.simulation.cluster import Cluster, Monitor, Source
from understudy_lab.simulation.made_up_operators import Operator, Read, Row
from understudy_lab.simulation.process import Process
from understudy_lab.simulation.specs import Build, SourceSpec, SubjobSpec
from understudy_lab.simulation.world import MS, SECOND, Network, World

EVENT = 16  # bytes
STEP = 10  # new events for each correlation step
EVERY = MS  # a source makes an event
MINUTES = 5
ROLLBACK, REPLICATION = "rollback-recovery", "active replication"
SENT = "sent besides the events in 5 minutes (MB)"
LIFETIME = "lifetime of events at the source (ms)"
KEPT, ACKS = "greatest output queue at a source (events)", "sent for ACKs in 5 minutes (MB)"
NOTES = (
    "The paper plots curves and gives no table: there are only trends and orderings to compare.",
    "Ten new events make one, from all incoming streams in turn, in Figures 10 and 12 as in Figure 11: "
    "§8.3.1 says "
    "that with more sources fewer events of each go into a complex event.",
    "The simulated time is shorter; what is sent is scaled to five minutes. Rates are constant.",
    "Depth 3 is three levels of operators: n² leaves with a source each, n, and the root.",
)


@dataclass(frozen=True, slots=True)
class Correlate(Operator):
    """Takes events from its inputs in turn; every tenth ends a step, which consumes its selection and emits
    one."""

    kind: str = "deterministic"

    def next_input(self, positions: Sequence[int], stops: Sequence[int], ended: Sequence[bool]) -> int | None:
        turn = sum(positions) % self.arity
        return turn if positions[turn] < stops[turn] else None

    def take(self, i: int, positions: Sequence[int], read: Read, choice: int) -> list[Row]:
        return [(0, 0)] if sum(positions) % STEP == STEP - 1 else []

    def selection(self, positions: Sequence[int]) -> tuple[int, ...]:
        """Where the step under way began."""
        first = sum(positions) // STEP * STEP
        return tuple((first - i + self.arity - 1) // self.arity for i in range(self.arity))


class Consumer(Client):
    """Acks each `every`-th event that it receives."""

    def __init__(self, name: str, wiring: Wiring, detector: Detector, *, every: int) -> None:
        super().__init__(name, wiring, detector, interval=0)
        self.every = every

    def handle(self, event: Event) -> Commands:
        taken = super().handle(event)
        if not isinstance(event, on.Arrived) or event.range.stop % self.every:
            return taken
        return (*taken, do.SendAck(event.stream, 1, event.range.stop))

    def lead_tick(self, now: object) -> Commands:
        return ()


# ---- one run -----------------------------------------------------------------------------------------------


@dataclass
class Books(Monitor):
    """When a source's events were made and released, and how many it kept."""

    made: dict[str, deque[int]] = field(default_factory=dict)
    lifetimes: list[float] = field(default_factory=list)
    longest: int = 0
    released: dict[str, int] = field(default_factory=dict)

    def trimmed(self, process: Process, command: do.Trim) -> None:
        if not isinstance(process, Source):
            return
        now, before = process.world.now, self.released.get(process.name, 0)
        phase = process.spec.phase
        self.lifetimes += [(now - phase - n * EVERY) / MS for n in range(before, command.upto)]
        self.released[process.name] = max(before, int(command.upto))
        self.longest = max(self.longest, now // EVERY - before)


@dataclass(frozen=True)
class Found:
    acks: int  # bytes
    events: int  # bytes
    lifetimes: list[float]
    kept: int


def run(topology: Sequence[SubjobSpec], sources: int, millis: int, every: int = 1) -> Found:
    world = World(0, Network(0))
    books = Books()
    cluster = Cluster(
        world, books, tick=SECOND, heartbeat=SECOND, batch=1, chunk=1, tuple_size=EVENT, id_size=4
    )
    cluster.tails = "trim"
    rows = ((0, 0),) * (millis + 1)
    consumer = SubjobSpec(
        "C", (("C", Operator(cost=0), (topology[-1].name,)),), _consumer(every), "sink", replicas=1
    )
    cluster.build(
        [SourceSpec(f"s{i}", rows, EVERY, phase=EVERY * i // sources) for i in range(sources)],
        [*topology, consumer],
        {},
    )
    world.run(millis * MS)
    sent = world.network.bytes
    return Found(sent.get("acks", 0), sent["tuples"], books.lifetimes, books.longest)


def _consumer(every: int) -> Build:
    def make(name: str, wiring: Wiring, detector: Detector) -> Instance:
        return Consumer(name, wiring, detector, every=every)

    return make


def _operator(name: str, inputs: Sequence[str]) -> SubjobSpec:
    correlate = Correlate(arity=len(inputs), cost=0)
    return SubjobSpec(name, ((name, correlate, tuple(inputs)),), SavepointMode, "savepoint")


def tree(n: int) -> list[SubjobSpec]:
    """Leaves, then their parents, then the root."""
    leaves = [_operator(f"leaf{i}", [f"s{i}"]) for i in range(n * n)]
    middle = [_operator(f"mid{i}", [f"leaf{i * n + j}" for j in range(n)]) for i in range(n)]
    return [*leaves, *middle, _operator("root", [f"mid{i}" for i in range(n)])]


def chain(length: int) -> list[SubjobSpec]:
    names = ["s0", *(f"o{i}" for i in range(length))]
    return [_operator(name, [before]) for before, name in pairwise(names)]


def _in_five_minutes(size: int, millis: int) -> float:
    return size / 1e6 * MINUTES * 60_000 / millis


# ---- the figures -------------------------------------------------------------------------------------------


def figure10(progress: Progress, runs: int, widest: int = 5) -> Experiment:
    title = "Run-time overhead of rollback-recovery and replication (Koldehofe, Figure 10)"
    found = Experiment("koldehofe-figure10", title, notes=list(NOTES), x="n of the n-ary tree")
    for n in range(1, widest + 1):
        progress(f"n = {n}")
        millis = 4_000 if n == 1 else 2_000  # with one source, a complex event takes a second
        one = run(tree(n), n * n, millis)
        found.add(ROLLBACK, n, SENT, None, [_in_five_minutes(one.acks, millis)])
        found.add(REPLICATION, n, SENT, None, [_in_five_minutes(one.events, millis)])
    judge_figure10(found)
    found.notes.append(
        "Replication of factor 2 with one leader sends every event once more, as in the paper."
    )
    return found


def judge_figure10(found: Experiment) -> None:
    rollback, replication = found.series(ROLLBACK, SENT), found.series(REPLICATION, SENT)
    found.check(
        "rollback-recovery sends less at every n",
        all(a < b for a, b in zip(rollback, replication, strict=True)),
    )
    found.check("both grow with n", rises(rollback) and rises(replication))
    found.check(
        "rollback-recovery grows faster than replication",
        rollback[-1] / rollback[0] > replication[-1] / replication[0],
    )


def figure11(progress: Progress, runs: int, longest: int = 4) -> Experiment:
    title = "Lifetime of events at the source (Koldehofe, Figure 11)"
    found = Experiment("koldehofe-figure11", title, notes=list(NOTES), x="sequential operators")
    for length in range(1, longest + 1):
        progress(f"{length}")
        one = run(chain(length), 1, 4 * STEP**length)
        found.add("mean", length, LIFETIME, None, [fmean(one.lifetimes)])
        found.add("longest", length, LIFETIME, None, [max(one.lifetimes)])
    found.check("events live longer the more operators follow", rises(found.series("mean", LIFETIME)))
    return found


def figure12(progress: Progress, runs: int, frequencies: Sequence[int] = (1, 2, 4, 6, 8, 10)) -> Experiment:
    title = "Influence of the ACK frequency (Koldehofe, Figure 12)"
    found = Experiment("koldehofe-figure12", title, notes=list(NOTES), x="the consumer acks every … events")
    millis = 750 * max(frequencies)  # a complex event comes every 250 ms: three of the rarest ACKs
    for every in frequencies:
        progress(f"every {every}")
        one = run(tree(2), 4, millis, every)
        found.add("source", every, KEPT, None, [one.kept])
        found.add("network", every, ACKS, None, [_in_five_minutes(one.acks, millis)])
    kept, acks = found.series("source", KEPT), found.series("network", ACKS)
    found.check("the fewer ACKs, the longer the queue at the source", rises(kept))
    found.check("linearly", 0.6 < (kept[-1] / kept[0]) / (frequencies[-1] / frequencies[0]) < 1.4)
    found.check("the fewer ACKs, the less is sent", falls(acks))
    return found
