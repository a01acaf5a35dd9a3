"""What the rest of the product asks an operator."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, ClassVar, Final, Self

from pydantic import Field

from ..classes import Verdict
from ..draws import Draw, Taken, draws_of
from ..refusal import Fault
from ..scope import Columns, Scope, row_faults
from ..sql import mentions_seq
from ..value import Column, Expression, Value
from .window import Window

FUNCTION: Final = r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*$"

Select = Annotated[Mapping[Column, Expression], Field(min_length=1, max_length=500)]


@dataclass(frozen=True, slots=True)
class Code:
    """A function of the user's that the subjob's processes call."""

    function: str
    """`module:function`."""
    config_map: str | None
    """The ConfigMap that contains the module; None: it is in the image."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The load that an operator makes. A condition is assumed to pass all tuples."""

    held: float
    """Input tuples that it keeps."""
    effort: float
    """Work per input tuple, in units of one filter."""
    emitted: float
    """Output tuples per second."""


class OperatorKind(Value):
    """Questions about an operator. The answers here are those of an operator that looks at one tuple at a
    time, keeps its columns, and evaluates `texts`. Its Spark plan is in `engine/operators.py`."""

    available: ClassVar[bool] = True

    merges: ClassVar[bool] = False
    """As the first operator of an element, it makes one stream of several inputs."""

    names_columns: ClassVar[bool] = False
    """The names of its output columns are written in the operator itself."""

    makes_rows: ClassVar[bool] = False
    """The user writes its Spark plan: it may make any number of tuples of one, and leave them in any order
    within a micro-batch."""

    @property
    @abstractmethod
    def verdict(self) -> Verdict:
        """Its class, with the reason, if nothing is drawn in its expressions. How several inputs meet is the
        element's concern."""

    def columns(self, scope: Scope) -> Columns | None:
        """Its output columns, None if a fault hides them. In a join's scope the left side comes first."""
        return next(iter(scope.tables.values()), None)

    def faults(self, scope: Scope) -> Iterator[tuple[str, Fault]]:
        """What the schema of the manifest can't rule out: the field with a dot before it, and its fault."""
        return iter(())

    def misplaced(self, place: int, inputs: int) -> Fault | None:
        """Why it can't stand at this place of an element whose first operator reads so many inputs."""
        return None

    @property
    def texts(self) -> tuple[str, ...]:
        """Its Spark SQL expressions and queries."""
        return ()

    @property
    def remembers(self) -> Window | timedelta | None:
        """The earlier tuples that it needs: those of open windows, or those of the time before a tuple. None:
        it keeps no state."""
        return None

    @property
    def is_stateful(self) -> bool:
        """An element has at most one stateful operator."""
        return self.remembers is not None

    @property
    def uses_seq(self) -> bool:
        """Whether its result depends on the place of a tuple on its input."""
        return any(map(mentions_seq, self.texts))

    @property
    def needs_event_time(self) -> str | None:
        """The part of it that needs event time, as the subject of a sentence."""
        return None

    @property
    def right_input(self) -> str | None:
        """The input that it names, besides the stream so far."""
        return None

    @property
    def code(self) -> Code | None:
        return None

    def draws(self) -> Iterator[Draw]:
        """The calls in its expressions whose result depends on time or chance."""
        for text in self.texts:
            yield from draws_of(text)

    @property
    def taken(self) -> frozenset[Taken]:
        """The parts of a batch plan on which it depends."""
        return frozenset(draw.taken for draw in self.draws() if draw.taken is not None)

    @property
    def drawn_share(self) -> float | None:
        """The share of the tuples that chance lets pass; None if chance leaves none out."""
        return None

    def without_draw(self) -> Self:
        """The same operator, but chance leaves no tuple out."""
        return self

    def effect(self, rate: float) -> Effect:
        """Its load at so many input tuples per second."""
        return Effect(held=0.0, effort=1.0, emitted=rate)


def select_faults(select: Mapping[str, str], scope: Scope) -> Iterator[tuple[str, Fault]]:
    for name, text in select.items():
        yield from ((f".select.{name}", fault) for fault in row_faults(text, scope))
