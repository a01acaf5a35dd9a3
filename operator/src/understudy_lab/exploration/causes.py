"""Nothing happens without a cause, and what has a cause happens in time. Judges when, and why, roles change.

| seen | must have |
|---|---|
| a life takes the Lease of another | a recent fault, weather or order that touched the subjob |
| a primary steps down | another life that took its Lease |
| a standby steps down | a fault or weather that touched the subjob or what it reads |
| the end of a primary whose standby could go on | a life that takes the Lease within LATEST |
| the order of a move | its target takes the Lease, or it is given up, or a fault or move was in its way |

Faults are those that were injected, and the ends of lives; none is guessed from what instances did.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from understudy_lab.exploration import history as seen
from understudy_lab.exploration.history import Observation
from understudy_lab.exploration.lives import Life, Lives
from understudy_lab.simulation.specs import Job, SubjobSpec

LINGERS = 1_500  # milliseconds after the end of a fault in which it still explains what is seen
LATEST = 700  # milliseconds without a fault until a standby that could go on has taken the Lease: about 10 τ


@dataclass(frozen=True)
class Vacancy:
    """A primary that held the Lease has ended, and a standby could go on."""

    life: str
    since: int


@dataclass(frozen=True)
class Order:
    source: str  # the life that has to move
    since: int


class Causes:
    def __init__(self, job: Job, lives: Lives) -> None:
        self.job, self.lives = job, lives
        self._now = 0
        self._faults: dict[str, list[tuple[int, int]]] = defaultdict(list)  # subjob: from when to when
        self._vacant: dict[str, Vacancy] = {}
        self._orders: dict[tuple[str, str], Order] = {}  # by subjob and target
        self._see: dict[type, Callable[[Any], str | None]] = {
            seen.Disturbed: self._disturbed,
            seen.EngineHung: self._hung,
            seen.Crashed: self._crashed,
            seen.Ended: self._ended,
            seen.Removed: self._touched,
            seen.Handled: self._handled,
            seen.Ordered: self._ordered,
            seen.GivenUp: self._given_up,
            seen.Resumed: self._resumed,
            seen.LeaseTaken: self._lease_taken,
            seen.SteppedDown: self._stepped_down,
        }

    def look(self, now: int, event: Observation) -> Iterator[str]:
        """What is wrong with it. To be called before the lives have seen it."""
        self._now = now
        yield from self._overdue()
        see = self._see.get(type(event))
        if see is not None and (wrong := see(event)) is not None:
            yield wrong

    # --- faults

    def _touch(self, subjob: str, until: int) -> None:
        self._faults[subjob].append((self._now, until))

    def _disturbed(self, event: seen.Disturbed) -> None:
        for subjob in event.touches or self.lives.spec:
            self._touch(subjob, event.until)

    def _hung(self, event: seen.EngineHung) -> None:
        self._touch(self.lives.of[event.life].subjob, self._now + event.lasts)

    def _touched(self, event: Any) -> None:
        self._touch(self.lives.of[event.life].subjob, self._now)

    def _handled(self, event: seen.Handled) -> None:
        self._touch(event.subjob, self._now)

    def explained(self, subjobs: Collection[str]) -> bool:
        """Whether a fault has touched one of them, and is not long over."""
        return any(self._now <= until + LINGERS for subjob in subjobs for _, until in self._faults[subjob])

    def _before(self, spec: SubjobSpec) -> set[str]:
        """The subjob, and all that its input comes from."""
        makers = (self.job.maker[s] for s in spec.inputs if s in self.job.maker)
        return {spec.name, *spec.inputs}.union(*(self._before(maker) for maker in makers))

    # --- take-overs

    def _crashed(self, event: seen.Crashed) -> None:
        life = self.lives.of[event.life]
        self._touch(life.subjob, self._now)
        self._left(life)

    def _ended(self, event: seen.Ended) -> None:
        life = self.lives.of[event.life]
        self._touch(life.subjob, self._now)
        self._left(life)

    def _left(self, life: Life) -> None:
        spec = self.lives.spec.get(life.subjob)
        for key in [k for k, order in self._orders.items() if life.name in (order.source, k[1])]:
            del self._orders[key]
        if spec is None or spec.family != "lease" or spec.side_by_side:
            return
        if not any(
            self._capable(spec, other) for other in self.lives.instances(spec.name) if other is not life
        ):
            self._vacant.pop(spec.name, None)
        elif life.leads and self.lives.holds_the_lease(life):
            self._vacant.setdefault(spec.name, Vacancy(life.name, self._now))

    def _capable(self, spec: SubjobSpec, life: Life) -> bool:
        return (
            not life.leads and (spec.passive or spec.mode == "activeStandby") and self.lives.could_go_on(life)
        )

    def _overdue(self) -> Iterator[str]:
        for subjob, vacancy in [*self._vacant.items()]:
            if self._now > self._latest(subjob, vacancy.since):
                del self._vacant[subjob]
                yield f"{vacancy.life} ended, and no standby took over within {LATEST} ms"

    def _latest(self, subjob: str, since: int) -> int:
        """A fault in between puts it off."""
        latest = since + LATEST
        for begins, until in sorted(self._faults[subjob]):
            if since <= until and begins <= latest:
                latest = max(latest, until + LATEST)
        return latest

    def _lease_taken(self, event: seen.LeaseTaken) -> str | None:
        self._vacant.pop(event.subjob, None)
        former, _ = self.lives.leases.get(event.subjob, ("", 0))
        ordered = (event.subjob, event.life) in self._orders
        for key in [k for k in self._orders if k[0] == event.subjob]:
            del self._orders[key]
        if former in ("", event.life) or ordered or self.explained((event.subjob,)):
            return None
        return f"{event.life} took the Lease of {former} though nothing had happened to it"

    def _stepped_down(self, event: seen.SteppedDown) -> str | None:
        life = self.lives.of[event.life]
        spec = self.lives.spec[life.subjob]
        if spec.family != "lease" or spec.side_by_side:
            return None
        if life.leads:
            replaced = not self.lives.holds_the_lease(life)
            return None if replaced else f"{life.name} stepped down though it held the Lease"
        if self.explained(self._before(spec)):
            return None
        return f"{life.name} gave up its state though nothing had happened to what it reads"

    # --- ordered moves

    def _ordered(self, event: seen.Ordered) -> None:
        self._orders[event.subjob, event.target] = Order(event.source, self._now)

    def _given_up(self, event: seen.GivenUp) -> None:
        self._touch(event.subjob, self._now)
        self._orders.pop((event.subjob, event.target), None)

    def _resumed(self, event: seen.Resumed) -> None:
        for key in [k for k, order in self._orders.items() if order.source == event.life]:
            self._touch(key[0], self._now)
            del self._orders[key]

    def open_moves(self) -> Iterator[str]:
        """Those that have neither taken place nor been given up, though the target could take over and no
        fault was in the way."""
        for (subjob, target), order in self._orders.items():
            life = self.lives.of[order.source]
            hampered = any(until > order.since for _, until in self._faults[subjob])
            if life.alive and life.leads and life.secondary == target and not hampered:
                yield f"the move of {subjob} to {target} neither took place nor was given up"
