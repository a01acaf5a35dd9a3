"""A paper's experiment: the paper's figures beside ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, stdev

Progress = Callable[[str], None]


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

    def to_json(self) -> dict[str, object]:
        return {
            "row": self.row,
            "column": self.column,
            "metric": self.metric,
            "paper": self.paper,
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
    notes: list[str] = field(default_factory=list)
    axes: tuple[str, str] = ("", "")  # for the plot: x and y

    def add(self, row: str, column: object, metric: str, paper: float | None, values: Sequence[float]) -> Cell:
        error = 1.96 * stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
        cell = Cell(row, str(column), metric, paper, fmean(values) if values else math.nan, error)
        self.cells.append(cell)
        return cell

    def value(self, row: str, column: object, metric: str) -> float:
        return next(c.measured for c in self.cells if (c.row, c.column, c.metric) == (row, str(column), metric))

    def series(self, row: str, metric: str) -> list[float]:
        return [c.measured for c in self.cells if (c.row, c.metric) == (row, metric)]

    def check(self, says: str, holds: bool) -> None:
        self.checks.append(Check(says, bool(holds)))

    def to_json(self) -> dict[str, object]:
        return {
            "experiment": self.name,
            "cells": [c.to_json() for c in self.cells],
            "checks": [{"says": c.says, "holds": c.holds} for c in self.checks],
            "assumptions": self.notes,
        }


def rises(values: Sequence[float], slack: float = 0.0) -> bool:
    return all(b >= a - slack for a, b in pairwise(values))


def falls(values: Sequence[float], slack: float = 0.0) -> bool:
    return rises([-v for v in values], slack)
