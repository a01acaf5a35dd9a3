"""The coordinator of savepoint recovery (Koldehofe §7.2, Figure 8).

A suspected operator is not killed: replacements run beside it. The first instance that makes *progress*
(updates its own savepoint) stays, the others are recalled. A suspect that gives another sign of life was
suspected by mistake: τ is raised.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from understudy.protocol.detector import Detector
from understudy.protocol.ids import Millis


@dataclass(frozen=True, slots=True)
class StartReplacement:
    operator: str
    why: str


@dataclass(frozen=True, slots=True)
class Recall:
    operator: str
    life: int
    why: str


Decision = StartReplacement | Recall


@dataclass(slots=True)
class _Watched:
    detector: Detector
    lives: dict[int, Millis] = field(default_factory=dict)  # the running lives, and when each was last heard
    suspected: set[int] = field(default_factory=set)
    mistaken: set[int] = field(default_factory=set)  # suspects that were heard again
    leaving: set[int] = field(
        default_factory=set
    )  # lives that are to be moved: their own progress does not count
    newest: int = 0

    def alive(self, life: int) -> None:
        """Counts a sign of life. The first one of a suspect shows that τ was too short."""
        if life in self.suspected and life not in self.mistaken:
            self.mistaken.add(life)
            self.detector = self.detector.on_false_suspicion()


class Coordinator:
    def __init__(self, interval: int, misses: int) -> None:
        self._fresh = Detector.of(interval, misses)
        self._watched: dict[str, _Watched] = {}
        self._interval = interval
        self._checked: Millis | None = None

    def deployed(self, operator: str, life: int, now: Millis) -> None:
        """A life of an operator was started; its silence is counted from now."""
        watched = self._watched.setdefault(operator, _Watched(self._fresh))
        watched.lives[life] = now
        watched.newest = max(watched.newest, life)

    def beat(self, operator: str, life: int, now: Millis) -> None:
        watched = self._watched.get(operator)
        if watched is not None and life in watched.lives:
            watched.lives[life] = now
            watched.alive(life)

    def check(self, now: Millis) -> list[Decision]:
        """Suspects silent operators: at most one replacement for the newest life of each. Time in which the
        coordinator did not run does not count as silence."""
        stalled = max(0, now - self._checked - 2 * self._interval) if self._checked is not None else 0
        self._checked = now
        found: list[Decision] = []
        for operator, watched in self._watched.items():
            if stalled:
                watched.lives = {n: Millis(heard + stalled) for n, heard in watched.lives.items()}
            life = watched.newest
            silent = now - watched.lives.get(life, now)
            if silent > watched.detector.tau and life not in watched.suspected:
                watched.suspected.add(life)
                found.append(StartReplacement(operator, f"life {life} was silent for {silent} ms"))
        return found

    def move(self, operator: str, why: str) -> list[Decision]:
        """Begins a planned move: a replacement is started elsewhere, and the current life stays until the
        replacement makes progress."""
        watched = self._watched.get(operator)
        if watched is None or watched.leaving or watched.newest in watched.suspected:
            return []
        watched.leaving = set(watched.lives)
        return [StartReplacement(operator, why)]

    def progressed(self, operator: str, life: int, now: Millis) -> list[Decision]:
        """This life updated its savepoint: it stays, all others go."""
        watched = self._watched.get(operator)
        if watched is None or life not in watched.lives or life in watched.leaving:
            return []
        watched.alive(life)
        others = [other for other in watched.lives if other != life]
        watched.lives = {life: now}
        watched.suspected, watched.mistaken, watched.leaving = set(), set(), set()
        watched.newest = life
        return [Recall(operator, other, f"life {life} makes progress") for other in others]

    def tau(self, operator: str) -> int:
        return self._watched[operator].detector.tau
