"""An experiment as SVG: a panel for each metric, dots for what was measured, diamonds for the figures that
it is compared with.

Bars are 95 % confidence intervals. Dots are joined where the columns are numbers. The same experiment gives
the same bytes. The background is white, so that the plot can be read on a dark page, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from understudy_lab.experiments.experiment import Cell, Experiment

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import Container
    from matplotlib.typing import RcKeyType

WIDTH, HEIGHT, LINE, TITLE = 5.2, 3.0, 0.2, 0.4  # inches: of a panel, of a line of its legend, of the title
ABREAST = 2
MANY = 12  # names for which half of the width has room
WIDE = 100  # values further apart than this factor are drawn on a logarithmic scale
ASIDE = 0.14  # between two rows of a column with a name, at most; the next column is 1 away
STYLE: Final[dict[RcKeyType, object]] = {
    "svg.hashsalt": "understudy",  # identifiers are random without it
    "svg.fonttype": "none",  # text stays text, in the reader's font
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "figure.constrained_layout.h_pad": 0.1,
    "legend.frameon": False,
}


def missing() -> str | None:
    """Why nothing can be drawn here."""
    if find_spec("matplotlib") is None:
        return "the plots are drawn with matplotlib, which is not installed: pip install matplotlib"
    return None


def draw(experiment: Experiment, folder: Path) -> Path:
    import matplotlib
    from matplotlib.figure import Figure

    metrics = list(dict.fromkeys(c.metric for c in experiment.cells))
    colours = {row: f"C{n}" for n, row in enumerate(dict.fromkeys(c.row for c in experiment.cells))}
    abreast = 1 if _many(experiment.cells) else min(len(metrics), ABREAST)
    lines = math.ceil(len(metrics) / abreast)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{experiment.name}.svg"
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # no settings of this user
        matplotlib.rcParams.update(STYLE)
        height = TITLE + lines * (HEIGHT + LINE * (len(colours) + 1))
        figure = Figure((WIDTH * min(len(metrics), ABREAST), height), layout="constrained")
        figure.suptitle(experiment.title, fontweight="bold", wrap=True)
        for place, metric in enumerate(metrics, start=1):
            _panel(figure.add_subplot(lines, abreast, place), experiment, metric, colours)
        figure.savefig(path, metadata={"Date": None, "Creator": None})
    return path


def _panel(axes: Axes, experiment: Experiment, metric: str, colours: Mapping[str, str]) -> None:
    cells = [c for c in experiment.cells if c.metric == metric]
    columns = list(dict.fromkeys(c.column for c in cells))
    numbers = _numbers(columns)
    if numbers is None:
        shown = _side_by_side(axes, cells, columns, colours)
        axes.set_xticks(range(len(columns)), columns)
        axes.set_xlim(-0.5, len(columns) - 0.5)
    else:
        shown = _joined(axes, cells, dict(zip(columns, numbers, strict=True)), colours)
        axes.locator_params(axis="x", integer=True)
        axes.set_xlabel(experiment.x, loc="right")
    if any(c.paper is not None for c in cells):
        shown += axes.plot([], [], "D", color="black", fillstyle="none", label=experiment.against)
    axes.set_title(metric)
    _y_axis(axes, cells)
    axes.legend(handles=shown, loc="upper left", bbox_to_anchor=(0, -0.1 if numbers is None else -0.2))


def _numbers(columns: Sequence[str]) -> list[float] | None:
    try:
        return [float(c) for c in columns]
    except ValueError:
        return None


def _many(cells: Sequence[Cell]) -> bool:
    columns = list(dict.fromkeys(c.column for c in cells))
    return len(columns) > MANY and _numbers(columns) is None


def _side_by_side(
    axes: Axes, cells: Sequence[Cell], columns: Sequence[str], colours: Mapping[str, str]
) -> list[Artist | Container]:
    rows = _rows(cells)
    aside = min(ASIDE, 1 / (len(rows) + 1))
    shown: list[Artist | Container] = []
    for place, (row, own) in enumerate(rows.items()):
        shift = aside * (place - (len(rows) - 1) / 2)
        shown.append(_series(axes, own, [columns.index(c.column) + shift for c in own], colours[row], "o"))
    return shown


def _joined(
    axes: Axes, cells: Sequence[Cell], at: Mapping[str, float], colours: Mapping[str, str]
) -> list[Artist | Container]:
    """The first row is the broadest, so that rows that coincide are all seen."""
    rows = _rows(cells)
    shown: list[Artist | Container] = []
    for place, (row, own) in enumerate(rows.items()):
        broader = 0.4 * (len(rows) - 1 - place)
        shown.append(_series(axes, own, [at[c.column] for c in own], colours[row], "o-", broader))
    return shown


def _rows(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    return {row: [c for c in cells if c.row == row] for row in dict.fromkeys(c.row for c in cells)}


def _series(
    axes: Axes, cells: Sequence[Cell], at: Sequence[float], colour: str, marks: str, broader: float = 0.0
) -> Container:
    known = [math.nan if c.paper is None else c.paper for c in cells]
    axes.plot(at, known, "D", color=colour, fillstyle="none", markersize=7)
    return axes.errorbar(
        at,
        [c.measured for c in cells],
        [c.error or math.nan for c in cells],
        fmt=marks,
        color=colour,
        linewidth=1.2 + broader,
        markersize=4 + broader,
        elinewidth=1.2,
        capsize=3,
        label=cells[0].row,
    )


def _y_axis(axes: Axes, cells: Sequence[Cell]) -> None:
    values = [v for c in cells for v in (c.measured, c.measured + (c.error or 0.0), c.paper) if v is not None]
    low, high = min(values), max(values)
    if low > 0 and high / low > WIDE:
        axes.set_yscale("log")
        axes.locator_params(axis="y", subs=(1, 2, 5))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
    else:
        top = high or 1.0
        axes.set_ylim(min(low, -0.04 * top), 1.08 * top)
    axes.grid(axis="y", color="0.87")
