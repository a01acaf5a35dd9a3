"""How long a replay takes, by what micro-batches have cost lately.

A micro-batch costs a fixed time and a time for each tuple. A busy machine only ever adds to that, so the
fastest of the small and the fastest of the large ones tell the two apart. Where all are alike, a replay costs
what one of them does.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

Cost = tuple[int, int]  # tuples of a micro-batch, its milliseconds


def replay_ms(lately: Sequence[Cost], tuples: int) -> float:
    """Of so many tuples, in as few micro-batches as they fit into."""
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
    """The least time, and of those that took it the one with most tuples."""
    return min(costs, key=lambda cost: (cost[1], -cost[0]))
