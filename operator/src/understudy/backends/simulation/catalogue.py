"""All experiments, by the name of paper and figure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from understudy.backends.simulation import hwang
from understudy.backends.simulation.experiment import Experiment, Progress

EXPERIMENTS: Final[dict[str, Callable[[Progress, int], Experiment]]] = {
    "hwang-table6": hwang.table6,
    "hwang-table7": hwang.table7,
    "hwang-table8": hwang.table8,
    "hwang-figure6": hwang.figure6,
    "hwang-figure7": hwang.figure7,
}
