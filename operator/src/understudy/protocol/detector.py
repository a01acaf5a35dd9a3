"""The failure detector (Hwang §2, Koldehofe §7.2): a peer sends a keep-alive every interval, and is suspected
after `misses` of them are missing.

A closed connection is proof from a living kernel that the process died; silence is only a reason for
suspicion. A false suspicion raises the timeout τ, so that a slow machine is not suspected again and again. A
long time without one lowers τ again, so that one bad hour does not delay the detection of later failures.
Time in which this process itself did not run does not count as silence: keep-alives of that time may wait to
be read. On a busy machine a keep-alive is late now and then, so the last missing one may get a grace; in the
papers' experiments the grace is zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from understudy.protocol.ids import Millis

TAU_GROWTH = 1.5
TAU_LIMIT = 10  # τ never exceeds this many times its first value
CALM = 1_500  # successive keep-alives after which τ goes one step back


@dataclass(frozen=True, slots=True)
class Detector:
    interval: int  # milliseconds between keep-alives
    misses: int
    tau: int  # milliseconds of silence after which the peer is suspected
    heard: Millis | None = None
    ticked: Millis | None = None
    calm: int = 0  # keep-alives since τ last changed
    grace: int = 0  # milliseconds by which the last one may be late

    @classmethod
    def of(cls, interval: int, misses: int, grace: int = 0) -> Detector:
        return cls(interval, misses, interval * misses + grace, grace=grace)

    @property
    def first(self) -> int:
        """τ before any false suspicion."""
        return self.interval * self.misses + self.grace

    def retuned(self, like: Detector) -> Detector:
        """This detector with the settings of `like`. What is known of the peer stays; so does τ, unless the
        settings differ."""
        if (like.interval, like.misses, like.grace) == (self.interval, self.misses, self.grace):
            return self
        return Detector(like.interval, like.misses, like.first, self.heard, self.ticked, grace=like.grace)

    def on_keep_alive(self, now: Millis) -> Detector:
        if self.calm < CALM:
            return Detector(self.interval, self.misses, self.tau, now, self.ticked, self.calm + 1, self.grace)
        tau = max(self.first, int(self.tau / TAU_GROWTH))
        return Detector(self.interval, self.misses, tau, now, self.ticked, 0, self.grace)

    def on_tick(self, now: Millis) -> Detector:
        heard = self.heard
        if heard is not None and self.ticked is not None:
            heard = Millis(heard + max(0, now - max(self.ticked, heard) - self.interval))
        return Detector(self.interval, self.misses, self.tau, heard, now, self.calm, self.grace)

    def suspects(self, now: Millis) -> bool:
        return self.heard is not None and now - self.heard > self.tau

    def on_false_suspicion(self) -> Detector:
        grown = min(int(self.tau * TAU_GROWTH), self.first * TAU_LIMIT)
        return replace(self, tau=max(self.tau, grown), calm=0)

    def forget(self) -> Detector:
        """Watches no peer until the next keep-alive."""
        return replace(self, heard=None)
