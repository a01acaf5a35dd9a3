"""How long a planned move may take, from its start to the moment at which it is given up, wherever the job runs.

Whoever deploys the job (the operator, `understudy run`, the simulated control plane) names the target in the Lease, as
the successor, and counts the time. The sequence of a move that is given up:

| step | by | then |
|---|---|---|
| the limit has passed, or the target is lost | the deployer | it takes the successor out of the Lease, if the Lease still names that one and its holder still is the source |
| that did not succeed, the target holds the Lease | the deployer | the move has taken place, and is reported as done |
| the successor is gone | the deployer | it reports that the move has failed |
| the same | the target | can't take the Lease: it takes it only while the Lease names it |
| the same, seen at the next look at the Lease | the source | goes on where it stood still; after a hand-over it first takes the Lease again, so that the state it gave away counts for nothing |
"""  # noqa: E501

from __future__ import annotations

from typing import Final

PATIENCE: Final = 10
"""Times τ that a target has for each phase. Then the source goes on; it tries again while the Lease names
it."""
START_MS: Final = 240_000
"""For a new instance: a pod, a cold Spark session (under a minute on a machine of its own), its rehearsal."""
HAND_OVER_MS: Final = 60_000
"""For the rest: the look at the Lease (every second), the micro-batch under way, the phases, and several
attempts."""
LIMIT_MS: Final = START_MS + HAND_OVER_MS


def is_late_to_begin(ordered_ms: int, now_ms: int) -> bool:
    """Whether an order that nobody has begun is taken back, long enough before it is reported as failed."""
    return now_ms - ordered_ms >= START_MS


def is_overdue(began_ms: int, now_ms: int) -> bool:
    return now_ms - began_ms >= LIMIT_MS


def too_late() -> str:
    return f"it had not taken place after {LIMIT_MS // 1000} s"
