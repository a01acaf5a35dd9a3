"""Which process decides what the next plan is: this one, or the one whose determinants it follows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from understudy.engine.plan import Choice


class PlanClock:
    """The time of plans, in microseconds since 1970. It never decreases, whichever process chose the last
    one."""

    def __init__(self, read: Callable[[], int]) -> None:
        self._read = read
        self.latest = 0

    def now(self) -> int:
        self.reached(self._read())
        return self.latest

    def reached(self, time: int) -> None:
        self.latest = max(self.latest, time)


class Choices:
    """Determinants of another process come first, in their order; after them, unless this process only
    follows, its own choices."""

    def __init__(self, salt: Callable[[], int], clock: PlanClock | None = None) -> None:
        self.salt = salt
        """The random number of a plan."""
        self._clock = clock
        """None: the element does not use the time."""
        self._theirs: deque[Choice] = deque()
        self._follows = False

    @property
    def are_ours(self) -> bool:
        return not self._follows and not self._theirs

    @property
    def leave_order(self) -> bool:
        """Whether inputs are merged in order of arrival: by a choice of this process, or because the next
        determinant has no order."""
        return self.are_ours or (bool(self._theirs) and not self._theirs[0].runs)

    @property
    def first(self) -> Choice | None:
        return self._theirs[0] if self._theirs else None

    def time_of(self, choice: Choice) -> int | None:
        """The time of a plan: as the determinant says, or now."""
        if self._clock is None:
            return None
        if choice.clock is None:
            return self._clock.now()
        self._clock.reached(choice.clock)
        return choice.clock

    def drop_done(self, upto: int) -> bool:
        """Drops determinants of plans that are cut. True if from now on this process chooses."""
        before = self.are_ours
        while self._theirs and self._theirs[0].stop <= upto:
            self._theirs.popleft()
        return self.are_ours and not before

    def follow(self, choices: Iterable[Choice]) -> None:
        self._follows = True
        self._theirs.extend(choices)

    def lead(self) -> None:
        self._follows = False
