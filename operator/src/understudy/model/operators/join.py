"""The operator `join`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, ClassVar

from pydantic import Field

from ..classes import OperatorClass, Verdict
from ..refusal import Fault
from ..scope import Columns, Scope, row_faults
from ..value import Duration, Expression, Name
from .kind import Effect, OperatorKind, Select, select_faults
from .window import ON, tuples_in


class Join(OperatorKind):
    """Pairs of tuples of two inputs whose event times differ by at most `within` and for which `on` is
    true."""

    names_columns: ClassVar[bool] = True

    with_: Annotated[Name, Field(alias="with")]
    """The right-hand input; one of the subjob's inputs. The left-hand input is the stream so far."""

    on: Annotated[Expression, Field(validation_alias=ON)]
    """The condition; columns are qualified by their input, such as `beats.patient = pressure.patient`."""

    within: Duration
    """The greatest difference between the event times of a pair. It bounds what the join must remember."""

    select: Select | None = None
    """Output column → expression. Default: all of the left, then of the right, `<input>_` before a name
    that clashes."""

    @property
    def verdict(self) -> Verdict:
        why = "join without timeout: one tuple of each input makes a pair"
        return Verdict(OperatorClass.REPEATABLE, why)

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.on, *(self.select or {}).values())

    def columns(self, scope: Scope) -> Columns | None:
        return _of_both(scope) if self.select is None else tuple(self.select)

    def faults(self, scope: Scope) -> Iterator[tuple[str, Fault]]:
        yield from ((".on", fault) for fault in row_faults(self.on, scope))
        yield from select_faults(self.select or {}, scope)

    @property
    def remembers(self) -> timedelta:
        return self.within

    @property
    def uses_seq(self) -> bool:
        """Its class does not depend on this, and it begins an element in any case."""
        return False

    @property
    def needs_event_time(self) -> str:
        return "a join"

    @property
    def right_input(self) -> str:
        return self.with_

    def effect(self, rate: float) -> Effect:
        return Effect(held=2 * tuples_in(self.within, rate), effort=1.0, emitted=rate)


def _of_both(scope: Scope) -> Columns | None:
    if len(scope.tables) != 2:
        return None
    (_, left), (name, right) = scope.tables.items()
    if left is None or right is None:
        return None
    taken = {column.lower() for column in left}
    return left + tuple(f"{name}_{column}" if column.lower() in taken else column for column in right)
