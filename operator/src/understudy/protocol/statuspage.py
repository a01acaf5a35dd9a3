"""What a process reports about itself: the status page (docs/architecture.md, "Status page").

This is the only module that knows its JSON. Every field has a default, which means that nothing is known. So
the page of a process that has just started, and a page of another minor version, can be read as far as they
go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import Field

from understudy.protocol.lag import Lag as Lag
from understudy.protocol.versioned import Format, NotUnderstood, Wire


class State(StrEnum):
    STARTING = "starting"
    WARMING_UP = "rehearsing"
    WAITING = "waiting"
    READY = "ready"
    FINISHED = "finished"
    FAILED = "failed"
    STALLED = "stalled"

    @property
    def serves(self) -> bool:
        return self in (State.READY, State.FINISHED)


class Role(StrEnum):
    PRIMARY = "primary"
    STANDBY = "standby"


class Activity(StrEnum):
    """The state of an engine."""

    WORKING = "working"
    IDLE = "idle"
    STALLED = "stalled"


@dataclass(frozen=True, slots=True)
class Input(Wire):
    position: int = 0
    available: int = 0
    bad: int = 0
    """Of a source: records that could not be read, and became no tuples."""
    fault: str | None = None
    """Of a source: why no tuples come, or why bad records are not copied; None while all is well."""

    @property
    def waiting(self) -> int:
        """Tuples that have arrived but are not processed yet."""
        return self.available - self.position


@dataclass(frozen=True, slots=True)
class Consumer(Wire):
    """The position of a consumer of an output queue."""

    received: int = 0
    released: int = 0
    lag_tuples: Annotated[int | None, Field(alias="lag")] = None
    lag_ms: int | None = None
    """Known to a primary only."""

    @property
    def lag(self) -> Lag | None:
        """How far the consumer is behind; None if it is not known."""
        known = self.lag_tuples is not None and self.lag_ms is not None
        return Lag(self.lag_tuples or 0, self.lag_ms or 0) if known else None


@dataclass(frozen=True, slots=True)
class Queue(Wire):
    """An output queue: what it holds, and the position of each consumer."""

    trimmed: int = 0
    next: int = 0
    bytes: int = 0
    on_disk: int = 0
    full: bool = False
    """Whether a micro-batch waits for room in it."""
    ended: bool = False
    consumers: Mapping[str, Consumer] = field(default_factory=dict)

    @property
    def released(self) -> dict[str, int]:
        return {name: consumer.released for name, consumer in self.consumers.items()}

    @property
    def slowest(self) -> str:
        """The consumer for which the queue holds most tuples."""
        return min(self.released, key=self.released.__getitem__, default="nobody")


@dataclass(frozen=True, slots=True)
class Checkpoint(Wire):
    """The newest checkpoint: as the primary shipped it, or as the standby holds it."""

    number: int
    at_ms: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Sent(Wire):
    """Bytes sent so far."""

    checkpoint_bytes: int = 0
    ack_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Cost(Wire):
    """What a take-over at this moment would replay, and lose."""

    replay_tuples: int
    replay_seconds: float
    lost_tuples: int


@dataclass(frozen=True, slots=True)
class Batches(Wire):
    count: int = 0
    median_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Engine(Wire):
    state: Activity
    why: str | None = None
    """Why it has stalled: a sentence from the moment of detection."""
    since_ms: int | None = None
    quiet_ms: int = 0
    timeout_ms: int = 0
    """The engine timeout: how long it may stand still."""


@dataclass(frozen=True, slots=True)
class TakeOver(Wire):
    """A take-over by the instance whose page this is. Times are milliseconds since 1970; None: not yet."""

    gone: Annotated[str, Field(alias="from")] = ""
    cause: str = ""
    heard: Annotated[int | None, Field(alias="heardMs")] = None
    """The last sign of life of the failed primary that the new one received."""
    stopped: Annotated[int | None, Field(alias="stoppedMs")] = None
    """The last tuple that any consumer received from the former primary, or its last sign of life if that
    came later."""
    detected: Annotated[int | None, Field(alias="detectedMs")] = None
    lease: Annotated[int | None, Field(alias="leaseMs")] = None
    promoted: Annotated[int | None, Field(alias="promotedMs")] = None
    restored: Annotated[int | None, Field(alias="restoredMs")] = None
    first_output: Annotated[int | None, Field(alias="firstOutputMs")] = None
    caught_up: Annotated[int | None, Field(alias="caughtUpMs")] = None
    recovery_ms: int | None = None
    """How long output stood still, from `stopped` on; None: it still stands still."""
    replayed: int = 0
    lost: int = 0
    duplicated: int = 0
    planned: bool = False
    """The former primary handed over: this was a move."""

    @property
    def recovery_seconds(self) -> float | None:
        return None if self.recovery_ms is None else self.recovery_ms / 1000


@dataclass(frozen=True, slots=True)
class Departure(Wire):
    """A move away from the instance whose page this is. Times as in `TakeOver`."""

    target: Annotated[str, Field(alias="to")] = ""
    why: str = ""
    requested: Annotated[int | None, Field(alias="requestedMs")] = None
    paused: Annotated[int | None, Field(alias="pausedMs")] = None
    """From here on no micro-batch began; None: the move had no pause."""
    settled: Annotated[int | None, Field(alias="settledMs")] = None
    """When the last micro-batch was done."""
    handed_over: Annotated[int | None, Field(alias="handedOverMs")] = None
    left: Annotated[int | None, Field(alias="leftMs")] = None
    """When it stopped being primary."""
    given_up: str | None = None
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Loss(Wire):
    """Input tuples that no instance will process."""

    stream: str = ""
    start: Annotated[int, Field(alias="from")] = 0
    stop: Annotated[int, Field(alias="to")] = 0


@dataclass(frozen=True, slots=True)
class InstancePage(Wire):
    job: str = ""
    subjob: str = ""
    instance: str = ""
    role: Role | None = None
    epoch: int = 0
    mode: str | None = None
    """The current mode."""
    settings: str | None = None
    """The digest of the newest `ha` that it received."""
    change: str | None = None
    """What a change of mode waits for."""
    state: State = State.STARTING
    error: str | None = None
    protected: bool = False
    secondary: str | None = None
    inputs: Mapping[str, Input] = field(default_factory=dict)
    outputs: Mapping[str, Queue] = field(default_factory=dict)
    checkpoint: Checkpoint | None = None
    sent: Sent = Sent()
    if_it_failed_now: Cost | None = None
    """None if no instance could take over."""
    batches: Batches = Batches()
    engine: Engine | None = None
    """None before Spark has started."""
    take_over: Annotated[TakeOver | None, Field(alias="takeover")] = None
    overload: str | None = None
    """Why its machine can't carry the load."""
    departure: Departure | None = None
    losses: tuple[Loss, ...] = ()
    latencies: Mapping[str, float] = field(default_factory=dict)
    """Address of another of the job's instances → milliseconds."""

    @property
    def leads(self) -> bool:
        return self.role is Role.PRIMARY

    @property
    def place(self) -> dict[str, tuple[int, int]]:
        """Input → the position, and the end of the available tuples."""
        return {name: (at.position, at.available) for name, at in self.inputs.items()}

    @property
    def lost(self) -> int:
        return sum(loss.stop - loss.start for loss in self.losses)

    @property
    def stalled(self) -> str | None:
        """Why the engine has stalled; None if it has not."""
        return self.engine.why if self.engine and self.engine.state is Activity.STALLED else None

    @property
    def engine_timeout_ms(self) -> int:
        """The engine timeout; 0 before Spark has started."""
        return self.engine.timeout_ms if self.engine else 0


