"""When the tuples that a sink has collected are committed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from understudy.model.sinks import Roll

MIB: Final = 2**20


@dataclass(frozen=True, slots=True)
class Rolling:
    bytes: int = 32 * MIB
    """Of the tuples in memory."""

    ms: int = 10_000

    @classmethod
    def of(cls, roll: Roll | None) -> Self:
        if roll is None:
            return cls()
        return cls(roll.mebibytes * MIB, round(roll.interval.total_seconds() * 1000))
