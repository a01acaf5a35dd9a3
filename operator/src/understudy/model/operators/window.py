"""The window of an operator: which input tuples belong together."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Final

from pydantic import AliasChoices, Field

from ..refusal import Fault
from ..value import Duration, Extent, Value

# kubectl reads YAML 1.1, where an unquoted key `on` is the boolean true and reaches the API server as "true".
ON: Final = AliasChoices("on", "true")
MAX_OVERLAP: Final = 10_000


class WindowOn(StrEnum):
    SEQ = "_seq"
    TS = "ts"


class Window(Value):
    """Window k covers [k*slide, k*slide + size) of the input, k ≥ 0, and is emitted once, when it is full."""

    on: Annotated[WindowOn, Field(validation_alias=ON)]
    """`_seq`: by the tuple's place on the subjob's input stream. `ts`: by event time, counted from the
    epoch."""

    size: Extent
    """Length of a window: a number of tuples on `_seq`, a duration such as `10s` on `ts`."""

    slide: Extent = Field(default_factory=lambda data: data["size"])
    """Distance between two windows' starts; at most the size. Default: the size, so that windows tile the
    stream."""

    lateness: Duration = timedelta(0)
    """Windows on `ts` only: how long after its end a window still waits for tuples. Default: 0s."""

    def faults(self) -> Iterator[tuple[str, Fault]]:
        """What the schema of the manifest can't rule out: the field, and its fault."""
        extents = {"size": self.size, "slide": self.slide}
        counted, wanted = self.on is WindowOn.SEQ, _WANTED[self.on]
        if wrong := [name for name, extent in extents.items() if isinstance(extent, int) != counted]:
            what = f"a window on {self.on} is measured otherwise; write {wanted}"
            yield wrong[0], Fault("WrongWindow", what)
        elif empty := [name for name, extent in extents.items() if _amount(extent) <= 0]:
            yield empty[0], Fault("OutOfRange", f"a window needs more than nothing; write {wanted}")
        else:
            yield from self._proportions()

    def _proportions(self) -> Iterator[tuple[str, Fault]]:
        overlap = _amount(self.size) / _amount(self.slide)
        if overlap < 1:
            what = "longer than size, so tuples would be left out; write at most the size"
            yield "slide", Fault("WrongWindow", what)
        if overlap > MAX_OVERLAP:
            what = f"more than {MAX_OVERLAP} windows overlap; write a longer slide"
            yield "slide", Fault("WrongWindow", what)
        if self.on is WindowOn.SEQ and self.lateness:
            what = "no tuple is late on _seq; leave it out or write on: ts"
            yield "lateness", Fault("WrongWindow", what)


_WANTED: Final = {WindowOn.SEQ: "a number of tuples, such as 100", WindowOn.TS: "a duration, such as 10s"}


def _amount(extent: int | timedelta) -> float:
    return extent if isinstance(extent, int) else extent.total_seconds()


def tuples_in(extent: int | timedelta, rate: float) -> float:
    return float(extent) if isinstance(extent, int) else extent.total_seconds() * rate
