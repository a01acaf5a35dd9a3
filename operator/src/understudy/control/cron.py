"""Cron lines: minute, hour, day, month, day of the week; each `*`, numbers, ranges, steps or lists of these. UTC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from understudy.control.times import fields_of

MINUTE_MS: Final = 60_000
RANGES: Final = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


@dataclass(frozen=True, slots=True)
class Cron:
    fields: tuple[frozenset[int], ...]
    either: bool
    """Day and day of the week are both restricted: then one of them is enough."""

    @classmethod
    def parse(cls, line: str) -> Cron | None:
        parts = line.split()
        if len(parts) != len(RANGES):
            return None
        fields = [_field(part, *limits) for part, limits in zip(parts, RANGES, strict=True)]
        if any(field is None for field in fields):
            return None
        known = [field for field in fields if field is not None]
        known[4] = frozenset(day % 7 for day in known[4])
        return cls(tuple(known), not parts[2].startswith("*") and not parts[4].startswith("*"))

    def latest(self, after_ms: int, until_ms: int) -> int | None:
        """The latest moment of the line in (after, until]."""
        minute = until_ms - until_ms % MINUTE_MS
        while minute > after_ms:
            if self._holds(minute):
                return minute
            minute -= MINUTE_MS
        return None

    def _holds(self, ms: int) -> bool:
        minute, hour, day, month, weekday = (
            value in field for value, field in zip(fields_of(ms), self.fields, strict=True)
        )
        return minute and hour and month and ((day or weekday) if self.either else (day and weekday))


def _field(text: str, lowest: int, highest: int) -> frozenset[int] | None:
    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        if span == "*":
            first, last = str(lowest), str(highest)
        numbers = (first, last or (str(highest) if step else first), step or "1")
        if not all(number.isdecimal() for number in numbers):
            return None
        start, stop, stride = map(int, numbers)
        if not (lowest <= start <= stop <= highest and stride):
            return None
        found.update(range(start, stop + 1, stride))
    return frozenset(found)
