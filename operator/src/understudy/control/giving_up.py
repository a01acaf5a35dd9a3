"""When a subjob is given up, and what is done then, for every place (Brettlecker §4.1, `protocol.failures`).

| place | an instance has failed for good when |
|---|---|
| cluster | no node has taken it for `onPermanentFailure.after` (`branches`) |
| local run | its processes keep ending by themselves (`why_given_up`): there is no other machine |
| simulator | its node is gone, and the timeout has passed |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from understudy.model.job import Subjob
from understudy.protocol.failures import (
    ActivateElsewhere,
    Handling,
    Means,
    MigrateFromBackup,
    Permanent,
    Phase,
    Report,
    handle,
)
from understudy.protocol.poison import Kills, Place

CRASHES: Final = 2
"""After so many processes that ended before they were ready, the subjob is given up."""
STUCK: Final = 3
"""After so many primaries that ended without getting further than their predecessors, the subjob is given
up."""


def means_of(subjob: Subjob, node: str | None = None) -> Means:
    """What can be done about a failed instance. `node`: a node that could take it."""
    declared = subjob.ha.on_permanent_failure
    return Means(node, declared.alternative, declared.process is not None) if declared else Means(node)


def give_up(why: str, *, started: bool, covered: bool, means: Means) -> Handling:
    """Decides what is done about a subjob if one of its instances has failed for good. `started`: its stream
    has begun; `covered`: another instance serves, or could at once."""
    phase = Phase.RUNNING if started else Phase.ACTIVATION
    found = handle(Permanent(why), phase, owes=True, means=means)
    if covered and not isinstance(found, ActivateElsewhere | MigrateFromBackup):
        return Report(f"{found.why}; it runs on without a standby")
    return found


# --- processes that keep ending


@dataclass(frozen=True, slots=True)
class Attempt:
    """One process of a subjob, with the last state that it reported."""

    name: str
    ended: str | None = None
    """How it ended by itself. None: it is alive, or the run ended it."""
    was_ready: bool = False
    led: bool = False
    processed: bool = False
    """Whether it processed input, as a primary or as a standby that runs in parallel."""
    caught_up: bool = False
    """Whether it has processed everything that its predecessor had."""
    reached: Mapping[str, int] = field(default_factory=dict)
    """Its positions on inputs and output."""
    out_of_memory: bool = False
    """Whether the kernel seems to have killed it for lack of memory."""
    place: Place = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GivenUp:
    last: str
    """The process that ended last."""
    why: str


def why_given_up(attempts: Sequence[Attempt]) -> GivenUp | None:
    """`attempts`: all processes of a subjob or of a sink, oldest first."""
    crashed = [attempt for attempt in attempts if attempt.ended is not None and not attempt.was_ready]
    if len(crashed) >= CRASHES:
        last, how = crashed[-1], "before it was ready, not the first to"
    elif len(stuck := _stuck(attempts)) >= STUCK:
        last, how = stuck[-1], f"and so did {len(stuck) - 1} before it that came no less far"
    else:
        return None
    return GivenUp(last.name, f"{last.name} ended with {last.ended} {how}")


def _stuck(attempts: Iterable[Attempt]) -> list[Attempt]:
    """The primaries that ended by themselves since one of the subjob last got further than all before it."""
    furthest: dict[str, int] = {}
    found: list[Attempt] = []
    for attempt in (a for a in attempts if a.led):
        reached = attempt.reached
        if any(at > furthest.get(stream, -1) for stream, at in reached.items()):
            found = []
        furthest = {s: max(furthest.get(s, 0), reached.get(s, 0)) for s in {*furthest, *reached}}
        if attempt.ended is not None and attempt.was_ready:
            found.append(attempt)
    return found


def kills_of(attempts: Iterable[Attempt]) -> Kills:
    """How often the kernel killed the subjob since one of its instances last caught up."""
    found = Kills()
    for attempt in attempts:
        if attempt.out_of_memory and attempt.processed:
            found = found.killed(attempt.led and attempt.caught_up, attempt.place)
        elif attempt.led and attempt.caught_up:
            found = Kills()
    return found
