"""The operator `aggregate`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Final

from pydantic import Field

from ..classes import OperatorClass, Verdict
from ..draws import Draw, Taken
from ..refusal import Fault
from ..scope import Columns, Scope, aggregate_faults, row_faults
from ..value import Column
from .kind import Effect, OperatorKind, Select
from .window import Window, WindowOn, tuples_in

WINDOW_COLUMNS: Final = ("window_start", "window_end")


class Aggregate(OperatorKind):
    """One tuple per window and group: the group columns, `window_start`, `window_end`, the selected
    columns."""

    names_columns: ClassVar[bool] = True

    window: Window
    """Which input tuples belong together."""

    group_by: Annotated[tuple[Column, ...], Field(max_length=50)] = ()
    """Columns to group by; each window gives one tuple per group that has tuples. Default: one group."""

    select: Select
    """Output column → Spark SQL aggregate, such as `count(*)` or `max(mv)`."""

    @property
    def verdict(self) -> Verdict:
        aligned = "their place on the stream" if self.uses_seq else "event time"
        why = f"windows are aligned to {aligned}, so a restart from nothing converges"
        return Verdict(OperatorClass.CONVERGENT, why)

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(self.select.values())

    def columns(self, scope: Scope) -> Columns:
        return (*self.group_by, *WINDOW_COLUMNS, *self.select)

    def faults(self, scope: Scope) -> Iterator[tuple[str, Fault]]:
        for n, name in enumerate(self.group_by):
            yield from ((f".groupBy[{n}]", fault) for fault in row_faults(f"`{name}`", scope))
        for name, text in self.select.items():
            for fault in aggregate_faults(text, scope, self.group_by):
                yield f".select.{name}", fault

    @property
    def remembers(self) -> Window:
        return self.window

    @property
    def uses_seq(self) -> bool:
        return self.window.on is WindowOn.SEQ

    @property
    def needs_event_time(self) -> str | None:
        return "a window on ts" if self.window.on is WindowOn.TS else None

    def draws(self) -> Iterator[Draw]:
        """Its expressions have no place of their own: each concerns many rows, or none. So no salt makes
        them repeatable."""
        for draw in super().draws():
            yield Draw(draw.why, draw.call) if draw.taken is Taken.SALT else draw

    def effect(self, rate: float) -> Effect:
        size, slide = tuples_in(self.window.size, rate), max(tuples_in(self.window.slide, rate), 1.0)
        held = size + tuples_in(self.window.lateness, rate)
        return Effect(held, effort=max(size / slide, 1.0), emitted=rate / slide)
