"""The central leader election algorithm (Xiao, Algorithm 1)."""

from __future__ import annotations

import random
from itertools import permutations
from statistics import mean

from understudy.protocol.clea import candidates, elect, network_cost

TARGETS = ("upstream", "peer", "downstream")


def latencies(nodes: list[str], rng: random.Random) -> dict[tuple[str, str], float]:
    return {pair: rng.uniform(5.6, 56.7) for pair in permutations([*nodes, *TARGETS], 2)}


def test_the_node_of_least_mean_latency_is_elected() -> None:
    latency = {(n, t): ms for n, row in {"x": (9, 9, 9), "y": (1, 2, 3), "z": (1, 1, 30)}.items() for t, ms in
               zip(TARGETS, row, strict=True)}  # fmt: skip
    assert elect(candidates(["x", "y", "z"], frozenset(), latency, TARGETS)) == "y"


def test_a_node_that_carries_the_stream_is_no_candidate() -> None:
    latency = {(n, t): ms for n, ms in {"x": 9.0, "y": 1.0}.items() for t in TARGETS}
    assert elect(candidates(["x", "y"], frozenset({"y"}), latency, TARGETS)) == "x"
    assert elect(candidates(["x", "y"], frozenset({"x", "y"}), latency, TARGETS)) is None


def test_it_never_costs_more_than_a_random_placement_does_on_average() -> None:
    rng = random.Random(7)
    nodes = [f"n{i}" for i in range(8)]
    for _ in range(50):
        measured = candidates(nodes, frozenset({"n0"}), latencies(nodes, rng), TARGETS)
        costs = {c.node: network_cost(1_000, c.mean) for c in measured}
        elected = elect(measured)
        assert elected is not None
        assert costs[elected] == min(costs.values())
        assert costs[elected] < mean(costs.values())
