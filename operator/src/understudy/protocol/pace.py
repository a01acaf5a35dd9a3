"""How long a replay takes, estimated from the cost of recent micro-batches.

A micro-batch costs a fixed time and a time for each tuple. A busy machine only adds to that, so the fastest
of the small micro-batches and the fastest of the large ones show the two costs. If all have the same size, a
replay is estimated to cost as much as one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

Cost = tuple[int, int]  # tuples of a micro-batch, its milliseconds


def replay_ms(lately: Sequence[Cost], tuples: int) -> float:
    """The time to replay so many tuples, in as few micro-batches as possible."""
    if not lately or tuples <= 0:
        return 0.0
    typical = median(ms for _, ms in lately)
    return float(typical + per_tuple_ms(lately) * tuples)


def per_tuple_ms(lately: Sequence[Cost]) -> float:
    by_size = sorted(lately)
    half = len(by_size) // 2
    if not half:
        return 0.0
    small, large = _fastest(by_size[:half]), _fastest(by_size[half:])
    return max(0.0, (large[1] - small[1]) / (large[0] - small[0])) if large[0] > small[0] else 0.0


def _fastest(costs: Sequence[Cost]) -> Cost:
    """The cheapest micro-batch; of several with the same time, the one with most tuples."""
    return min(costs, key=lambda cost: (cost[1], -cost[0]))
