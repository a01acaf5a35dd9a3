"""The `sql` operator: any query that makes rows of rows, over the inputs by name."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.runtime.engine.frame import Frame


def query(text: str, frames: Sequence[Frame]) -> Frame:
    raise NotImplementedError("sql")
