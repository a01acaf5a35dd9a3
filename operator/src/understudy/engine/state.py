"""What a checkpoint holds of an inbox, besides the tails' rows."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from understudy.protocol.merge import Places
from understudy.protocol.selection import Micros


@dataclass(frozen=True, slots=True)
class LogState:
    """Several inputs: who is where from `base` up to the position."""

    base: int
    origin: tuple[int, ...]
    before: Micros
    order: bytes
    """One int16 per place: the input."""

    def places(self) -> Places:
        return np.frombuffer(self.order, np.int16)


@dataclass(frozen=True, slots=True)
class InboxState:
    """Per input, by its place: the next seq, the selection, the greatest event time before the selection."""

    position: int
    seqs: tuple[int, ...]
    selection: tuple[int, ...]
    before: tuple[Micros, ...]
    log: LogState | None = None
    clock: int = 0
    """The latest time that a plan had, if its element asks what time it is."""

    def to_dict(self) -> dict[str, Any]:
        value: dict[str, Any] = {
            "position": self.position,
            "seqs": list(self.seqs),
            "selection": list(self.selection),
            "before": list(self.before),
        }
        if self.log is not None:
            order = base64.b64encode(zlib.compress(self.log.order, 1)).decode()
            value["log"] = {
                "base": self.log.base,
                "origin": list(self.log.origin),
                "before": self.log.before,
                "order": order,
            }
        if self.clock:
            value["clock"] = self.clock
        return value

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Self:
        log = value.get("log")
        return cls(
            value["position"],
            tuple(value["seqs"]),
            tuple(value["selection"]),
            tuple(value["before"]),
            None if log is None else _log(log),
            value.get("clock", 0),
        )


def _log(value: Mapping[str, Any]) -> LogState:
    order = zlib.decompress(base64.b64decode(value["order"]))
    return LogState(value["base"], tuple(value["origin"]), value["before"], order)
