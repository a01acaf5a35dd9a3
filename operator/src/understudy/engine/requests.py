"""The requests of a data source to its own driver. Both run the same image, so the format has no version.
Spark's Python workers import this module, so it imports nothing that is slow to load."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class _Bytes:
    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, raw: bytes) -> Self:
        return cls(**json.loads(raw))


@dataclass(frozen=True, slots=True)
class NextPlan(_Bytes):
    element: str
    after: int
    """The number of the last plan that is done."""


@dataclass(frozen=True, slots=True)
class Cut(_Bytes):
    """The next plan; if there is none yet, the last one again, without parts."""

    plan: int
    parts: int = 0


@dataclass(frozen=True, slots=True)
class PartRows(_Bytes):
    element: str
    plan: int | None
    """None: the plan that is running."""
    part: int
    input: int | None = None
    """Rows of this input only; None: of all."""
    fold: bool = False
    """Panes: the partials that are folded now, instead of a plan's rows; `part` is the task."""
