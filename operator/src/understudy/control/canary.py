"""Whether the watch on one kind of object still works: an object that a list shows must also have been
reported by the watch, at once or soon.

The operator looks at a running job regularly, so a broken watch would hide only new and edited jobs. So the
operator lists them from time to time and compares the list with what the watch reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

PATIENCE: Final = 3  # looks in a row

Key = tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True, slots=True)
class Canary:
    unheard: Mapping[Key, int] = field(default_factory=dict)
    """Job → in how many looks in a row the watch had not reported its newest generation."""

    def look(self, listed: Mapping[Key, int], heard: Mapping[Key, int]) -> Canary:
        """`listed` and `heard`: job → generation."""
        missing = [job for job, generation in listed.items() if heard.get(job, 0) < generation]
        return Canary({job: self.unheard.get(job, 0) + 1 for job in missing})

    @property
    def silent(self) -> str | None:
        """Why the watch counts as broken."""
        overdue = sorted(job for job, looks in self.unheard.items() if looks >= PATIENCE)
        return f"the watch has not told of {'/'.join(overdue[0])}, which the list shows" if overdue else None
