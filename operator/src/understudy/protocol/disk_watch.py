"""How to detect that the disk of a sink has stalled.

A sink asks its disk for small steps: a look at the folder, a rename, a few MiB to write or to sync. A slow
disk finishes them; a step that runs for STALLED_MS hangs. Time in which the watch itself did not run counts
only a little: then the whole process was stopped, and the step may finish in a moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from understudy.protocol.ids import Millis

STALLED_MS: Final = 10_000
LONGEST_LOOK_MS: Final = 1_000  # between two looks; more does not count


@dataclass(frozen=True, slots=True)
class DiskWatch:
    looked: Millis | None = None
    waited: Mapping[int, int] = field(default_factory=dict)
    """For each running step: for how many milliseconds it has been observed."""
    stalled: str | None = None
    """Why the sink counts as failed: a sentence from the moment of detection. None while its steps end."""

    def look(self, now: Millis, steps: Mapping[int, str]) -> DiskWatch:
        """Judges the disk. `steps`: the steps that run now, each with its own number."""
        passed = min(max(0, now - self.looked), LONGEST_LOOK_MS) if self.looked is not None else 0
        waited = {number: self.waited[number] + passed if number in self.waited else 0 for number in steps}
        longest = max(waited, key=waited.__getitem__, default=None)
        if longest is None or waited[longest] < STALLED_MS:
            return DiskWatch(now, waited)
        why = f"{steps[longest]} did not end within {STALLED_MS // 1000} s"
        return DiskWatch(now, waited, self.stalled or why)
