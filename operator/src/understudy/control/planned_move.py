"""A planned move of a subjob's primary (Brettlecker §4.2), decided for every place: the operator, `understudy
run` and the simulator each report what they observe (`MoveView`), ask `next_steps`, and carry the steps out.

A primary has one standby at a time. So the target first warms up; then the former standby is stopped; then
the Lease names the target as successor, and the primary does the rest (`modes.moving`). A move has failed
only when it can no longer take place: when the Lease no longer names its target.

A place that is restarted in between continues: each step follows from the observations, and carrying one out
twice does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from understudy.protocol.move_limits import is_overdue, too_late
from understudy.protocol.statuspage import State

FIGURES_MS: Final = 15_000
"""How long the figures of a completed move are waited for."""
WARM: Final = (State.WAITING, State.READY, State.FINISHED)
"""The states in which a target can take what it lacks of the primary's state."""


# --- beginning


class Where(Enum):
    STANDBY = "to a standby that is ready, or not at all"
    ANYWHERE = "to a standby, or else to a new instance"
    NEW = "to a new instance"


class Standby(Enum):
    """Which standbys the move can go to."""

    READY = "a standby is ready"
    WARMING = "a standby will be ready"
    NONE = "there is no standby"


@dataclass(frozen=True, slots=True)
class MoveTo:
    target: str


@dataclass(frozen=True, slots=True)
class MakeTarget:
    """Make a new instance as the target of the move."""


@dataclass(frozen=True, slots=True)
class Refuse:
    why: str


Beginning = MoveTo | MakeTarget | Refuse

_NO_STANDBY: Final = Refuse("no standby is ready to take over")
BEGINNINGS: Final[Mapping[tuple[Where, Standby], Refuse | MakeTarget | type[MoveTo]]] = {
    (Where.STANDBY, Standby.READY): MoveTo,
    (Where.STANDBY, Standby.WARMING): _NO_STANDBY,
    (Where.STANDBY, Standby.NONE): _NO_STANDBY,
    (Where.ANYWHERE, Standby.READY): MoveTo,
    (Where.ANYWHERE, Standby.WARMING): MoveTo,
    (Where.ANYWHERE, Standby.NONE): MakeTarget(),
    (Where.NEW, Standby.READY): MakeTarget(),
    (Where.NEW, Standby.WARMING): MakeTarget(),
    (Where.NEW, Standby.NONE): MakeTarget(),
}


def begin(where: Where, ready: Sequence[str], warming: Sequence[str]) -> Beginning:
    """`ready`, `warming`: the standbys that the move may go to, best first."""
    standby = Standby.READY if ready else Standby.WARMING if warming else Standby.NONE
    found = BEGINNINGS[where, standby]
    return MoveTo([*ready, *warming][0]) if isinstance(found, type) else found


# --- going on: what is seen


@dataclass(frozen=True, slots=True)
class MoveView:
    """A move that is under way, as its place observes it. Instances are given by their names."""

    now_ms: int
    began_ms: int
    source: str
    target: str
    why: str
    ordered: bool
    """Whether the move is wanted whichever instance leads. If not, only the source was to leave."""
    holder: str | None
    """The holder of the Lease, alive or not."""
    successor: str | None
    """The instance that the Lease names."""
    living: Sequence[str]
    warm: bool
    """Whether the state of the target is one of `WARM`."""
    told: bool
    """Whether source and target have reported what the move cost, or no longer can."""
    arrived_ms: int
    """Once the target holds the Lease: since when the figures are waited for."""

    @property
    def others(self) -> Sequence[str]:
        return [name for name in self.living if name not in (self.source, self.target)]


class Phase(Enum):
    """How far the move is, judged by the Lease."""

    PREPARING = "the Lease does not name the target"
    NAMED = "the Lease names the target as successor"
    TAKEN = "the target holds the Lease"


class Finding(Enum):
    """The first of these that is true."""

    TOLD = "the figures of the move are known, or were waited for long enough"
    UNTOLD = "they are still waited for"
    LOST = "the target is lost"
    POINTLESS = "another leads, and only the source was to leave"
    OVERDUE = "the limit of `protocol.move_limits` has passed"
    LEADERLESS = "nobody leads: the standby is about to take over"
    REPLACED = "another leads, and the move goes on from there"
    COLD = "the target is not warm"
    CROWDED = "the target is warm, another standby lives"
    ALONE = "the target is warm, no other standby lives"


