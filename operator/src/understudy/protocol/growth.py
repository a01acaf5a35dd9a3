"""When the tuples of a stream were made: so precisely that the delay of a consumer can be computed."""

from __future__ import annotations

from understudy.protocol.ids import Millis, Seq

APART = 50  # milliseconds between two marks at the beginning
MANY = 1_000  # marks; with more, every second one is dropped, and new ones are twice as far apart
FEW = 100  # marks; with no more than these, new ones are as close as at the beginning


class Growth:
    """Marks (end of the stream, time at which it was first seen). Marks that all consumers have passed are
    dropped."""

    def __init__(self) -> None:
        self._marks: list[tuple[Seq, Millis]] = []
        self._apart = APART

    def note(self, trimmed: Seq, end: Seq, now: Millis) -> None:
        if self._marks and end < self._marks[-1][0]:
            self._marks.clear()  # the sequencer went back: the tuples from here on are others
        if end > self._end and (not self._marks or now - self._marks[-1][1] >= self._apart):
            self._forget(trimmed)
            self._marks.append((end, now))

    @property
    def _end(self) -> Seq:
        return self._marks[-1][0] if self._marks else Seq(-1)

    def _forget(self, trimmed: Seq) -> None:
        self._marks = [mark for mark in self._marks if mark[0] > trimmed]
        if len(self._marks) > MANY:
            self._marks, self._apart = self._marks[::2], self._apart * 2
        elif len(self._marks) <= FEW:
            self._apart = APART

    def age(self, seq: Seq, now: Millis) -> Millis:
        """How old this tuple is at least; it may be older by the distance between two marks."""
        return Millis(max((now - at for end, at in self._marks if end > seq), default=0))
