"""An experiment as SVG: one panel for each metric, lines for what was measured, diamonds for the paper's figures."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from understudy.backends.simulation.experiments.experiment import Cell, Experiment

WIDTH, HEIGHT = 460, 300  # of a panel
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 46, 44
COLOURS: Final = ("#1b6ca8", "#c8553d", "#3a7d44", "#7b4b94", "#b8860b", "#4f5d75")
WIDE = 100  # values further apart than this factor are drawn on a logarithmic scale


def draw(experiment: Experiment, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{experiment.name}.svg"
    path.write_text(svg(experiment), encoding="utf-8")
    return path


def svg(experiment: Experiment) -> str:
    metrics = list(dict.fromkeys(c.metric for c in experiment.cells))
    rows = list(dict.fromkeys(c.row for c in experiment.cells))
    height = HEIGHT + 18 * len(rows) + 14
    panels = [
        f'<g transform="translate({place * WIDTH},0)">'
        f"{_panel(experiment.x, metric, [c for c in experiment.cells if c.metric == metric], rows)}</g>"
        for place, metric in enumerate(metrics)
    ]
    total = WIDTH * len(metrics)
    title = f'<text x="{LEFT}" y="18" font-weight="bold">{html.escape(experiment.title)}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {height}" width="{total}" height="{height}" '
        f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>'
        f"{title}{''.join(panels)}{_legend(rows, experiment.against)}</svg>\n"
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


def _panel(label: str, metric: str, cells: Sequence[Cell], rows: Sequence[str]) -> str:
    columns = list(dict.fromkeys(c.column for c in cells))
    numbers = _numbers(columns)
    x = _x_scale(numbers or [float(i) for i in range(len(columns))])
    at = {c: numbers[i] if numbers else float(i) for i, c in enumerate(columns)}
    values = [c.measured for c in cells] + [c.paper for c in cells if c.paper is not None]
    y = _y_scale(values)
    parts = [_axes(y, label, metric), *(_tick_x(x(at[c]), c) for c in columns)]
    for place, row in enumerate(rows):
        found = [c for c in cells if c.row == row]
        points = [(x(at[c.column]), y(c.measured)) for c in found]
        marks = [(x(at[c.column]), y(c.paper)) for c in found if c.paper is not None]
        parts.append(_series(points, marks, COLOURS[place % len(COLOURS)], joined=numbers is not None))
    return "".join(parts)


def _numbers(columns: Sequence[str]) -> list[float] | None:
    try:
        return [float(c) for c in columns]
    except ValueError:
        return None


def _x_scale(values: Sequence[float]) -> Scale:
    pad = (max(values) - min(values)) * 0.06 or 0.5
    return Scale(min(values) - pad, max(values) + pad, LEFT, WIDTH - RIGHT)


def _y_scale(values: Sequence[float]) -> Scale:
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
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 8}" text-anchor="end" fill="#444">{html.escape(label)}</text>'
    )
    return "".join(lines) + frame + names


def _tick_x(x: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{html.escape(text)}</text>'


def _series(
    points: Sequence[tuple[float, float]], marks: Sequence[tuple[float, float]], colour: str, *, joined: bool
) -> str:
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    path = f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.6"/>' if joined else ""
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points)
    diamonds = "".join(
        f'<path d="M{x:.1f},{y - 6:.1f} l6,6 l-6,6 l-6,-6 z" fill="none" stroke="{colour}" stroke-width="1.4"/>'
        for x, y in marks
    )
    return path + dots + diamonds


def _legend(rows: Sequence[str], against: str) -> str:
    lines = [
        f'<circle cx="{LEFT + 4}" cy="{HEIGHT + 8 + 18 * n}" r="4" fill="{COLOURS[n % len(COLOURS)]}"/>'
        f'<text x="{LEFT + 16}" y="{HEIGHT + 12 + 18 * n}">{html.escape(row)}</text>'
        for n, row in enumerate(rows)
    ]
    return (
        "".join(lines)
        + f'<text x="{WIDTH - RIGHT}" y="{HEIGHT + 12}" text-anchor="end">◇ {html.escape(against)}</text>'
    )
