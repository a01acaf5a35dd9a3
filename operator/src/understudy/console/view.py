"""What the console shows of one job: the only thing that crosses from Python to the page.

The page draws it and decides nothing. Times are milliseconds since 1970, except where a field says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from understudy.protocol.statuspage import Cost
from understudy.protocol.versioned import Format, NotUnderstood, Wire


class Safety(StrEnum):
    """Whether a process could be lost now."""

    STARTING = "starting"
    SAFE = "safe"
    AT_RISK = "atRisk"
    DOWN = "down"
    OVER = "over"
    """The run is over, and not judged yet."""
    KEPT = "kept"
    """The run is over, and every promise was kept."""
    BROKEN = "broken"
    """The run is over, and a promise was not kept, or could not be checked."""


class NodeKind(StrEnum):
    SOURCE = "source"
    SUBJOB = "subjob"
    SINK = "sink"


class Part(StrEnum):
    """What a process is to its subjob or sink."""

    PRIMARY = "primary"
    STANDBY = "standby"
    SINK = "sink"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Verdict(Wire):
    safety: Safety
    why: str


@dataclass(frozen=True, slots=True)
class ProcessView(Wire):
    name: str
    part: Part
    state: str
    serves: bool = False
    epoch: int = 0
    note: str | None = None
    """What needs a look: an error, a stall, an overload."""


@dataclass(frozen=True, slots=True)
class Keeping(Wire):
    """How a subjob is kept alive."""

    mode: str
    guarantee: str
    why: str
    operator_class: str
    protected: bool
    cost: Cost | None
    """What a failure now would cost; None if nobody could take over."""


@dataclass(frozen=True, slots=True)
class Node(Wire):
    id: str
    kind: NodeKind
    name: str
    layer: int
    row: int
    what: str
    """What it reads, computes or writes."""
    verdict: Verdict | None = None
    """None: of a source, nothing is known but what its readers report."""
    keeping: Keeping | None = None
    """Of a subjob."""
    processes: tuple[ProcessView, ...] = ()


@dataclass(frozen=True, slots=True)
class Way(Wire):
    """A place between nodes, through which a long edge goes."""

    layer: int
    row: int


@dataclass(frozen=True, slots=True)
class Edge(Wire):
    source: str
    target: str
    tuples: int | None = None
    """How many tuples the target has taken."""
    rate: float | None = None
    """Tuples per second that it takes now, or took over the whole run; None: not known yet."""
    lag_tuples: int | None = None
    lag_ms: int | None = None
    full: bool = False
    """Whether the queue behind the edge is full, so that the producer waits."""
    ways: tuple[Way, ...] = ()


@dataclass(frozen=True, slots=True)
class Series(Wire):
    """How many tuples came to a sink in each piece of time."""

    sink: str
    begin_ms: int
    width_ms: int
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Step(Wire):
    name: str
    after_ms: int
    """Since the fault."""


@dataclass(frozen=True, slots=True)
class IncidentView(Wire):
    at_ms: int
    subjob: str
    mode: str
    cause: str
    victim: str
    role: str
    successor: str | None
    steps: tuple[Step, ...]
    recovery_ms: int | None
    """How long there was no output; None: it has not come back, or never stopped."""
    replayed: int
    lost: int
    duplicated: int | None
    """None: not compared yet."""
    sinks: tuple[Series, ...]
    """The sinks behind the subjob, around the fault."""


@dataclass(frozen=True, slots=True)
class ConsoleView(Wire):
    job: str
    place: str
    """Where it runs."""
    now_ms: int
    started_ms: int | None
    ended_ms: int | None
    verdict: Verdict
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    sinks: tuple[Series, ...]
    incidents: tuple[IncidentView, ...]
    """The newest first."""


_FORMAT: Final = Format[ConsoleView]("the console's view", version=(1, 0), kinds={"job": ConsoleView})


def to_bytes(view: ConsoleView) -> bytes:
    return _FORMAT.to_bytes(view)


def to_json(view: ConsoleView) -> dict[str, Any]:
    return _FORMAT.to_json(view)


def from_bytes(raw: bytes) -> ConsoleView | NotUnderstood:
    return _FORMAT.from_bytes(raw)
