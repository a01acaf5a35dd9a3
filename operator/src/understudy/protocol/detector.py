"""The failure detector (Hwang §2, Koldehofe §7.2): keep-alives every interval, suspected after `misses` of them.

A closed connection is proof from a living kernel that the process died; silence is only suspicion. A suspicion that
turns out false raises the timeout τ, so that a slow machine is not suspected again and again. Time in which we did not
run ourselves is no silence: the keep-alives of that time may be waiting to be read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from understudy.protocol.ids import Millis

TAU_GROWTH = 1.5
TAU_LIMIT = 20  # τ never exceeds this many times its first value


@dataclass(frozen=True, slots=True)
class Detector:
    interval: int  # milliseconds between keep-alives
    misses: int
    tau: int  # milliseconds of silence that make a suspect
    heard: Millis | None = None
    ticked: Millis | None = None

    @classmethod
    def of(cls, interval: int, misses: int) -> Detector:
        return cls(interval, misses, interval * misses)

    def on_keep_alive(self, now: Millis) -> Detector:
        return Detector(self.interval, self.misses, self.tau, now, self.ticked)

    def on_tick(self, now: Millis) -> Detector:
        heard = self.heard
        if heard is not None and self.ticked is not None:
            heard = Millis(heard + max(0, now - max(self.ticked, heard) - self.interval))
        return Detector(self.interval, self.misses, self.tau, heard, now)

    def suspects(self, now: Millis) -> bool:
        return self.heard is not None and now - self.heard > self.tau

    def on_false_suspicion(self) -> Detector:
        grown = min(int(self.tau * TAU_GROWTH), self.interval * self.misses * TAU_LIMIT)
        return replace(self, tau=max(self.tau, grown))

    def forget(self) -> Detector:
        """Nobody is watched until the next keep-alive."""
        return replace(self, heard=None)
