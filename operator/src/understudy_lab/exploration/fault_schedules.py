"""Fault exploration: random jobs, random fault schedules, an oracle, and the shortest schedule that still
fails.

The faults (the nemesis): crashes of a primary or a standby, at once in several subjobs, one after the other
along the stream, during recovery, checkpoint and rejoin; partitions, delays and pauses (which make false
suspicions); restarts of the control plane; an unreachable Lease store. Some seeds have weather, too
(`weather`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from understudy.control.planned_move import Where
from understudy.protocol.failures import LoadWatch
from understudy_lab.exploration.fault import Fault
from understudy_lab.exploration.history import Timed
from understudy_lab.exploration.networks import INTERVAL, Cores, draw
from understudy_lab.exploration.oracle import Oracle
from understudy_lab.exploration.recorder import Recorder, measured
from understudy_lab.exploration.stillness import WINDOW
from understudy_lab.exploration.weather import Weather, forecast
from understudy_lab.simulation.cluster import Cluster
from understudy_lab.simulation.process import Process
from understudy_lab.simulation.specs import Job
from understudy_lab.simulation.world import MS, SECOND, Network, World

LIMIT = 12 * SECOND
QUIET = 3 * SECOND  # from the end of the last fault until all subjobs are protected again
# The same where there are replicas: one that joins has 100 τ to confirm the state it was given
JOINING = 12 * SECOND
AFTERWARDS = 60  # milliseconds after the end of the last source in which faults still happen
KINDS = (
    *("crash",) * 3,
    "standby",
    "together",
    "cascade",
    "again",
    "gone",
    "partition",
    *("apart",) * 2,
    "apart again and again",
    "link",
    *("link, then crash",) * 2,
    "pause",
    "slow",
    "overload",
    "lease",
    "control",
    *("migrate",) * 2,
    "migrate, source dies",
    "migrate, target dies",
    "migrate, control plane restarts",
    "migrate, Lease store unreachable",
)
HARMLESS = frozenset(
    (
        *("control", "clock", "paused sink", "paused control", "order"),
        *(kind for kind in KINDS if kind.startswith("migrate")),
    )
)
"""What makes nobody fail, or look as if it had. What dies in the middle of a move is seen to die."""
EVERYWHERE = frozenset(("lease", "migrate, Lease store unreachable"))
WITH_SINK = "with its sink"  # drawn by `absence`
ORDERS = ("order", "order, target stops", "order, target is cut off")
"""Moves that are given up at a moment that is chosen: no part of a random schedule."""
DELAYING = (
    WITH_SINK,
    "partition",
    "apart",
    "apart again and again",
    "link",
    "link, then crash",
    "pause",
    "slow",
    *ORDERS,
)


@dataclass
class Outcome:
    seed: int
    problems: list[str]
    faults: list[Fault]
    job: Job
    weather: bool = False
    history: list[str] = field(default_factory=list)
    moves: list[str | None] = field(default_factory=list)  # how the ordered ones ended
    exceeded: bool = False
    reports: tuple[int, int] = (0, 0)  # inputs of which a loss was reported; in vain
    observed: Sequence[Timed] = ()  # all that the oracle judged from


def schedule(rng: random.Random, job: Job) -> list[Fault]:
    names = [s.name for s in job.subjobs]
    last = max(s.lasts for s in job.sources) // MS + AFTERWARDS
    faults = []
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 4))):
        kind = rng.choice(KINDS)
        at, lasts = rng.randrange(5, last) * MS, rng.randrange(30, 260) * MS
        name = rng.choice(names)
        other = ""
        if kind in ("together", "cascade"):
            near = [s.name for s in job.subjobs if any(i in s.inputs for i in (name,))]
            other = rng.choice(near or names)
        elif kind.startswith("link"):
            other = rng.choice(next(s for s in job.subjobs if s.name == name).inputs)
        elif kind.startswith("migrate") and rng.random() < 0.5:
            other = "another node"
        faults.append(Fault(at, kind, name, lasts, rng.random() < 0.5, other))
    return sorted(faults, key=lambda f: f.at)


class Nemesis:
    def __init__(self, cluster: Cluster, faults: list[Fault], weather: Weather) -> None:
        self.cluster, self.world, self.weather = cluster, cluster.world, weather
        for fault in faults:
            self.world.at(fault.at, self._act, fault)

    def _act(self, fault: Fault) -> None:
        self.world.note(f"fault: {str(fault)[12:]}")
        self._tell(fault)
        if self.weather.brings(fault):
            return
        kind, _, during = fault.kind.partition(", ")
        match kind:
            case "crash":
                self._kill(fault, fault.subjob)
            case "standby":
                self._kill(fault, fault.subjob, standby=True)
            case "together":
                self._kill(fault, fault.subjob)
                self._kill(fault, fault.other)
            case "with its sink":
                self._kill(fault, fault.subjob, restart=100 * MS)
                self._cut([(self.cluster.sinks[fault.other].host, "*")], fault.lasts)
            case "cascade":
                self._kill(fault, fault.subjob)
                self.world.at(fault.lasts // 4, self._kill, fault, fault.other)
            case "again":
                self._kill(fault, fault.subjob)
                self.world.at(fault.lasts, self._kill, fault, fault.subjob)
                self.world.at(3 * fault.lasts, self._kill, fault, fault.subjob)
            case "gone":
                for process in self._processes(fault.subjob)[: 1 + fault.silent]:
                    self.cluster.crash(process, fault.silent, None)
            case "migrate":
                self._migrate(fault, during)
            case "order":
                self._order(fault, during)
            case "lease":
                self._lease_down(fault.lasts)
            case "control":
                self._control_down(fault.lasts)
            case "link":
                self._unlink(fault)
                if during:
                    self.world.at(fault.lasts // 2, self._kill, fault, fault.subjob)
            case "apart":
                self._apart(fault.subjob, fault.lasts)
            case "apart again and again":
                for n in range(3):
                    self.world.at(2 * n * fault.lasts, self._apart, fault.subjob, fault.lasts)
            case _:
                self._hamper(fault)

    def _tell(self, fault: Fault) -> None:
        """What the oracle may hold for a cause."""
        if fault.kind in EVERYWHERE or fault.kind not in HARMLESS:
            touches = () if fault.kind in EVERYWHERE else tuple(n for n in (fault.subjob, fault.other) if n)
            self.cluster.monitor.disturbed(fault.kind, touches, fault.over)

    def _apart(self, subjob: str, lasts: int) -> None:
        """The instances of a subjob can't reach each other, everybody else reaches both: each suspects the
        other."""
        self._cut(pairwise([p.host for p in self._processes(subjob)]), lasts)

    def _unlink(self, fault: Fault) -> None:
        """A subjob does not reach one of its producers, and is not heard by it."""
        readers = self._processes(fault.subjob)
        links = ((r.host, p.host) for r in readers for p in self.cluster.producers(fault.other, r))
        self._cut(links, fault.lasts)

    def _cut(self, links: Iterable[tuple[str, str]], lasts: int) -> None:
        network = self.world.network
        for link in links:
            network.cut.add(link)
            self.world.at(lasts, network.cut.discard, link)

    def _hamper(self, fault: Fault) -> None:
        """The first of a subjob lives, but is cut off, stopped, far away or slow for a while."""
        network = self.world.network
        for process in self._processes(fault.subjob)[:1]:
            match fault.kind:
                case "partition":
                    cut = (process.host, "*")
                    network.cut.add(cut)
                    self.world.at(fault.lasts, network.cut.discard, cut)
                case "pause":
                    process.paused = max(process.paused, self.world.now + fault.lasts)
                case "slow":
                    network.slow[process.host] = 40 * MS + fault.lasts // 2
                    self.world.at(fault.lasts, self._at_speed, process.host)
                case "overload":
                    process.computing.slowdown = 2_000
                    self.world.at(5 * fault.lasts, process.computing.relieve)

    def _migrate(self, fault: Fault, during: str) -> None:
        """A planned move, and what happens in the middle of it."""
        found = self._processes(fault.subjob)
        soon = fault.lasts // 4
        where = Where.NEW if fault.other else Where.ANYWHERE
        self.cluster.control.migrate(fault.subjob, "planned", where)
        match during:
            case "source dies" if found:
                self.world.at(soon, self.cluster.crash, found[0], fault.silent, fault.lasts)
            case "target dies":
                self.world.at(soon, self._kill, fault, fault.subjob, True)
            case "control plane restarts":
                self._control_down(fault.lasts)
            case "Lease store unreachable":
                self.world.at(soon // 4, self._lease_down, fault.lasts)
            case _:
                pass

    def _order(self, fault: Fault, during: str) -> None:
        """A planned move by the Lease that is given up soon, and what happens to its target meanwhile."""
        self.cluster.orders.order(fault.subjob, limit=fault.lasts)
        for target in self._processes(fault.subjob)[1:2]:
            if during == "target stops":
                target.paused = max(target.paused, self.world.now + 2 * fault.lasts)
            elif during == "target is cut off":
                self._cut([(target.host, "*")], 2 * fault.lasts)

    def _lease_down(self, lasts: int) -> None:
        self.world.lease_down = True
        self.world.at(lasts, self._lease_up)

    def _control_down(self, lasts: int) -> None:
        self.cluster.control_down = True
        self.world.at(lasts, self._control_up)

    def _lease_up(self) -> None:
        self.world.lease_down = False

    def _at_speed(self, host: str) -> None:
        self.world.network.slow.pop(host, None)

    def _control_up(self) -> None:
        self.cluster.control_down = False

    def _processes(self, subjob: str) -> list[Process]:
        """The living, those that serve first."""
        living = [p for p in self.cluster.running[subjob] if p.alive]
        return sorted(living, key=lambda p: (not p.serving, p.name))

    def _kill(self, fault: Fault, subjob: str, standby: bool = False, restart: int | None = None) -> None:
        found = self._processes(subjob)
        if standby:
            found = found[1:]
        if found:
            self.cluster.crash(found[0], fault.silent, restart or fault.lasts)


def run(
    seed: int,
    cores: Cores | None = None,
    only: str | None = None,
    faults: list[Fault] | None = None,
    tell: bool = False,
    weather: bool = False,
) -> Outcome:
    """`weather` is drawn apart: with it, a seed has the same job and the same other faults as without."""
    rng = random.Random(seed)
    job = draw(rng, cores or Cores(), only)
    drawn = schedule(rng, job)
    if weather:
        drawn = sorted([*drawn, *forecast(seed, job)], key=lambda f: f.at)
    network = Network(rng.randrange(1, 8) * MS, None, jitter=rng.randrange(1, 6) * MS)
    world = World(seed, network)
    if tell:
        world.history = []
    oracle, recorder = Oracle(job), Recorder(world)
    faults = drawn if faults is None else faults
    cluster = Cluster(world, recorder, tick=20 * MS, interval=INTERVAL)
    cluster.lossy = weather or any(f.kind in DELAYING for f in faults)
    cluster.batch = rng.choice((1, 3, 1000))
    cluster.chunk = rng.choice((2, 1000))
    cluster.deploy = rng.randrange(10, 60) * MS
    cluster.spares = rng.choice((0, 1, 2, 1_000))
    cluster.load = LoadWatch(8, 3, 50) if rng.random() < 0.5 else None
    sky = Weather(cluster, seed)
    cluster.weather = sky if weather else None
    cluster.build(job.sources, job.subjobs, job.sinks)
    Nemesis(cluster, faults, sky)
    try:
        world.run(LIMIT, lambda: cluster.finished)
        finished = cluster.finished
        if finished:
            world.run(max([world.now, *(f.over for f in faults)]))
            for text in _until_quiet(cluster, recorder, oracle):
                oracle.problem(text)
    except Exception as error:  # a broken core may do anything: that is a finding too
        oracle.problem(f"{type(error).__name__}: {error}")
        finished = cluster.finished
    oracle.look(recorder.history)
    problems = oracle.judge(finished, measured(cluster))
    history, ended = world.history or [], [move.ended for move in cluster.orders.moves]
    exceeded = bool(oracle.exceeded)
    return Outcome(
        seed, problems, faults, job, weather, history, ended, exceeded, oracle.reports, recorder.history
    )


def _until_quiet(cluster: Cluster, recorder: Recorder, oracle: Oracle) -> list[str]:
    """All has arrived: queues must become short and subjobs protected, though rejoins may take their time.
    Says which do not."""
    world = cluster.world
    replicas = any(spec.mode == "replicaBackup" for spec in cluster.subjobs.values())
    patience = world.now + (JOINING if replicas else QUIET)
    while world.now < patience:
        recorder.count(cluster)
        world.run(world.now + WINDOW * MS)
        oracle.look(recorder.history)
        stillness = oracle.stillness([*measured(cluster), *recorder.count(cluster)])
        found = [
            *stillness.long_queues(),
            *stillness.unprotected(),
            *stillness.restless(),
            *oracle.causes.open_moves(),
        ]
        if not found:
            break
    return found


def shrink(seed: int, cores: Cores | None = None, only: str | None = None, weather: bool = False) -> Outcome:
    """Leave out faults, one after the other, as long as something still goes wrong."""
    found = run(seed, cores, only, weather=weather)
    faults = list(found.faults)
    for fault in list(faults):
        fewer = [f for f in faults if f is not fault]
        if run(seed, cores, only, fewer, weather=weather).problems:
            faults = fewer
    return run(seed, cores, only, faults, tell=True, weather=weather)


def tale(outcome: Outcome) -> str:
    sky = " with weather" if outcome.weather else ""
    lines = [
        f"seed {outcome.seed}{sky}",
        outcome.job.describe(),
        "faults:",
        *(f"  {f}" for f in outcome.faults),
    ]
    return "\n".join([*lines, "what happened:", *outcome.history, "what is wrong:", *outcome.problems])


def story(seed: int, only: str | None = None, weather: bool = False) -> str:
    return tale(run(seed, None, only, tell=True, weather=weather))
