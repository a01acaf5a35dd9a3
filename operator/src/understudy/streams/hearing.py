"""When a consumer last heard each stream that it reads: the evidence that it gives to a new producer.

Every process counts on its own monotonic clock, and processes exchange only ages. A consumer survives its
producer, even if a whole pair is lost, so the consumer knows when the last tuple came. It keeps what it heard
by epoch: a new producer counts only what was heard of the producers before it.

A sign of life is a message of a producer whose output does not stand still. A producer says in each message
how long its output has stood still (`Story.still_ms`); the sign of life counts as older by this time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from understudy.protocol.ids import Millis
from understudy.protocol.peermessage import Age

KEPT = 2  # epochs: that of the newest producer, and the one before


@dataclass(frozen=True, slots=True)
class Heard:
    """What was heard of the producer of one epoch. Times are of the monotonic clock of this process."""

    epoch: int
    tuple_at: int | None = None
    """When the newest tuple came."""
    alive_at: int | None = None
    """When the newest sign of life came."""
    first_at: int | None = None
    """When the first tuple came."""

    @property
    def newest(self) -> int | None:
        return max((at for at in (self.tuple_at, self.alive_at) if at is not None), default=None)


class Hearing:
    """What one consumer has heard of each of its streams."""

    def __init__(self) -> None:
        self._heard: dict[str, tuple[Heard, ...]] = {}

    def heard(self, stream: str, epoch: int, now: int, still_ms: int, *, new_tuples: bool) -> None:
        """A message of the producer. A producer notices only after a moment that its output stands still, so
        this message may correct an earlier sign of life."""
        known = next((h for h in self._heard.get(stream, ()) if h.epoch == epoch), Heard(epoch))
        if new_tuples:
            known = replace(known, tuple_at=now, first_at=now if known.first_at is None else known.first_at)
        self._keep(stream, replace(known, alive_at=now - still_ms))

    def found(self, stream: str, at: int) -> None:
        """An earlier life of this consumer wrote its last tuple at this time."""
        self._keep(stream, Heard(0, tuple_at=at))

    def _keep(self, stream: str, newest: Heard) -> None:
        others = (h for h in self._heard.get(stream, ()) if h.epoch != newest.epoch)
        self._heard[stream] = tuple(sorted((*others, newest), key=lambda h: h.epoch)[-KEPT:])

    def quiet_ms(self, stream: str, now: int) -> int | None:
        """How long ago the newest tuple came; None: none has come yet."""
        moments = [h.tuple_at for h in self._heard.get(stream, ()) if h.tuple_at is not None]
        return now - max(moments) if moments else None

    def ages(self, stream: str, now: int) -> tuple[Age, ...]:
        """The evidence, as it is sent with a subscription: for each epoch, how long ago a tuple or a sign of
        life came."""
        known = self._heard.get(stream, ())
        return tuple(
            Age(h.epoch, now - h.newest, now - h.first_at if h.first_at is not None else None)
            for h in known
            if h.newest is not None
        )


def newest_before(epoch: int, ages: Iterable[Age], now: int) -> Millis | None:
    """When the producers before this epoch were last heard, on the clock of the process that received the
    ages."""
    return max((Millis(now - age.ms) for age in ages if age.epoch < epoch), default=None)


def first_of(epoch: int, ages: Iterable[Age], now: int) -> Millis | None:
    """When the first tuple of the producer of this epoch came."""
    found = (Millis(now - age.first) for age in ages if age.epoch == epoch and age.first is not None)
    return min(found, default=None)
