"""Whether a watch on one of our kinds still speaks: what a list shows must have been heard, if not now then
soon.

A job whose loop runs is looked at regularly, whatever the watches do. A silent watch would only hide new and
edited jobs; so they are listed from time to time and compared with what was heard.
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
    """Job → in how many looks in a row its newest generation had not been heard of."""

    def look(self, listed: Mapping[Key, int], heard: Mapping[Key, int]) -> Canary:
        """Both: job → generation."""
        missing = [job for job, generation in listed.items() if heard.get(job, 0) < generation]
        return Canary({job: self.unheard.get(job, 0) + 1 for job in missing})

    @property
    def silent(self) -> str | None:
        """Why the watch must be taken for dead."""
        overdue = sorted(job for job, looks in self.unheard.items() if looks >= PATIENCE)
        return f"the watch has not told of {'/'.join(overdue[0])}, which the list shows" if overdue else None
