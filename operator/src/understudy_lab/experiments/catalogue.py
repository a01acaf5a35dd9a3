"""All experiments, by the name of paper and figure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from understudy_lab.experiments import hwang, koldehofe, osiris, planner, xiao, xiao_placement, zhang
from understudy_lab.experiments.experiment import Experiment, Progress

EXPERIMENTS: Final[dict[str, Callable[[Progress, int], Experiment]]] = {
    "hwang-table6": hwang.table6,
    "hwang-table7": hwang.table7,
    "hwang-table8": hwang.table8,
    "hwang-figure6": hwang.figure6,
    "hwang-figure7": hwang.figure7,
    "xiao-figure3": xiao.figure3,
    "xiao-figure4": xiao.figure4,
    "xiao-figure5": xiao.figure5,
    "xiao-figure6": xiao_placement.figure6,
    "xiao-figure7": xiao_placement.figure7,
    "koldehofe-figure10": koldehofe.figure10,
    "koldehofe-figure11": koldehofe.figure11,
    "koldehofe-figure12": koldehofe.figure12,
    "zhang-sweeping": zhang.sweeping,
    "zhang-hybrid": zhang.hybrid,
    "osiris-backups": osiris.backups,
    "planner": planner.planner,
}
