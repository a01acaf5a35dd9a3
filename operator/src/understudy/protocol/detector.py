"""The failure detector (Hwang §2, Koldehofe §7.2): keep-alives every interval, suspected after `misses` of
them.

A closed connection is proof from a living kernel that the process died; silence is only suspicion. A
suspicion that turns out false raises the timeout τ, so that a slow machine is not suspected again and again;
a long time without one lowers it again, so that a bad hour does not make the next failure's detection slow.
Time in which we did not run ourselves is no silence: the keep-alives of that time may be waiting to be read.
On a busy machine a keep-alive is late now and then, so the last one that is missed may have a grace; in the
papers' experiments it has none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from understudy.protocol.ids import Millis

TAU_GROWTH = 1.5
TAU_LIMIT = 10  # τ never exceeds this many times its first value
CALM = 1_500  # keep-alives in a row after which τ goes one step back


@dataclass(frozen=True, slots=True)
class Detector:
    interval: int  # milliseconds between keep-alives
    misses: int
    tau: int  # milliseconds of silence that make a suspect
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
        """With another's settings; what is known of the other side stays, and so does τ where they are no
        other."""
        if (like.interval, like.misses, like.grace) == (self.interval, self.misses, self.grace):
            return self
        return Detector(like.interval, like.misses, like.first, self.heard, self.ticked, grace=like.grace)

    def on_keep_alive(self, now: Millis) -> Detector:
        if self.tau == self.first:
            return Detector(self.interval, self.misses, self.tau, now, self.ticked, 0, self.grace)
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
        """Nobody is watched until the next keep-alive."""
        return replace(self, heard=None)
