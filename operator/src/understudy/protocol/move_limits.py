"""How long a planned move may take, from its start until it is given up, wherever the job runs.

The process that deploys the job (the operator, `understudy run`, the simulated control plane) is called the
*deployer* here. It names the target in the Lease, as the successor, and counts the time. A move is given up
in this sequence:

1. The limit has passed, or the target is lost. The deployer takes the successor out of the Lease, if the
   Lease still names this successor and its holder is still the source.
2. If the deployer did not succeed because the target holds the Lease: the move has taken place, and is
   reported as done.
3. If it succeeded:
   - the deployer reports that the move has failed;
   - the target can't take the Lease, because it takes the Lease only while it is named there;
   - the source sees the change when it next reads the Lease, and continues where it paused. After a hand-over
     it first takes the Lease again, so that the state that it gave away is no longer valid.
"""

from __future__ import annotations

from typing import Final

PATIENCE: Final = 10
"""Times τ that a target has for each phase. Then the source continues to process; it tries again as long as
the Lease names the target."""
START_MS: Final = 240_000
"""To start a new instance: a pod, a cold Spark session (under a minute on a machine of its own), and the
warm-up."""
HAND_OVER_MS: Final = 60_000
"""For the rest: reading the Lease (every second), the running micro-batch, the phases, and several
attempts."""
LIMIT_MS: Final = START_MS + HAND_OVER_MS


def is_late_to_begin(ordered_ms: int, now_ms: int) -> bool:
    """Whether an order that no instance has begun is taken back: long enough before it is reported as
    failed."""
    return now_ms - ordered_ms >= START_MS


def is_overdue(began_ms: int, now_ms: int) -> bool:
    return now_ms - began_ms >= LIMIT_MS


def too_late() -> str:
    return f"it had not taken place after {LIMIT_MS // 1000} s"
