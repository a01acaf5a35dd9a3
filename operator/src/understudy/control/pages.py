"""Status pages of a job's processes as values. A page that lacks something is read as far as it goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


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


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a consumer is behind the end of its stream."""

    tuples: int
    milliseconds: int
    """For how long the oldest of these tuples has been there."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Lag | None:
        """None where nobody knows."""
        tuples, milliseconds = _int(raw, "lag"), _int(raw, "lagMs")
        return cls(tuples, milliseconds) if tuples is not None and milliseconds is not None else None

    def __str__(self) -> str:
        return f"{self.tuples:,} tuples, {self.milliseconds / 1000:.1f} s" if self.tuples else "none"


@dataclass(frozen=True, slots=True)
class Queue:
    """An output queue: what it holds, and how far each consumer has come."""

    trimmed: int
    next: int
    ended: bool
    released: Mapping[str, int]
    full: bool = False
    """Whether a micro-batch waits for room in it."""
    lags: Mapping[str, Lag] = field(default_factory=dict)
    """Of each consumer, as far as its primary knows."""

    @property
    def slowest(self) -> str:
        """The consumer for which it holds most."""
        return min(self.released, key=self.released.__getitem__, default="nobody")


@dataclass(frozen=True, slots=True)
class TakeOver:
    """A take-over by the instance whose page this is. Times: milliseconds since 1970, None: not yet."""

    gone: str
    cause: str
    heard: int | None
    """The last sign of life that the new primary had of the one that failed."""
    detected: int | None
    lease: int | None
    promoted: int | None
    restored: int | None
    first_output: int | None
    caught_up: int | None
    replayed: int
    lost: int
    duplicated: int
    planned: bool = False
    """The former primary handed over."""
    stopped: int | None = None
    """The last tuple that anybody had of the former primary, or the last sign of life if that was later."""
    recovery_ms: int | None = None
    """For how long output stood still, from `stopped` on; None: it still does."""

    @property
    def recovery_seconds(self) -> float | None:
        return None if self.recovery_ms is None else self.recovery_ms / 1000


@dataclass(frozen=True, slots=True)
class Departure:
    """A move away from the instance whose page this is."""

    target: str
    paused: int | None
    """When it stood still; None: it never did."""
    left: int | None
    """When it was none any more."""
    bytes: int


@dataclass(frozen=True, slots=True)
class InstancePage:
    instance: str
    leads: bool
    epoch: int
    state: State
    error: str | None
    protected: bool
    secondary: str | None
    inputs: Mapping[str, tuple[int, int]]
    """Input → (position, available)."""
    outputs: Mapping[str, Queue]
    if_it_failed_now: Mapping[str, Any] | None
    take_over: TakeOver | None
    lost: int
    """Input tuples that nobody will process any more."""
    mode: str | None
    """That is in force; None from an older runtime."""
    settings: str | None
    """The digest of the `ha` that it was told of last."""
    change: str | None
    """What a change of mode waits for."""
    latencies: Mapping[str, float]
    """Address of another of the job's instances → milliseconds."""
    departure: Departure | None = None
    overload: str | None = None
    """Why its machine can't carry it."""
    stalled: str | None = None
    """Why its engine stands still."""
    engine_timeout_ms: int = 0
    """For how long it may stand still; 0 from an older runtime, or before Spark has started."""


@dataclass(frozen=True, slots=True)
class SinkPage:
    sink: str
    state: State
    error: str | None
    tuples: int
    next: int | None
    """The seq of the next tuple that it will write."""
    lost: int
    latencies: Mapping[str, float]
    stalled: str | None = None
    """Why its disk stands still."""


Page = InstancePage | SinkPage


def read(raw: Mapping[str, Any]) -> Page | None:
    """The page, or None if it is not one of ours."""
    match raw.get("kind"):
        case "subjob":
            return _instance(raw)
        case "sink":
            return SinkPage(
                str(raw.get("sink", "")),
                _state(raw),
                raw.get("error"),
                _int(raw, "tuples") or 0,
                _int(raw, "next"),
                _int(raw, "lost") or 0,
                _latencies(raw),
                raw.get("stalled"),
            )
        case _:
            return None


def _instance(raw: Mapping[str, Any]) -> InstancePage:
    inputs, outputs, taken = raw.get("inputs") or {}, raw.get("outputs") or {}, raw.get("takeover")
    departure = raw.get("departure")
    return InstancePage(
        instance=str(raw.get("instance", "")),
        leads=raw.get("role") == "primary",
        epoch=_int(raw, "epoch") or 0,
        state=_state(raw),
        error=raw.get("error"),
        protected=bool(raw.get("protected")),
        secondary=raw.get("secondary"),
        inputs={name: (_int(at, "position") or 0, _int(at, "available") or 0) for name, at in inputs.items()},
        outputs={name: _queue(q) for name, q in outputs.items()},
        if_it_failed_now=raw.get("ifItFailedNow"),
        take_over=_take_over(taken) if taken else None,
        lost=sum((_int(loss, "to") or 0) - (_int(loss, "from") or 0) for loss in raw.get("losses") or ()),
        mode=raw.get("mode"),
        settings=raw.get("settings"),
        change=raw.get("change"),
        latencies=_latencies(raw),
        departure=_departure(departure) if departure else None,
        overload=raw.get("overload"),
        stalled=_stalled(raw.get("engine")),
        engine_timeout_ms=_int(raw.get("engine") or {}, "timeoutMs") or 0,
    )


def _stalled(raw: object) -> str | None:
    said = raw.get("why") if isinstance(raw, Mapping) and raw.get("state") == "stalled" else None
    return str(said) if said else None


def _departure(raw: Mapping[str, Any]) -> Departure:
    bytes_ = _int(raw, "bytes") or 0
    return Departure(str(raw.get("to") or ""), _int(raw, "pausedMs"), _int(raw, "leftMs"), bytes_)


def _latencies(raw: Mapping[str, Any]) -> Mapping[str, float]:
    found = (raw.get("latencies") or {}).items()
    return {str(host): float(took) for host, took in found if isinstance(took, int | float) and took >= 0}


def _queue(raw: Mapping[str, Any]) -> Queue:
    consumers = raw.get("consumers") or {}
    released = {name: _int(acks, "released") or 0 for name, acks in consumers.items()}
    trimmed, following = _int(raw, "trimmed") or 0, _int(raw, "next") or 0
    lags = {name: lag for name, acks in consumers.items() if (lag := Lag.of(acks))}
    return Queue(trimmed, following, bool(raw.get("ended")), released, bool(raw.get("full")), lags)


def _take_over(raw: Mapping[str, Any]) -> TakeOver:
    return TakeOver(
        gone=str(raw.get("from") or ""),
        cause=str(raw.get("cause") or ""),
        heard=_int(raw, "heardMs"),
        detected=_int(raw, "detectedMs"),
        lease=_int(raw, "leaseMs"),
        promoted=_int(raw, "promotedMs"),
        restored=_int(raw, "restoredMs"),
        first_output=_int(raw, "firstOutputMs"),
        caught_up=_int(raw, "caughtUpMs"),
        replayed=_int(raw, "replayed") or 0,
        lost=_int(raw, "lost") or 0,
        duplicated=_int(raw, "duplicated") or 0,
        planned=bool(raw.get("planned")),
        stopped=_int(raw, "stoppedMs"),
        recovery_ms=_int(raw, "recoveryMs"),
    )


def _state(raw: Mapping[str, Any]) -> State:
    try:
        return State(str(raw.get("state")))
    except ValueError:
        return State.STARTING


def _int(raw: Mapping[str, Any], key: str) -> int | None:
    value = raw.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
