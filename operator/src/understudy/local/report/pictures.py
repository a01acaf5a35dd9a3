"""The report's pictures: arrivals over time, and the steps of a failover. SVG text from numbers; pure."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import pairwise

WIDTH = 900
LEFT, RIGHT = 130, 90
BINS = 150
TICKS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 86_400)  # seconds
COLOURS = ("var(--s1)", "var(--s2)", "var(--s3)", "var(--s4)", "var(--s5)")


def steps(found: Sequence[tuple[str, int]]) -> str:
    """A staircase: each step's bar runs from the end of the former step to its own end, in milliseconds."""
    row, top = 26, 8
    ordered = sorted(found, key=lambda step: step[1])
    longest = max((at for _, at in ordered), default=0) or 1
    scale = (WIDTH - LEFT - RIGHT) / longest
    parts = []
    before = 0
    for place, (name, at) in enumerate(ordered):
        y = top + place * row
        x, wide = LEFT + before * scale, max((at - before) * scale, 2)
        parts.append(f'<text x="0" y="{y + 13}">{html.escape(name)}</text>')
        parts.append(
            f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="16" rx="3" '
            f'fill="{COLOURS[place % len(COLOURS)]}"/>'
        )
        parts.append(f'<text x="{x + wide + 8:.1f}" y="{y + 13}" class="soft">{at:,} ms</text>')
        before = at
    height = top + len(ordered) * row
    fault = (
        f'<line x1="{LEFT}" x2="{LEFT}" y1="0" y2="{height}" stroke="var(--fault)" stroke-width="2"/>'
        f'<text x="{LEFT}" y="{height + 16}" text-anchor="middle" class="fault">fault</text>'
    )
    return _svg(height + 22, "the steps of the failover", [*parts, fault])


def rates(arrivals: Sequence[tuple[int, int]], length_ms: int, faults: Sequence[tuple[int, str]]) -> str:
    """Tuples per second over the run, with a line for every fault. `arrivals`: (milliseconds since the start,
    tuples so far)."""
    bottom, top = 170, 26
    wide = max(length_ms / BINS, 1)
    bins = _binned(arrivals, wide)
    highest = max(bins) or 1
    scale = (WIDTH - 60) / BINS
    bars = [
        f'<rect x="{50 + n * scale:.1f}" y="{bottom - (bottom - top) * count / highest:.1f}" '
        f'width="{scale * 0.8:.1f}" height="{(bottom - top) * count / highest:.1f}" fill="var(--bar)"/>'
        for n, count in enumerate(bins)
        if count
    ]
    lines = [
        f'<line x1="{(x := 50 + at / wide * scale):.1f}" x2="{x:.1f}" y1="{top - 8}" y2="{bottom}" '
        f'stroke="var(--fault)" stroke-width="1.5" stroke-dasharray="4 3"/>'
        f'<text x="{x:.1f}" y="{top - 12}" text-anchor="middle" class="soft">{html.escape(name)} '
        "killed</text>"
        for at, name in faults
    ]
    return _svg(
        bottom + 24,
        "tuples per second at the sink",
        [*_axes(bottom, top, length_ms, highest / wide), *bars, *lines],
    )


def _binned(arrivals: Sequence[tuple[int, int]], wide: float) -> list[int]:
    bins = [0] * BINS
    for (_, before), (at, tuples) in pairwise([(0, 0), *arrivals]):
        bins[min(BINS - 1, max(0, int(at / wide)))] += tuples - before
    return bins


def _axes(bottom: int, top: int, length_ms: int, per_ms: float) -> list[str]:
    seconds = max(length_ms, 1) / 1000
    step = next(
        s
        for s in (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 86400)
        if seconds / s <= 10 or s == 86400
    )
    per_second = (WIDTH - 60) / seconds
    marks = [
        f'<text x="{50 + s * per_second:.1f}" y="{bottom + 18}" text-anchor="middle" class="soft">{s} '
        "s</text>"
        for s in range(0, int(seconds) + 1, step)
    ]
    return [
        f'<line class="axis" x1="50" x2="{WIDTH - 10}" y1="{bottom}" y2="{bottom}"/>',
        f'<text x="44" y="{top + 6}" text-anchor="end" class="soft">{per_ms * 1000:,.0f}</text>',
        f'<text x="44" y="{bottom}" text-anchor="end" class="soft">0</text>',
        *marks,
    ]


def _svg(height: int, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html.escape(title)}">'
        f"<title>{html.escape(title)}</title>{''.join(parts)}</svg>"
    )
