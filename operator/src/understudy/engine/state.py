"""What a checkpoint contains of an inbox, besides the tails' rows."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import BeforeValidator, PlainSerializer

from understudy.protocol.merge import Places
from understudy.protocol.selection import Micros


def _packed(order: bytes) -> str:
    return base64.b64encode(zlib.compress(order, 1)).decode()


def _unpacked(text: str) -> bytes:
    try:
        return zlib.decompress(base64.b64decode(text))
    except zlib.error as error:
        raise ValueError(str(error)) from error


@dataclass(frozen=True, slots=True)
class LogState:
    """With several inputs: their order from `base` up to the position."""

    base: int
    origin: tuple[int, ...]
    before: Micros
    order: Annotated[bytes, PlainSerializer(_packed), BeforeValidator(_unpacked)]
    """One int16 per place: the input."""

    def places(self) -> Places:
        return np.frombuffer(self.order, np.int16)


@dataclass(frozen=True, slots=True)
class InboxState:
    """For each input, by its place: the next seq, the selection, the greatest event time before the
    selection."""

    position: int
    seqs: tuple[int, ...]
    selection: tuple[int, ...]
    before: tuple[Micros, ...]
    log: LogState | None = None
    clock: int = 0
    """The latest time of a plan, if the element uses the time."""
