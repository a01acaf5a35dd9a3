"""Xiao et al. §III-E and F: where the replacement goes, CLEA against random choice, Figures 6 and 7.

Ten nodes: upstream, peer and downstream of the failed R, R itself, and six candidates. Every pair of nodes
has a delay of its own, uniform between nothing and twice the average.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from understudy.protocol.clea import Candidate, candidates, elect, network_cost
from understudy_lab.experiments.experiment import Experiment, Progress, rises
from understudy_lab.simulation.world import MS, SECOND, Network, World

RATE = 1_000
TARGETS = ("Ru", "R'", "Rd")  # of the failed R: upstream, peer, downstream
CANDIDATES = tuple(f"R{i}" for i in range(1, 7))
CLEA, RANDOM = "CLEA", "random"
COST, TIME = "network cost (tuples in flight)", "recovery time (ms)"
DRAWS = 40  # networks for each run asked for
NOTES = (
    "The delays of the candidates are 'different' in the paper, without figures: drawn for each pair of "
    "nodes, uniform "
    "between 0 and twice the average.",
    "Network cost counts the streams of the replacement: upstream to it and it to downstream.",
)


@dataclass(frozen=True)
class Nodes:
    latency: dict[tuple[str, str], float]  # milliseconds, the same in both directions

    @classmethod
    def drawn(cls, rng: random.Random, average: float) -> Nodes:
        names = (*TARGETS, *CANDIDATES)
        latency: dict[tuple[str, str], float] = {}
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                latency[a, b] = latency[b, a] = rng.uniform(0, 2 * average)
        return cls(latency)

    def measured(self) -> tuple[Candidate, ...]:
        return candidates(CANDIDATES, frozenset(TARGETS), self.latency, TARGETS)

    def cost(self, node: str) -> float:
        return network_cost(RATE, (self.latency["Ru", node] + self.latency[node, "Rd"]) / 1_000)


def figure6(progress: Progress, runs: int) -> Experiment:
    title = "Network cost of the replacement (Xiao, Figure 6)"
    found = Experiment("xiao-figure6", title, notes=list(NOTES), x="average server delay (ms)")
    for average in (5.6, 11.3, 17.0, 22.7, 34.0, 45.3, 56.7):
        progress(f"{average} ms")
        drawn = [_draw(average, seed) for seed in range(runs * DRAWS)]
        found.add(CLEA, average, COST, None, [n.cost(elect(n.measured()) or "") for n, _ in drawn])
        found.add(RANDOM, average, COST, None, [n.cost(rng.choice(CANDIDATES)) for n, rng in drawn])
    clea, anywhere = found.series(CLEA, COST), found.series(RANDOM, COST)
    found.check(
        "random choice costs more than CLEA at every delay",
        all(r > c for r, c in zip(anywhere, clea, strict=True)),
    )
    found.check("both grow with the delay", rises(clea) and rises(anywhere))
    found.check("random choice grows faster", anywhere[-1] - anywhere[0] > clea[-1] - clea[0])
    return found


def figure7(progress: Progress, runs: int) -> Experiment:
    title = "Recovery time of the replacement (Xiao, Figure 7)"
    found = Experiment("xiao-figure7", title, notes=list(NOTES), x="average server delay (ms)")
    found.notes.append(
        "Recovery time is the paper's: from the notification of R'u until the new operator has received a "
        "tuple. Each "
        "candidate sends one ping to each of the three targets, one after another. The paper has CLEA slower "
        "by 'over "
        "0.4 s' at every delay, which is more than the messages of Algorithm 1 take; how often and how far "
        "apart it "
        "pings is not said. The ordering is what is compared."
    )
    for average in (5.6, 11.3, 17.0, 22.7, 28.3):
        progress(f"{average} ms")
        drawn = [_draw(average, seed) for seed in range(runs * DRAWS)]
        found.add(CLEA, average, TIME, None, [Election(n, rng).central() for n, rng in drawn])
        found.add(RANDOM, average, TIME, None, [Election(n, rng).at_random() for n, rng in drawn])
    clea, anywhere = found.series(CLEA, TIME), found.series(RANDOM, TIME)
    found.check(
        "CLEA takes longer than random choice at every delay",
        all(c > r for c, r in zip(clea, anywhere, strict=True)),
    )
    return found


def _draw(average: float, seed: int) -> tuple[Nodes, random.Random]:
    rng = random.Random(seed)
    return Nodes.drawn(rng, average), rng


class Election:
    """The messages of Algorithm 1 between the upstream operator, the candidates and the targets."""

    def __init__(self, nodes: Nodes, rng: random.Random) -> None:
        far = {pair: round(ms * MS) for pair, ms in nodes.latency.items()}
        self.world, self.nodes, self.rng = World(0, Network(far=far)), nodes, rng
        self.reports: list[str] = []
        self.received = 0

    def central(self) -> float:
        """Lines 2 to 9: inform the free operators, let each measure and report, choose the least."""
        for node in CANDIDATES:
            self._send("Ru", node, self._measure, node, TARGETS)
        return self._run()

    def at_random(self) -> float:
        self._deploy(self.rng.choice(CANDIDATES))
        return self._run()

    def _measure(self, node: str, left: tuple[str, ...]) -> None:
        if not left:
            self._send(node, "Ru", self._reported, node)
            return
        self._send(node, left[0], self._pong, node, left)

    def _pong(self, node: str, left: tuple[str, ...]) -> None:
        self._send(left[0], node, self._measure, node, left[1:])

    def _reported(self, node: str) -> None:
        self.reports.append(node)
        if len(self.reports) == len(CANDIDATES):
            self._deploy(elect(self.nodes.measured()) or node)

    def _deploy(self, node: str) -> None:
        """Tell the operator, which asks for the stream; then its first tuple."""
        self._send("Ru", node, self._send, node, "Ru", self._send, "Ru", node, self._received)

    def _received(self) -> None:
        self.received = self.world.now

    def _send(self, source: str, target: str, act: Callable[..., None], *args: object) -> None:
        self.world.send("control", source, target, 0, act, *args)

    def _run(self) -> float:
        self.world.run(60 * SECOND)
        return self.received / MS
