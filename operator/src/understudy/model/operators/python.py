"""The operator `python`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

from pydantic import Field, StrictBool, StrictStr

from ..classes import Verdict, declared_verdict
from ..declared import declared_columns, schema_faults
from ..refusal import Fault
from ..scope import Columns, Scope
from ..value import Name, Schema
from .kind import FUNCTION, Code, OperatorKind


class Python(OperatorKind):
    """A Python function, DataFrame in, DataFrame out, that makes rows from rows: no groups, no joins, no
    order. It gets the stream's columns, `ts`, `_seq` and `_row`, and has to keep `_row`, which says where a
    row came from."""

    makes_rows: ClassVar[bool] = True

    function: Annotated[StrictStr, Field(pattern=FUNCTION, max_length=300)]
    """`module:function`."""

    schema_: Annotated[Schema | None, Field(alias="schema")] = None
    """The columns that it makes, in Spark's notation, such as `patient string, score double`; other columns
    are dropped. Default: the columns that it gets."""

    config_map: Name | None = None
    """The ConfigMap that contains the module, as `module.py`. Default: the image. `understudy run` also finds
    a `module.py` beside the manifest."""

    deterministic: StrictBool = False
    """The author's assurance that equal rows give equal results."""

    @property
    def verdict(self) -> Verdict:
        return declared_verdict(self.function, self.deterministic)

    def columns(self, scope: Scope) -> Columns | None:
        return super().columns(scope) if self.schema_ is None else declared_columns(self.schema_)

    def faults(self, scope: Scope) -> Iterator[tuple[str, Fault]]:
        if self.schema_ is not None:
            yield from ((".schema", fault) for fault in schema_faults(self.schema_))

    @property
    def uses_seq(self) -> bool:
        """The function may use it."""
        return True

    @property
    def code(self) -> Code:
        return Code(self.function, self.config_map)
