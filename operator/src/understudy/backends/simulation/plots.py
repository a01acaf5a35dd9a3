"""Plots of the experiments, as SVG. Needs matplotlib; without it there are tables only."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from understudy.backends.simulation.experiment import Cell, Experiment


def draw(experiment: Experiment, folder: Path) -> Path | None:
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = experiment.name
    from matplotlib import pyplot as plt

    metrics = list(dict.fromkeys(c.metric for c in experiment.cells))
    figure, axes = plt.subplots(1, len(metrics), figsize=(5.2 * len(metrics), 3.8), squeeze=False)
    for metric, axis in zip(metrics, axes[0], strict=True):
        _lines(axis, [c for c in experiment.cells if c.metric == metric])
        axis.set_ylabel(metric)
        axis.set_xlabel(experiment.axes[0])
        axis.legend(fontsize=6)
        axis.grid(alpha=0.3)
    figure.suptitle(experiment.title, fontsize=10)
    figure.tight_layout()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{experiment.name}.svg"
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path


def _lines(axis: object, cells: list[Cell]) -> None:
    rows: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        rows[cell.row].append(cell)
    for colour, (row, found) in enumerate(rows.items()):
        style = f"C{colour % 10}"
        x = [_number(c.column) for c in found]
        places = [v if isinstance(v, float) else i for i, v in enumerate(x)]
        axis.plot(places, [c.measured for c in found], "o-", color=style, label=row, markersize=3)  # type: ignore[attr-defined]
        known = [(p, c.paper) for p, c in zip(places, found, strict=True) if c.paper is not None]
        if known:
            at, paper = zip(*known, strict=True)
            axis.plot(at, paper, "x", color=style, label=f"{row} (paper)", markersize=6)  # type: ignore[attr-defined]
        if not all(isinstance(v, float) for v in x):
            axis.set_xticks(range(len(x)), [c.column for c in found], rotation=15, fontsize=7)  # type: ignore[attr-defined]


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
