"""A paper's experiment: the paper's figures beside ours, and whether its trends and orderings hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, stdev
from typing import Final

Progress = Callable[[str], None]

# Student's t for a two-sided 95 % interval, by degrees of freedom; 1.96 beyond.
_T: Final = (
    12.71,
    4.30,
    3.18,
    2.78,
    2.57,
    2.45,
    2.36,
    2.31,
    2.26,
    2.23,
    2.20,
    2.18,
    2.16,
    2.14,
    2.13,
    2.12,
    2.11,
)
_T_MANY: Final = 2.0


@dataclass(frozen=True, slots=True)
class Cell:
    row: str
    column: str
    metric: str
    paper: float | None
    measured: float
    error: float | None = None  # half of the 95 % confidence interval

    @property
    def ratio(self) -> float | None:
        return self.measured / self.paper if self.paper else None

    def to_json(self, against: str) -> dict[str, object]:
        return {
            "row": self.row,
            "column": self.column,
            "metric": self.metric,
            **{"paper": None, against: self.paper},
            "measured": round(self.measured, 4),
            "ratio": round(self.ratio, 4) if self.ratio is not None else None,
            "ci95": round(self.error, 4) if self.error is not None else None,
        }


@dataclass(frozen=True, slots=True)
class Check:
    """A trend or an ordering that the paper shows, and whether it is so here."""

    says: str
    holds: bool


@dataclass
class Experiment:
    name: str
    title: str
    cells: list[Cell] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what the paper leaves open, and what was assumed
    x: str = ""  # what the columns are
    against: str = "paper"  # where the figures come from that ours are compared with

    def add(
        self, row: str, column: object, metric: str, paper: float | None, values: Sequence[float]
    ) -> None:
        self.cells.append(Cell(row, str(column), metric, paper, fmean(values), _half_width(values)))

    def value(self, row: str, column: object, metric: str) -> float:
        return next(
            c.measured for c in self.cells if (c.row, c.column, c.metric) == (row, str(column), metric)
        )

    def series(self, row: str, metric: str) -> list[float]:
        return [c.measured for c in self.cells if (c.row, c.metric) == (row, metric)]

    def check(self, says: str, holds: bool) -> None:
        self.checks.append(Check(says, bool(holds)))

    def to_json(self) -> dict[str, object]:
        return {
            "experiment": self.name,
            "cells": [c.to_json(self.against) for c in self.cells],
            "checks": [{"says": c.says, "holds": c.holds} for c in self.checks],
            "assumptions": self.notes,
        }


def _half_width(values: Sequence[float]) -> float | None:
    free = len(values) - 1
    if free < 1:
        return None
    t = _T[free - 1] if free <= len(_T) else _T_MANY
    return t * stdev(values) / math.sqrt(len(values))


def rises(values: Sequence[float], slack: float = 0.0) -> bool:
    """Never falls by more than `slack`, and ends higher than it began."""
    return all(b >= a - slack for a, b in pairwise(values)) and values[-1] > values[0]


def falls(values: Sequence[float], slack: float = 0.0) -> bool:
    return rises([-v for v in values], slack)


def flat(values: Sequence[float], share: float) -> bool:
    """All within `share` of their mean."""
    middle = fmean(values)
    return all(abs(v - middle) <= share * abs(middle) for v in values)
