"""Where a replacement runs: the central leader election algorithm (Xiao, Algorithm 1).

Candidates are the nodes that do not carry the stream. Each measures its latency to the upstream, peer and
downstream of the failed replica; the upstream chooses the candidate with the least mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Candidate:
    node: str
    latencies: tuple[float, ...]  # to upstream, peer and downstream of the failed replica

    @property
    def mean(self) -> float:
        return sum(self.latencies) / len(self.latencies)


def candidates(
    nodes: Sequence[str],
    carrying: frozenset[str],
    latency: Mapping[tuple[str, str], float],
    targets: Sequence[str],
) -> tuple[Candidate, ...]:
    """Every free node with the latencies that it measured (lines 3 to 8)."""
    free = (n for n in nodes if n not in carrying)
    return tuple(Candidate(n, tuple(latency[n, t] for t in targets)) for n in free)


def elect(measured: Sequence[Candidate]) -> str | None:
    """The node with the least mean latency (line 9), by name among equals; None if no node is free."""
    best = min(measured, key=lambda c: (c.mean, c.node), default=None)
    return best.node if best else None


def network_cost(rate: float, latency: float) -> float:
    """Cost of a stream: its rate times its latency (Xiao §III-E)."""
    return rate * latency
