"""What a data source asks of its own driver. Both are of one image, so this carries no version. Python workers
of Spark import it: it needs nothing that takes long to import."""

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
    """The next plan; the one that was asked about, without parts, if there is none yet."""

    plan: int
    parts: int = 0


@dataclass(frozen=True, slots=True)
class PartRows(_Bytes):
    element: str
    plan: int | None
    """None: the one that is under way."""
    part: int
    input: int | None = None
    """Of this input only; None: of all."""
