"""The failure detector (Hwang §2, Koldehofe §7.2): keep-alives every interval, suspected after `misses` of them.

A closed connection is proof from a living kernel that the process died; silence is only suspicion. A suspicion that
turns out false raises the timeout τ, so that a slow machine is not suspected again and again; a long time without one
lowers it again, so that a bad hour does not make the next failure's detection slow. Time in which we did not run
ourselves is no silence: the keep-alives of that time may be waiting to be read.
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

    @classmethod
    def of(cls, interval: int, misses: int) -> Detector:
        return cls(interval, misses, interval * misses)

    def retuned(self, interval: int, misses: int) -> Detector:
        """With other settings; what is known of the other side stays, and so does τ where they are no other."""
        if (interval, misses) == (self.interval, self.misses):
            return self
        return Detector(interval, misses, interval * misses, self.heard, self.ticked)

    def on_keep_alive(self, now: Millis) -> Detector:
        first = self.interval * self.misses
        if self.tau == first:
            return Detector(self.interval, self.misses, first, now, self.ticked)
        if self.calm < CALM:
            return Detector(self.interval, self.misses, self.tau, now, self.ticked, self.calm + 1)
        return Detector(self.interval, self.misses, max(first, int(self.tau / TAU_GROWTH)), now, self.ticked)

    def on_tick(self, now: Millis) -> Detector:
        heard = self.heard
        if heard is not None and self.ticked is not None:
            heard = Millis(heard + max(0, now - max(self.ticked, heard) - self.interval))
        return Detector(self.interval, self.misses, self.tau, heard, now, self.calm)

    def suspects(self, now: Millis) -> bool:
        return self.heard is not None and now - self.heard > self.tau

    def on_false_suspicion(self) -> Detector:
        grown = min(int(self.tau * TAU_GROWTH), self.interval * self.misses * TAU_LIMIT)
        return replace(self, tau=max(self.tau, grown), calm=0)

    def forget(self) -> Detector:
        """Nobody is watched until the next keep-alive."""
        return replace(self, heard=None)
