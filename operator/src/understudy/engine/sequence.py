"""The merged input of an element: which tuple of which input is at which place (`_pos`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence as Items

import numpy as np

from understudy.engine.lane import Lane
from understudy.protocol.merge import Pending, Places, Run, greatest_of, merge, mergeable, places_of, runs_of
from understudy.protocol.selection import UNKNOWN, Micros, Times


class Sequence(ABC):
    """The merged sequence; places `[start, stop)` are known."""

    @property
    @abstractmethod
    def start(self) -> int: ...

    @property
    @abstractmethod
    def stop(self) -> int: ...

    @abstractmethod
    def extend(self, place: int) -> None:
        """Input `place` has more tuples, or its progress has advanced."""

    @abstractmethod
    def seqs(self, pos: int) -> tuple[int, ...]:
        """For each input the seq of its first tuple at or after `pos`."""

    @abstractmethod
    def places(self, place: int, start: int, stop: int) -> Times:
        """The places of input `place`'s tuples `[start, stop)`."""

    @abstractmethod
    def times(self, start: int, stop: int) -> Times: ...

    @abstractmethod
    def greatest(self, start: int, stop: int) -> Times: ...

    @abstractmethod
    def before(self, pos: int) -> Micros: ...

    @abstractmethod
    def forget(self, seqs: Items[int]) -> None:
        """Tuples before these seqs are no longer needed."""

    def runs(self, start: int, stop: int) -> tuple[Run, ...]:
        """The order of the inputs in `[start, stop)` as runs; empty for a single input."""
        return ()

    def adopt(self, runs: Items[Run]) -> bool:
        """Takes over an order that another process chose; False while tuples of it are missing."""
        return True


class Single(Sequence):
    """One input: a tuple's place is its seq."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane

    @property
    def start(self) -> int:
        return self._lane.start

    @property
    def stop(self) -> int:
        return self._lane.stop

    def extend(self, place: int) -> None:
        pass

    def seqs(self, pos: int) -> tuple[int, ...]:
        return (pos,)

    def places(self, place: int, start: int, stop: int) -> Times:
        return np.arange(start, stop, dtype=np.int64)

    def times(self, start: int, stop: int) -> Times:
        return self._lane.times(start, stop)

    def greatest(self, start: int, stop: int) -> Times:
        return self._lane.greatest(start, stop)

    def before(self, pos: int) -> Micros:
        return self._lane.before(pos)

    def forget(self, seqs: Items[int]) -> None:
        pass


class Merged(Sequence):
    """Several inputs. The order is kept from `base` on, where input i continues at `origin[i]`."""

    def __init__(self, lanes: Items[Lane], by_event_time: bool) -> None:
        self._lanes = lanes
        self._by_event_time = by_event_time
        self.base = 0
        self.origin = tuple(lane.start for lane in lanes)
        self.order: Places = np.empty(0, np.int16)
        self._times: Times = np.empty(0, np.int64)
        self._greatest: Times = np.empty(0, np.int64)
        self.base_before: Micros = UNKNOWN

    @property
    def start(self) -> int:
        return self.base

    @property
    def stop(self) -> int:
        return self.base + len(self.order)

    def extend(self, place: int) -> None:
        merged = self.seqs(self.stop)
        if self._by_event_time:
            self._append(self._settled(merged), merged)
        else:
            self._append(np.full(self._lanes[place].stop - merged[place], place, np.int16), merged)

    def adopt(self, runs: Items[Run]) -> bool:
        if any(run.stop > self._lanes[run.place].stop for run in runs):
            return False
        merged = self.seqs(self.stop)
        news = [Run(r.place, max(r.start, merged[r.place]), r.stop) for r in runs if r.stop > merged[r.place]]
        self._append(places_of(news), merged)
        return True

    def _settled(self, merged: Items[int]) -> Places:
        pending = [
            Pending(lane.greatest(seq, lane.stop), lane.progress, lane.complete)
            for lane, seq in zip(self._lanes, merged, strict=True)
        ]
        counts = mergeable(pending)
        return merge([p.greatest[:count] for p, count in zip(pending, counts, strict=True)])

    def _append(self, order: Places, merged: Items[int]) -> None:
        if not len(order):
            return
        times, reached = np.empty((2, len(order)), np.int64)
        for place, lane in enumerate(self._lanes):
            mine = order == place
            span = merged[place], merged[place] + int(mine.sum())
            times[mine], reached[mine] = lane.times(*span), lane.greatest(*span)
        greatest = greatest_of(reached, self.before(self.stop))
        self.order = np.concatenate((self.order, order))
        self._times = np.concatenate((self._times, times))
        self._greatest = np.concatenate((self._greatest, greatest))

    def seqs(self, pos: int) -> tuple[int, ...]:
        counts = np.bincount(self.order[: pos - self.base], minlength=len(self._lanes))
        return tuple(int(seq + count) for seq, count in zip(self.origin, counts, strict=True))

    def places(self, place: int, start: int, stop: int) -> Times:
        mine = np.flatnonzero(self.order == place) + self.base
        return mine[start - self.origin[place] : stop - self.origin[place]]

    def times(self, start: int, stop: int) -> Times:
        return self._times[start - self.base : stop - self.base]

    def greatest(self, start: int, stop: int) -> Times:
        return self._greatest[start - self.base : stop - self.base]

    def before(self, pos: int) -> Micros:
        return int(self._greatest[pos - self.base - 1]) if pos > self.base else self.base_before

    def forget(self, seqs: Items[int]) -> None:
        first = min((self._first(place, seq) for place, seq in enumerate(seqs)), default=self.base)
        if first > self.base:
            self.origin, self.base_before = self.seqs(first), self.before(first)
            drop = first - self.base
            self.order, self._times, self._greatest = (
                self.order[drop:],
                self._times[drop:],
                self._greatest[drop:],
            )
            self.base = first

    def _first(self, place: int, seq: int) -> int:
        mine = self.places(place, seq, seq + 1)
        return int(mine[0]) if len(mine) else self.stop

    def runs(self, start: int, stop: int) -> tuple[Run, ...]:
        return runs_of(self.order[start - self.base : stop - self.base], self.seqs(start))

    def resume(self, base: int, origin: Items[int], before: Micros, order: Places) -> None:
        """Continues from a state: `order` covers the places from `base` to the state's position."""
        self.base, self.origin, self.base_before = base, tuple(origin), before
        self.order = order
        self._times, reached = np.full((2, len(order)), UNKNOWN, np.int64)
        for place, lane in enumerate(self._lanes):
            mine = np.flatnonzero(order == place)[max(lane.start - self.origin[place], 0) :]
            held, span = mine[: lane.stop - lane.start], (lane.start, min(lane.stop, lane.start + len(mine)))
            self._times[held], reached[held] = lane.times(*span), lane.greatest(*span)
        self._greatest = greatest_of(reached, before)
