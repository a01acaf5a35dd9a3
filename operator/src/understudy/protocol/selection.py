"""Which input tuples the state at a position still needs, and at which positions results are due.

An element keeps no state but its selection. Which earlier tuples are needed at a position follows from one of
four rules, by the element's one stateful operator:

| rule | first tuple still needed | results are due |
|---|---|---|
| each row | the position itself | at every tuple |
| count window | the start of the first window that is not full | where a window is full: at position kA+S |
| time window | the first tuple with an open window | where the greatest event time reaches kA+S+lateness |
| within (join) | the first tuple that may still match a later tuple of the other side | at every tuple |

Event times are whole microseconds since 1970; `UNKNOWN` means that there is none, and is less than any other.
Everything here depends on positions and event times only, never on where micro-batches begin and end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from understudy.model.operators import Operator, Window, WindowOn

Micros: TypeAlias = int
Times: TypeAlias = npt.NDArray[np.int64]
UNKNOWN: Final[Micros] = int(np.iinfo(np.int64).min)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class EachRow:
    """Filter, map, sample, sql, union: no earlier tuple is needed."""


@dataclass(frozen=True, slots=True)
class CountWindow:
    """Window k covers the places [k*slide, k*slide + size)."""

    size: int
    slide: int

    def first_open(self, position: int) -> int:
        """The first window that is not full at this position."""
        return max(0, (position - self.size) // self.slide + 1)

    def needed(self, position: int) -> int:
        return min(position, self.first_open(position) * self.slide)

    def last_close(self, after: int, upto: int) -> int | None:
        """The last position in (after, upto] at which a window becomes full."""
        full = self.first_open(upto) - 1
        close = full * self.slide + self.size
        return close if full >= 0 and close > after else None

    def next_close(self, after: int) -> int:
        return self.first_open(after) * self.slide + self.size


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """Window k covers the event times [k*slide, k*slide + size), k ≥ 0, and closes `lateness` after its
    end."""

    size: Micros
    slide: Micros
    lateness: Micros

    def first_open(self, greatest: Micros) -> int:
        """The first window that is not closed when `greatest` is the greatest event time so far."""
        if greatest == UNKNOWN:
            return 0
        return max(0, (greatest - self.size - self.lateness) // self.slide + 1)

    def first_needed(self, times: Times, greatest: Micros) -> int:
        """Index of the first tuple that belongs to a window still open; `len(times)` if none does."""
        needed = (times >= 0) & (times // self.slide >= self.first_open(greatest))
        return int(np.argmax(needed)) if needed.any() else len(times)

    def last_close(self, before: Micros, greatest: Times) -> int | None:
        """How many tuples to take so that the last of them closes a window; None if none of them does.

        `greatest[i]` is the greatest event time up to and including tuple i, `before` the one before all of
        them.
        """
        known = np.maximum(
            np.concatenate(([before], greatest)), -self.slide
        )  # keeps UNKNOWN away from overflow
        closed = np.maximum((known - self.size - self.lateness) // self.slide + 1, 0)
        steps = np.flatnonzero(np.diff(closed) > 0)
        return int(steps[-1]) + 1 if len(steps) else None

    def next_end(self, greatest: Micros) -> Micros:
        """The least event time that a later result can have."""
        return self.first_open(greatest) * self.slide + self.size


@dataclass(frozen=True, slots=True)
class Within:
    """Pairs whose event times differ by at most `reach`.

    A pair is emitted by the later of the two in merged order, unless the earlier one had been passed: the
    greatest event time before the later tuple, on the later tuple's stream, exceeds the earlier one's event
    time by more than `reach`. So a tuple can be forgotten as soon as the other stream has passed it.
    """

    reach: Micros

    def first_needed(self, times: Times, other_greatest: Micros) -> int:
        """Index of the first tuple that a coming tuple of the other stream may meet; `len(times)` if none."""
        if other_greatest == UNKNOWN:
            needed = times != UNKNOWN
        else:
            needed = times >= max(other_greatest - self.reach, UNKNOWN + 1)
        return int(np.argmax(needed)) if needed.any() else len(times)


Rule = EachRow | CountWindow | TimeWindow | Within


def rule_of(operators: Iterable[Operator]) -> Rule:
    """The rule of an element, by its one stateful operator."""
    for operator in operators:
        match operator.remembers:
            case Window() as window:
                return window_rule(window)
            case timedelta() as within:
                return Within(micros(within))
            case None:
                pass
    return EachRow()


def window_rule(window: Window) -> CountWindow | TimeWindow:
    match window.on:
        case WindowOn.SEQ:
            assert isinstance(window.size, int)
            assert isinstance(window.slide, int)
            return CountWindow(window.size, window.slide)
        case WindowOn.TS:
            assert isinstance(window.size, timedelta)
            assert isinstance(window.slide, timedelta)
            return TimeWindow(micros(window.size), micros(window.slide), micros(window.lateness))


def micros(duration: timedelta) -> Micros:
    return duration // _MICROSECOND
