"""An experiment as SVG: a panel for each metric, dots for what was measured, diamonds for the paper's
figures.

Bars are 95 % confidence intervals. Dots are joined where the columns are numbers.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from understudy_lab.experiments.experiment import Cell, Experiment

WIDTH, HEIGHT = 500, 300  # of a panel, without its legend
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 26, 44
TITLE, LINE, ABREAST = 28, 18, 2
COLOURS: Final = ("#1b6ca8", "#c8553d", "#3a7d44", "#7b4b94", "#b8860b", "#4f5d75", "#d81b60", "#00897b")
MANY = 12  # columns that have room for their names
WIDE = 100  # values further apart than this factor are drawn on a logarithmic scale


def draw(experiment: Experiment, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{experiment.name}.svg"
    path.write_text(svg(experiment), encoding="utf-8")
    return path


def svg(experiment: Experiment) -> str:
    metrics = list(dict.fromkeys(c.metric for c in experiment.cells))
    rows = list(dict.fromkeys(c.row for c in experiment.cells))
    panels = [_Panel(experiment, metric, rows) for metric in metrics]
    lines = [panels[i : i + ABREAST] for i in range(0, len(panels), ABREAST)]
    parts, top = [], TITLE
    for line in lines:
        for place, panel in enumerate(line):
            parts.append(f'<g transform="translate({place * WIDTH},{top})">{panel.svg()}</g>')
        top += max(panel.height for panel in line)
    wide = max(WIDTH * min(len(panels), ABREAST), LEFT + 7 * len(experiment.title))
    title = f'<text x="{LEFT}" y="18" font-weight="bold">{html.escape(experiment.title)}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {top}" width="{wide}" height="{top}" '
        f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>'
        f"{title}{''.join(parts)}</svg>\n"
    )


@dataclass(frozen=True, slots=True)
class Scale:
    low: float
    high: float
    start: float
    stop: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = (
            (math.log10(v) for v in (self.low, self.high, value)) if self.logarithmic else self._plain(value)
        )
        return self.start + (at - low) / ((high - low) or 1) * (self.stop - self.start)

    def _plain(self, value: float) -> tuple[float, float, float]:
        return self.low, self.high, value

    def ticks(self) -> list[float]:
        if self.logarithmic:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            return [10.0**e for e in range(first, last + 1) if self.low <= 10.0**e <= self.high]
        step = _round_step((self.high - self.low) / 5)
        first = math.ceil(self.low / step)
        return [n * step for n in range(first, math.floor(self.high / step) + 1)]


def _round_step(least: float) -> float:
    power = 10 ** math.floor(math.log10(least)) if least > 0 else 1.0
    return next(power * n for n in (1, 2, 5, 10) if power * n >= least)


class _Panel:
    def __init__(self, experiment: Experiment, metric: str, rows: Sequence[str]) -> None:
        self.label, self.metric, self.against = experiment.x, metric, experiment.against
        self.cells = [c for c in experiment.cells if c.metric == metric]
        shown = {c.row for c in self.cells}
        self.colours = {row: COLOURS[n % len(COLOURS)] for n, row in enumerate(rows) if row in shown}

    @property
    def height(self) -> int:
        return HEIGHT + LINE * len(self.colours) + LINE

    def svg(self) -> str:
        columns = list(dict.fromkeys(c.column for c in self.cells))
        numbers = _numbers(columns)
        x = _x_scale(numbers) if numbers else Scale(-0.5, len(columns) - 0.5, LEFT, WIDTH - RIGHT)
        at = {c: x(numbers[i] if numbers else float(i)) for i, c in enumerate(columns)}
        # Names: side by side
        aside = 0.0 if numbers else min(14.0, (x(1.0) - x(0.0)) / (len(self.colours) + 1))
        y = _y_scale(self.cells)
        parts = [
            _axes(y, self.label if numbers else "", self.metric),
            *(_tick_x(at[c], c, many=len(columns) > MANY) for c in columns),
        ]
        for place, (row, colour) in enumerate(self.colours.items()):
            shift = aside * (place - (len(self.colours) - 1) / 2)
            own = [c for c in self.cells if c.row == row]
            parts.append(
                _series(
                    own, {c: spot + shift for c, spot in at.items()}, y, colour, joined=numbers is not None
                )
            )
        known = any(c.paper is not None for c in self.cells)
        return "".join([*parts, _legend(self.colours, self.against if known else "")])


def _numbers(columns: Sequence[str]) -> list[float] | None:
    try:
        return [float(c) for c in columns]
    except ValueError:
        return None


def _x_scale(values: Sequence[float]) -> Scale:
    pad = (max(values) - min(values)) * 0.06 or 0.5
    return Scale(min(values) - pad, max(values) + pad, LEFT, WIDTH - RIGHT)


def _y_scale(cells: Sequence[Cell]) -> Scale:
    values = [v for c in cells for v in (c.measured, c.measured + (c.error or 0.0), c.paper) if v is not None]
    low, high = min(values), max(values)
    if low > 0 and high / low > WIDE:
        return Scale(low / 1.5, high * 1.5, HEIGHT - BOTTOM, TOP, logarithmic=True)
    return Scale(min(low, 0.0), high * 1.08 or 1.0, HEIGHT - BOTTOM, TOP)


def _axes(y: Scale, label: str, metric: str) -> str:
    lines = [
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(t):.1f}" y2="{y(t):.1f}" stroke="#ddd"/>'
        f'<text x="{LEFT - 6}" y="{y(t) + 4:.1f}" text-anchor="end">{t:g}</text>'
        for t in y.ticks()
    ]
    frame = f'<path d="M{LEFT},{TOP} V{HEIGHT - BOTTOM} H{WIDTH - RIGHT}" fill="none" stroke="#444"/>'
    names = (
        f'<text x="{LEFT}" y="{TOP - 8}" fill="#444">{html.escape(metric)}</text>'
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 8}" text-anchor="end" '
        f'fill="#444">{html.escape(label)}</text>'
    )
    return "".join(lines) + frame + names


def _tick_x(x: float, text: str, *, many: bool) -> str:
    small = ' font-size="8"' if many else ""
    return (
        f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle"{small}>{html.escape(text)}</text>'
    )


def _series(cells: Sequence[Cell], at: Mapping[str, float], y: Scale, colour: str, *, joined: bool) -> str:
    line = " ".join(f"{at[c.column]:.1f},{y(c.measured):.1f}" for c in cells)
    path = f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.6"/>' if joined else ""
    return path + "".join(_point(c, at[c.column], y, colour) for c in cells)


def _point(cell: Cell, x: float, y: Scale, colour: str) -> str:
    parts = [f'<circle cx="{x:.1f}" cy="{y(cell.measured):.1f}" r="3" fill="{colour}"/>']
    if cell.error:
        high, low = (y(max(cell.measured + e, y.low)) for e in (cell.error, -cell.error))
        parts.append(
            f'<path d="M{x - 3:.1f},{high:.1f} h6 m-3,0 V{low:.1f} m-3,0 h6" fill="none" stroke="{colour}"/>'
        )
    if cell.paper is not None and cell.paper >= y.low:
        spot = f"M{x:.1f},{y(cell.paper) - 6:.1f} l6,6 l-6,6 l-6,-6 z"
        parts.append(f'<path d="{spot}" fill="none" stroke="{colour}" stroke-width="1.4"/>')
    return "".join(parts)


def _legend(colours: Mapping[str, str], against: str) -> str:
    lines = [
        f'<circle cx="{LEFT + 4}" cy="{HEIGHT + 8 + LINE * n}" r="4" fill="{colour}"/>'
        f'<text x="{LEFT + 16}" y="{HEIGHT + 12 + LINE * n}">{html.escape(row)}</text>'
        for n, (row, colour) in enumerate(colours.items())
    ]
    signs = f"● measured{f'   ◇ {against}' if against else ''}"
    return (
        "".join(lines)
        + f'<text x="{WIDTH - RIGHT}" y="{HEIGHT + 12}" text-anchor="end">{html.escape(signs)}</text>'
    )