def phase_of(view: MoveView) -> Phase:
    if view.holder == view.target:
        return Phase.TAKEN
    return Phase.NAMED if view.successor == view.target else Phase.PREPARING


def finding_of(view: MoveView) -> Finding:
    if view.holder == view.target:
        over = view.told or view.now_ms - view.arrived_ms >= FIGURES_MS
        return Finding.TOLD if over else Finding.UNTOLD
    another = view.holder not in (None, view.source)
    if view.target not in view.living:
        return Finding.LOST
    if another and not view.ordered:
        return Finding.POINTLESS
    if is_overdue(view.began_ms, view.now_ms):
        return Finding.OVERDUE
    if view.holder not in view.living:
        return Finding.LEADERLESS
    if another:
        return Finding.REPLACED
    if not view.warm:
        return Finding.COLD
    return Finding.CROWDED if view.others else Finding.ALONE


# --- going on: what is done


@dataclass(frozen=True, slots=True)
class Retire:
    """Stop this standby."""

    instance: str
    why: str


@dataclass(frozen=True, slots=True)
class Name:
    """Write into the Lease that its holder, if it still is the source, should move to the target."""

    source: str
    target: str
    why: str


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Remove the target from the Lease, if the Lease still names it."""

    target: str
    why: str


@dataclass(frozen=True, slots=True)
class Follow:
    """Record that the source of the move is now this instance."""

    source: str
    why: str


@dataclass(frozen=True, slots=True)
class Fail:
    """Record that the move has failed: it can no longer take place."""

    why: str


@dataclass(frozen=True, slots=True)
class Finish:
    """Record that the move has taken place."""


Step = Retire | Name | Withdraw | Follow | Fail | Finish
Steps = tuple[Step, ...]


def _wait(view: MoveView) -> Steps:
    return ()


def _finish(view: MoveView) -> Steps:
    return (Finish(),)


def _fail(view: MoveView) -> Steps:
    return (Fail(_failure(view)),)


def _withdraw(view: MoveView) -> Steps:
    return (Withdraw(view.target, _failure(view)),)


def _failure(view: MoveView) -> str:
    match finding_of(view):
        case Finding.LOST:
            return f"{view.target} is lost"
        case Finding.POINTLESS:
            return f"{view.holder} took over meanwhile"
        case _:
            return too_late()


def _follow(view: MoveView) -> Steps:
    return (Follow(str(view.holder), f"it leads instead of {view.source}"),)


def _retire(view: MoveView) -> Steps:
    return tuple(Retire(name, f"{view.target} takes its place") for name in view.others)


def _name(view: MoveView) -> Steps:
    return (Name(view.source, view.target, f"{view.source} is to hand over to it: {view.why}"),)


MOVES: Final[Mapping[tuple[Phase, Finding], Callable[[MoveView], Steps]]] = {
    (Phase.PREPARING, Finding.LOST): _fail,
    (Phase.PREPARING, Finding.POINTLESS): _fail,
    (Phase.PREPARING, Finding.OVERDUE): _fail,
    (Phase.PREPARING, Finding.LEADERLESS): _wait,
    (Phase.PREPARING, Finding.REPLACED): _follow,
    (Phase.PREPARING, Finding.COLD): _wait,
    (Phase.PREPARING, Finding.CROWDED): _retire,
    (Phase.PREPARING, Finding.ALONE): _name,
    (Phase.NAMED, Finding.LOST): _withdraw,
    (Phase.NAMED, Finding.POINTLESS): _withdraw,
    (Phase.NAMED, Finding.OVERDUE): _withdraw,
    (Phase.NAMED, Finding.LEADERLESS): _wait,
    (Phase.NAMED, Finding.REPLACED): _follow,
    (Phase.NAMED, Finding.COLD): _wait,
    (Phase.NAMED, Finding.CROWDED): _retire,
    (Phase.NAMED, Finding.ALONE): _wait,
    (Phase.TAKEN, Finding.UNTOLD): _wait,
    (Phase.TAKEN, Finding.TOLD): _finish,
}


def next_steps(view: MoveView) -> Steps:
    return MOVES[phase_of(view), finding_of(view)](view)
