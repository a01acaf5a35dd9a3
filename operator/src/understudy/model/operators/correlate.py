"""The operator `correlate`."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, StrictBool, StrictStr

from ..classes import Verdict, declared_verdict
from ..scope import Columns, Scope
from ..value import Name
from .kind import FUNCTION, OperatorKind


class Correlate(OperatorKind):
    """A function that consumes selections and emits events. Not available yet."""

    available: ClassVar[bool] = False

    function: Annotated[StrictStr, Field(pattern=FUNCTION, max_length=300)]
    """`module:function`."""

    config_map: Name | None = None
    """The ConfigMap that contains the module. Default: the image."""

    deterministic: StrictBool = False
    """The author's assurance that equal input gives equal output."""

    @property
    def verdict(self) -> Verdict:
        return declared_verdict(self.function, self.deterministic)

    def columns(self, scope: Scope) -> Columns | None:
        return None
