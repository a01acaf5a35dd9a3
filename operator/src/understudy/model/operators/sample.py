"""The operator `sample`."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StrictInt, WithJsonSchema

from ..classes import OperatorClass, Verdict
from ..draws import Taken
from ..value import Number
from .kind import Effect, OperatorKind

Fraction = Annotated[
    Number, Field(ge=0, le=1), WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})
]


class Sample(OperatorKind):
    """Lets a random share of the tuples pass."""

    fraction: Fraction
    """The share that passes, from 0 to 1."""

    seed: Annotated[StrictInt, Field(ge=-(2**53), le=2**53)] | None = None
    """With a seed the choice is a function of seed and `_seq` and can be repeated. Default: random."""

    @property
    def verdict(self) -> Verdict:
        if self.seed is None:
            why = "sample without seed is random; with a seed it is repeatable"
            return Verdict(OperatorClass.ARBITRARY, why, by_plan=True)
        return Verdict(OperatorClass.REPEATABLE, "sample with a seed is a function of seed and _seq")

    @property
    def uses_seq(self) -> bool:
        return self.seed is not None

    @property
    def taken(self) -> frozenset[Taken]:
        return frozenset({Taken.SALT}) if self.seed is None else frozenset()

    @property
    def drawn_share(self) -> float | None:
        return self.fraction if self.seed is None else None

    def without_draw(self) -> Self:
        return self.model_copy(update={"fraction": 1.0, "seed": 0}) if self.seed is None else self

    def effect(self, rate: float) -> Effect:
        return Effect(held=0.0, effort=1.0, emitted=rate * self.fraction)