@dataclass(frozen=True, slots=True)
class SinkPage(Wire):
    job: str = ""
    sink: str = ""
    state: State = State.STARTING
    stalled: str | None = None
    """Why its disk has stalled."""
    error: str | None = None
    tuples: int = 0
    next: int | None = None
    """The seq of the next tuple that it will write."""
    lost: int = 0
    quiet_ms: int | None = None
    """How long ago the newest tuple came; None: none has come yet."""
    lag: int = 0
    lag_ms: int = 0
    """As its producer last reported it. A sink that hangs receives no reports, so look at the producer's
    page."""
    ended: bool = False
    latencies: Mapping[str, float] = field(default_factory=dict)


StatusPage = InstancePage | SinkPage

_FORMAT: Final = Format[StatusPage](
    "the status page", version=(1, 0), kinds={"subjob": InstancePage, "sink": SinkPage}
)


def to_bytes(page: StatusPage) -> bytes:
    return _FORMAT.to_bytes(page)


def from_bytes(raw: bytes) -> StatusPage | NotUnderstood:
    return _FORMAT.from_bytes(raw)


def to_json(page: StatusPage) -> dict[str, Any]:
    """The page as JSON, for files and answers that contain other things, too."""
    return _FORMAT.to_json(page)


def from_json(raw: object) -> StatusPage | NotUnderstood:
    return _FORMAT.from_json(raw)
